"""Find the positions in a note of its tags and of the headings and blocks that links can name."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from unicodedata import category

from vaultseek.base.model import BlockId, Heading, Note, PlacedTag, Span
from vaultseek.base.text import fold
from vaultseek.content.markdown.frontmatter import frontmatter_tags, placed_tags
from vaultseek.content.query.facts import LIST_ITEM


class Anchors:
    """The headings and blocks of one note, indexed by the names that links use for them.

    Built once for all links to the note; a lookup takes the same time however many headings there are.
    """

    def __init__(self, headings: Sequence[Heading], blocks: Sequence[BlockId] = ()) -> None:
        self.headings = headings
        self._blocks = {fold(block.id): block for block in reversed(blocks)}
        self._parents, self._ends = _sections(headings)
        self._exact = _Nested([fold(heading.text) for heading in headings], self._ends)
        self._plain = _Nested([plain_name(heading.text) for heading in headings], self._ends)

    def heading(self, fragment: str) -> Heading | None:
        """Return the heading that a link's fragment names: ``Heading`` or ``Heading#Subheading``."""
        chain = self.chain(fragment)
        return self.headings[chain[-1]] if chain else None

    def block(self, id: str) -> BlockId | None:
        """Return the block with this id, ignoring case."""
        return self._blocks.get(fold(id))

    def chain(self, fragment: str) -> list[int] | None:
        """Return the indices of the headings that a link's fragment names; None if any heading is missing.

        A heading whose text equals the whole fragment takes precedence over nested headings.
        """
        return self.nested([fragment]) or self.nested(fragment.split("#"))

    def nested(self, names: Sequence[str]) -> list[int] | None:
        """Return the indices of headings with the given ``names``, each nested under the previous one; None
        if any is missing.

        An exact match takes precedence over headings that differ in punctuation.
        """
        for known, named in ((self._exact, fold), (self._plain, plain_name)):
            keys = [named(name) for name in names]
            if (last := known.first(keys)) is not None:
                return self._chain_to(last, keys, known.keys)
        return None

    def section_end(self, at: int) -> int:
        """Return the index of the first heading after a section. ``at`` is the index of the section's own
        heading."""
        return self._ends[at]

    def _chain_to(self, last: int, names: Sequence[str], keys: Sequence[str]) -> list[int]:
        above = [last]
        while (parent := self._parents[above[-1]]) is not None:
            above.append(parent)
        chain: list[int] = []
        for at in reversed(above[1:]):
            if len(chain) < len(names) - 1 and keys[at] == names[len(chain)]:
                chain.append(at)
        return [*chain, last]


def _sections(headings: Sequence[Heading]) -> tuple[list[int | None], list[int]]:
    """Return two lists with an entry for each heading: the index of its parent heading, and the index of the
    first heading after its section.
    """
    parents: list[int | None] = []
    ends = [len(headings)] * len(headings)
    within: list[int] = []
    for at, heading in enumerate(headings):
        while within and headings[within[-1]].level >= heading.level:
            ends[within.pop()] = at
        parents.append(within[-1] if within else None)
        within.append(at)
    return parents, ends


class _Nested:
    """Lookup of headings by their own names and the names of the headings above them."""

    def __init__(self, keys: Sequence[str], ends: Sequence[int]) -> None:
        self.keys = keys
        self._ends = ends
        self._below: dict[tuple[str, ...], dict[str, list[int]]] = {}

    def first(self, names: Sequence[str]) -> int | None:
        """Return the index of the first heading that has the last of the ``names`` and is nested under
        headings with the other names.
        """
        above: tuple[str, ...] = ()
        found = self._named([(0, len(self.keys))], above)
        for name in names[:-1]:
            if name not in found:
                return None
            above = (*above, name)
            found = self._named(((at + 1, self._ends[at]) for at in found[name]), above)
        return found[names[-1]][0] if names[-1] in found else None

    def _named(self, spans: Iterable[tuple[int, int]], above: tuple[str, ...]) -> dict[str, list[int]]:
        """Return a dict from name to the indices of the headings in the ``spans`` with that name. ``above``
        are the names under which these headings are nested.

        The result is cached. Headings have only six levels, so ``above`` is short.
        """
        if above not in self._below:
            named: dict[str, list[int]] = {}
            done = 0
            for start, end in spans:
                for at in range(max(start, done), end):
                    named.setdefault(self.keys[at], []).append(at)
                done = max(done, end)
            self._below[above] = named
        return self._below[above]


def block_lines(note: Note, line: int) -> tuple[int, int]:
    """Return the first and last line of the block whose id is on ``line``. The id may be on a line of its
    own.
    """
    return Blocks(note).lines(line)


class Blocks:
    """The blocks of a note, each looked up by the line that contains its id."""

    def __init__(self, note: Note) -> None:
        self._lines = note.lines
        self._items = [span for span in note.spans if span.kind == "list_item"]
        self._others = [span for span in note.spans if span.kind != "list_item"]
        self._item_starts: dict[int, Mapping[int, int]] = {}

    def first_line(self, line: int) -> int:
        """Return the first line of the block whose id is on ``line``."""
        if (item := _around(line, self._items)) is not None:
            return self._start_of_item(line, item)
        block = self._block(line)
        return block.start_line if block else line

    def lines(self, line: int) -> tuple[int, int]:
        """Return the first and last line of the block whose id is on ``line``."""
        if (item := _around(line, self._items)) is not None:
            first = self._start_of_item(line, item)
            return first, _end_of_item(self._lines, first, item)
        block = self._block(line)
        return (block.start_line, block.end_line) if block else (line, line)

    def _block(self, line: int) -> Span | None:
        block = _around(line, self._others)
        if block and block.start_line == line and self._lines[line - 1].strip().startswith("^"):
            above = bisect_left(self._others, line, key=attrgetter("end_line"))
            return self._others[above - 1] if above else block
        return block

    def _start_of_item(self, line: int, outermost: Span) -> int:
        if outermost.start_line not in self._item_starts:
            self._item_starts[outermost.start_line] = _starts_of_items(self._lines, outermost)
        return self._item_starts[outermost.start_line][line]


def _around(line: int, spans: Sequence[Span]) -> Span | None:
    """Return the span that contains ``line``, or None; spans do not overlap."""
    before = bisect_right(spans, line, key=attrgetter("start_line"))
    return spans[before - 1] if before and spans[before - 1].end_line >= line else None


def _starts_of_items(lines: Sequence[str], outermost: Span) -> Mapping[int, int]:
    """Return a map from each line of a list to the first line of the innermost list item that contains it."""
    starts: dict[int, int] = {}
    open_items: list[tuple[int, int]] = []  # (depth, line) of each open item, outermost first
    last: int | None = None  # first line of the item that this line continues
    for number in range(outermost.start_line, outermost.end_line + 1):
        text = lines[number - 1]
        if LIST_ITEM.match(text):
            del open_items[bisect_left(open_items, (_depth(text),)) :]
            open_items.append((_depth(text), number))
            last = number
        above = bisect_left(open_items, (_depth(text),))
        starts[number] = last or (open_items[above - 1][1] if above else outermost.start_line)
        last = last if text.strip() else None
    return starts


def _end_of_item(lines: Sequence[str], first: int, outermost: Span) -> int:
    """Return the last line of the list item that begins on line ``first``, including nested items."""
    last = first
    for number in range(first + 1, outermost.end_line + 1):
        text = lines[number - 1]
        if not text.strip():
            continue
        begins = LIST_ITEM.match(text) or not lines[number - 2].strip()
        if begins and _depth(text) <= _depth(lines[first - 1]):
            break
        last = number
    return last


def _depth(line: str) -> int:
    text = line.expandtabs(4)
    return len(text) - len(text.lstrip())


def block_text(lines: Sequence[str], number: int, id: str) -> str:
    """Return the line that ends with a block's id. If the id is alone on line ``number``, return the line
    above.
    """
    line = lines[number - 1].strip()
    if line != f"^{id}":
        return line
    above = (text for at in range(number - 2, -1, -1) if (text := lines[at].strip()))
    return next(above, line)


@lru_cache(maxsize=4096)
def plain_name(heading: str) -> str:
    """Return the text of a heading or fragment in the form used for comparison: without markup and
    punctuation, and with case folded.

    Emoji, and the vowel signs of many scripts, distinguish headings and are kept.
    """
    folded = fold(heading)
    signs = {sign for sign in folded if _is_punctuation(sign)}
    return " ".join(folded.translate({ord(sign): " " for sign in signs}).split()) or folded


def _is_punctuation(sign: str) -> bool:
    return not sign.isalnum() and (sign.isascii() or category(sign).startswith("P"))


def tag_places(note: Note, tag: str) -> Iterator[PlacedTag]:
    """Yield, in order, the positions in a note of ``tag`` and of tags nested under it."""
    for placed in (*placed_tags(note), *note.placed_tags):
        if _is_below(placed.tag, tag):
            yield placed


def has_unplaced_tag(note: Note, tag: str) -> bool:
    """True if ``tag``, or a tag nested under it, is in the note's frontmatter at an unknown position."""
    written = sum(_is_below(each, tag) for each in frontmatter_tags(note.frontmatter))
    return written > sum(_is_below(placed.tag, tag) for placed in placed_tags(note))


def _is_below(tag: str, above: str) -> bool:
    return f"{fold(tag)}/".startswith(f"{fold(above)}/")
