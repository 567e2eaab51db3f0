"""Edits that leave the rest of a note as it is: properties, links, tags, headings, code and blocks.

Each edit is tried on the blocks around it, and what is read there before and after is compared.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from vaultseek.base.model import Link, Note, Place
from vaultseek.content.markdown.parse import parse
from vaultseek.core.search.name_mentions import NO_PROSE
from vaultseek.doors.lsp.documents import Text

TRIED_CHARS = 20_000
"""Characters around an edit that are read for it; an edit in a longer block is not proposed."""
TRIED_ALONE = 20
"""Edits that are tried one by one if they cannot be made together."""
_NO_PROSE = {"heading", "html", "math", "code"}
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]")


class Change(NamedTuple):
    """A piece of a line, maybe empty, and what is written there instead."""

    place: Place
    new: str


def prose_lines(text: Text) -> list[str]:
    """Return the lines of a note, empty where no part of a line can become a link."""
    hidden = _hidden_lines(text)
    return ["" if number in hidden else line for number, line in enumerate(text.lines, 1)]


def takes_link(text: Text, line: int, column: int) -> bool:
    """True if a place is in running text, not in code, a link, a tag, a formula, a comment or a heading."""
    note = text.note
    places = [*(link.place for link in note.links), *(tag.place for tag in note.placed_tags)]
    if any(place and place.line == line and place.start < column < place.end for place in places):
        return False
    lines = prose_lines(text)
    if text.line(line) and not lines[line - 1]:
        return False
    at = sum(len(each) + 1 for each in lines[: line - 1]) + column
    # A link right behind a bare address would be part of it for other programs.
    return not any(
        piece.start() < at < piece.end() + piece[0].startswith("http")
        for piece in NO_PROSE.finditer("\n".join(lines))
    )


def lines_in_comments(text: Text) -> set[int]:
    """Return the lines that end inside a comment between percent signs."""
    body = text.note.body_line
    found: set[int] = set()
    line, counted = body, 0
    source = "\n".join(text.lines[body - 1 :])
    for piece in NO_PROSE.finditer(source):
        if piece[0].startswith("%%"):
            line += source.count("\n", counted, piece.start())
            counted = piece.start()
            found.update(range(line, line + piece[0].count("\n")))
    return found


def adding_links(text: Text, changes: Sequence[Change]) -> list[Change]:
    """Return those of the changes that each add a link and change nothing else, also together."""
    return [change for group in _groups(text, changes) for change in _adding(text, group)]


def adds_id(text: Text, change: Change, id: str) -> bool:
    """True if a change gives a block an id and changes nothing else."""
    trial = _tried(text, [change])
    if trial is None:
        return False
    before, after = trial.before, trial.after
    added = sorted([*(block.id for block in before.blocks), id])
    return (
        sorted(block.id for block in after.blocks) == added
        and [_key(link) for link in after.links] == [_key(link) for link in before.links]
        and _is_same(before, after)
    )


def changes_link(text: Text, change: Change) -> bool:
    """True if a change gives a link another target and changes nothing else."""
    trial = _tried(text, [change])
    if trial is None:
        return False
    before, after = trial.before, trial.after
    if len(before.links) != len(after.links) or not _is_same(before, after):
        return False
    start = trial.starts[0]
    return all(
        (old.kind, old.alias, old.property) == (new.kind, new.alias, new.property)
        if old.written and (old.written.line, old.written.start) == start
        else _key(old) == _key(new)
        for old, new in zip(before.links, after.links, strict=True)
    ) and [block.id for block in before.blocks] == [block.id for block in after.blocks]


def _hidden_lines(text: Text) -> set[int]:
    note = text.note
    hidden = set(range(1, note.body_line))
    for block in note.code_blocks:
        hidden.update(range(block.line, block.end_line + 1))
    for span in note.spans:
        if span.kind in _NO_PROSE:
            hidden.update(range(span.start_line, span.end_line + 1))
    hidden.update(number for number, line in enumerate(text.lines, 1) if _HEADING.match(line))
    return hidden


# -- trying


class _Trial(NamedTuple):
    """The blocks around some changes, read before and after, and where each change starts in them then."""

    before: Note
    after: Note
    starts: Sequence[tuple[int, int]]


def _adding(text: Text, changes: Sequence[Change]) -> Sequence[Change]:
    if _adds_links(text, changes):
        return changes
    alone = [change for change in changes[:TRIED_ALONE] if _adds_links(text, [change])]
    return alone if len(changes) > 1 and _adds_links(text, alone) else []


def _adds_links(text: Text, changes: Sequence[Change]) -> bool:
    trial = _tried(text, changes) if changes else None
    if trial is None:
        return False
    before, after = trial.before, trial.after
    starts = set(trial.starts)
    added = [each for each in after.links if each.place and (each.place.line, each.place.start) in starts]
    kept = [_key(link) for link in after.links if link not in added]
    return (
        len(added) == len(changes)
        and all(link.kind != "embed" for link in added)
        and kept == [_key(link) for link in before.links]
        and [block.id for block in before.blocks] == [block.id for block in after.blocks]
        and _is_same(before, after)
    )


def _groups(text: Text, changes: Sequence[Change]) -> Iterator[list[Change]]:
    """Yield the changes in groups that are near enough to be tried together."""
    group: list[Change] = []
    for change in sorted(changes):
        if group and _size(text, [*group, change]) > TRIED_CHARS:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _size(text: Text, changes: Sequence[Change]) -> int:
    first, last = _around(text, changes)
    return sum(len(text.line(number)) + 1 for number in range(first, last + 1))


def _tried(text: Text, changes: Sequence[Change]) -> _Trial | None:
    first, last = _around(text, changes)
    lines = list(text.lines[first - 1 : last])
    if sum(map(len, lines)) > TRIED_CHARS:
        return None
    # Of blocks in the body, the first one must not be read as frontmatter.
    head = [] if last < text.note.body_line else [""]
    changed, starts = list(lines), []
    shifts = dict.fromkeys(range(len(lines)), 0)
    for (line, start, end), new in sorted(changes):
        row = line - first
        start, end = start + shifts[row], end + shifts[row]
        changed[row] = changed[row][:start] + new + changed[row][end:]
        shifts[row] += len(new) - (end - start)
        starts.append((row + 1 + len(head), start))
    before, after = ("\n".join([*head, *each]) for each in (lines, changed))
    return _Trial(parse(before, ""), parse(after, ""), starts)


def _around(text: Text, changes: Sequence[Change]) -> tuple[int, int]:
    """Return the first and the last line of the blocks that changes are in, with those beside them."""
    low, high = min(changes).place.line, max(changes).place.line
    body = text.note.body_line
    if high < body:
        return 1, body - 1
    blocks = [span for span in text.note.spans if span.kind != "list_item"]
    first = bisect_right(blocks, low, key=attrgetter("start_line")) - 2
    last = bisect_right(blocks, high, key=attrgetter("start_line"))
    start = blocks[first].start_line if first >= 0 else body
    end = blocks[last].end_line if last < len(blocks) else len(text.lines)
    return min(start, low), max(end, high)


def _key(link: Link) -> tuple[Any, ...]:
    return link.kind, link.target, link.heading, link.block, link.alias, link.property


def _is_same(before: Note, after: Note) -> bool:
    return _facts(before) == _facts(after) and _has_same_blocks(before, after)


def _facts(note: Note) -> Sequence[object]:
    return (
        sorted(note.frontmatter),
        note.tags,
        note.aliases,
        [tag.tag for tag in note.placed_tags],
        [(heading.level, heading.text) for heading in note.headings],
        ["\n".join(note.lines[code.line - 1 : code.end_line]) for code in note.code_blocks],
        [task.mark for task in note.tasks],
        [callout.kind for callout in note.callouts],
        [problem.code for problem in note.problems],
    )


def _has_same_blocks(before: Note, after: Note) -> bool:
    """True if both have blocks of the same kinds, or the second has one paragraph more."""
    one, other = ([span.kind for span in note.spans] for note in (before, after))
    same = 0
    while same < len(one) and one[same : same + 1] == other[same : same + 1]:
        same += 1
    rest = other[same:]
    return rest == one[same:] or (rest[:1] == ["paragraph"] and rest[1:] == one[same:])
