"""Checks that an edit leaves the rest of a note unchanged: properties, links, tags, headings, code and
blocks.

Each edit is tried on the blocks around it: they are parsed without and with the edit, and compared.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from operator import attrgetter
from typing import Any, NamedTuple

from vaultseek.base.model import Link, Note, Place, Span, apply_edits
from vaultseek.content.markdown.parse import parse
from vaultseek.content.markdown.rendering import render_text
from vaultseek.core.notes.name_mentions import NO_PROSE
from vaultseek.doors.lsp.documents import Text

TRIED_CHARS = 20_000
"""Maximum number of characters parsed around an edit; edits in longer blocks are not proposed."""
TRIED_ALONE = 20
"""Maximum number of edits that are tried one by one if they cannot be made together."""
_NO_PROSE = {"heading", "html", "math", "code"}
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]")


class Change(NamedTuple):
    """A part of a line, possibly empty, and the text that replaces it."""

    place: Place
    new: str


class _Trial(NamedTuple):
    """The blocks around some changes, parsed before and after the changes, with the start of each change in
    the result."""

    before: Note
    after: Note
    starts: Sequence[tuple[int, int]]
    inserted: Mapping[int, str]
    """Texts that were inserted without replacing other text, by line number."""


class Guard:
    """A checker that tries changes to one text."""

    def __init__(self, text: Text) -> None:
        self._text = text
        self._blocks = [span for span in text.note.spans if span.kind != "list_item"]
        self._sizes = list(accumulate((len(line) + 1 for line in text.lines), initial=0))

    def takes_link(self, line: int, column: int) -> bool:
        """Return True if a link may be inserted at a position: in running text, but not in code, links, tags,
        formulas, comments or headings."""
        text = self._text
        places = [*(link.place for link in text.note.links), *(tag.place for tag in text.note.placed_tags)]
        if any(place and place.line == line and place.start < column < place.end for place in places):
            return False
        # vaultseek's parser would pair the halves of a split delimiter; other programs would not.
        if column and text.line(line)[column - 1 : column + 1] in ("**", "__", "~~", "=="):
            return False
        lines = prose_lines(text)
        if text.line(line) and not lines[line - 1]:
            return False
        at = sum(len(each) + 1 for each in lines[: line - 1]) + column
        # Other programs would treat a link right after a bare URL as part of that URL.
        return not any(
            piece.start() < at < piece.end() + piece[0].startswith("http")
            for piece in NO_PROSE.finditer("\n".join(lines))
        )

    def adding_links(self, changes: Sequence[Change]) -> list[Change]:
        """Return the changes that add links and change nothing else, both individually and together."""
        return [change for group in self._groups(changes) for change in self._adding(group)]

    def adds_id(self, change: Change, id: str) -> bool:
        """Return True if a change adds an id to a block and changes nothing else."""
        trial = self._tried([change])
        if trial is None:
            return False
        before, after = trial.before, trial.after
        return (
            sorted(_ids(after)) == sorted([*_ids(before), id])
            and _keys(after.links) == _keys(before.links)
            and _is_same(before, after)
        )

    def changes_link(self, change: Change) -> bool:
        """Return True if a change gives a link a different target and changes nothing else."""
        trial = self._tried([change])
        if trial is None:
            return False
        before, after = trial.before, trial.after
        if len(before.links) != len(after.links) or _ids(before) != _ids(after):
            return False
        start = trial.starts[0]
        return _is_same(before, after) and all(
            _key(old) == _key(new)
            or (_is_written_at(start, old) and (old.kind, old.alias) == (new.kind, new.alias))
            for old, new in zip(before.links, after.links, strict=True)
        )

    def _adding(self, changes: Sequence[Change]) -> Sequence[Change]:
        if self._adds_links(changes):
            return changes
        alone = [change for change in changes[:TRIED_ALONE] if self._adds_links([change])]
        return alone if len(changes) > 1 and self._adds_links(alone) else []

    def _adds_links(self, changes: Sequence[Change]) -> bool:
        trial = self._tried(changes) if changes else None
        if trial is None or self._text.has_open_properties:
            return False
        before, after = trial.before, trial.after
        starts = set(trial.starts)
        added: list[Link] = []
        kept: list[Link] = []
        for link in after.links:
            is_new = link.place is not None and (link.place.line, link.place.start) in starts
            (added if is_new else kept).append(link)
        return (
            len(added) == len(changes)
            and all(link.kind != "embed" for link in added)
            and _keys(kept) == _keys(before.links)
            and _ids(before) == _ids(after)
            and _is_same(before, after)
            and _other_spans(before) == _other_spans(after)
            and _shows_also(before, after, trial.inserted)
        )

    def _groups(self, changes: Sequence[Change]) -> Iterator[list[Change]]:
        """Yield groups of changes that are close enough to each other to be tried together."""
        group: list[Change] = []
        for change in sorted(changes):
            if group and self._size(*self._around(group[0].place.line, change.place.line)) > TRIED_CHARS:
                yield group
                group = []
            group.append(change)
        if group:
            yield group

    def _tried(self, changes: Sequence[Change]) -> _Trial | None:
        changes = sorted(changes)
        first, last = self._around(changes[0].place.line, changes[-1].place.line)
        if self._size(first, last) > TRIED_CHARS:
            return None
        # A block in the body must not be parsed as frontmatter.
        head = [] if last < self._text.note.body_line else [""]
        lines = self._text.lines[first - 1 : last]
        changed, starts, shifts = list(lines), [], [0] * len(lines)
        for (line, start, end), new in changes:
            row = line - first
            start, end = start + shifts[row], end + shifts[row]
            changed[row] = changed[row][:start] + new + changed[row][end:]
            shifts[row] += len(new) - (end - start)
            starts.append((row + 1 + len(head), start))
        before, after = ("\n".join([*head, *each]) for each in (lines, changed))
        shift = 1 + len(head) - first
        inserted = {line + shift: new for (line, start, end), new in changes if start == end}
        return _Trial(parse(before, ""), parse(after, ""), starts, inserted)

    def _around(self, low: int, high: int) -> tuple[int, int]:
        """Return the first and last line of the blocks that contain the lines from ``low`` to ``high``, and
        of the adjacent blocks."""
        body, blocks = self._text.note.body_line, self._blocks
        if high < body:
            return 1, body - 1
        first = bisect_right(blocks, low, key=attrgetter("start_line")) - 2
        last = bisect_right(blocks, high, key=attrgetter("start_line"))
        start = blocks[first].start_line if first >= 0 else body
        end = blocks[last].end_line if last < len(blocks) else len(self._text.lines)
        return min(start, low), max(end, high)

    def _size(self, first: int, last: int) -> int:
        return self._sizes[min(last, len(self._sizes) - 1)] - self._sizes[first - 1]


def prose_lines(text: Text) -> list[str]:
    """Return the lines of a note, with "" for each line in which no link may be added."""
    hidden = _hidden_lines(text)
    return ["" if number in hidden else line for number, line in enumerate(text.lines, 1)]


def lines_in_comments(text: Text) -> set[int]:
    """Return the numbers of lines that end inside a ``%%`` comment."""
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


def _key(link: Link) -> tuple[Any, ...]:
    return link.kind, link.target, link.heading, link.block, link.alias, link.property


def _keys(links: Iterable[Link]) -> list[tuple[Any, ...]]:
    return [_key(link) for link in links]


def _is_written_at(start: tuple[int, int], link: Link) -> bool:
    return link.written is not None and (link.written.line, link.written.start) == start


def _ids(note: Note) -> list[str]:
    return [block.id for block in note.blocks]


def _other_spans(note: Note) -> list[Span]:
    """Return the blocks that an added link can never extend, with their lines."""
    return [span for span in note.spans if span.kind != "paragraph"]


def _shows_also(before: Note, after: Note, inserted: Mapping[int, str]) -> bool:
    """Return True if each line shows the same text as before, plus any inserted link."""
    for number in range(1, len(after.lines) + 1):
        old, new = _shown(before, number), _shown(after, number)
        if number in inserted:
            label = render_text(inserted[number])
            starts = (piece.start() for piece in re.finditer(re.escape(label), new))
            if not any((new[:at] + new[at + len(label) :]).strip() == old.strip() for at in starts):
                return False
        elif old != new:
            return False
    return True


def _shown(note: Note, number: int) -> str:
    line = note.lines[number - 1] if number <= len(note.lines) else ""
    return apply_edits(line, note.edits.get(number, ()))


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
    """Return True if both texts have the same kinds of blocks, or the second text has one more paragraph."""
    one, other = ([span.kind for span in note.spans] for note in (before, after))
    same = 0
    while same < len(one) and one[same : same + 1] == other[same : same + 1]:
        same += 1
    rest = other[same:]
    return rest == one[same:] or (rest[:1] == ["paragraph"] and rest[1:] == one[same:])
