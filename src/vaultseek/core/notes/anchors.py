"""Places within a note that a link names, a heading or a block, and the places of its tags."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from unicodedata import category

from vaultseek.base.model import BlockId, Heading, Note, PlacedTag, Span
from vaultseek.base.text import fold
from vaultseek.content.markdown.frontmatter import placed_tags
from vaultseek.content.query.facts import LIST_ITEM


def heading_span(names: Sequence[str], headings: Sequence[Heading]) -> tuple[int, int] | None:
    """Return the heading with the last of the nested ``names`` and the one after its section, by index."""
    chain = heading_chain(names, headings)
    if chain is None:
        return None
    return chain[-1], _section_end(chain[-1], len(headings), headings)


def heading_chain(names: Sequence[str], headings: Sequence[Heading]) -> list[int] | None:
    """Return the index of the heading that each of the nested ``names`` means; None if there are none.

    Of several headings, one with the very text goes before one that differs in signs.
    """
    texts = [(fold(heading.text), plain_name(heading.text)) for heading in headings]

    def nested(names: Sequence[str], start: int, end: int) -> list[int] | None:
        if not names:
            return []
        exact, plain = fold(names[0]), plain_name(names[0])
        same = (at for at in range(start, end) if texts[at][1] == plain)
        for at in sorted(same, key=lambda at: texts[at][0] != exact):
            chain = nested(names[1:], at + 1, _section_end(at, end, headings))
            if chain is not None:
                return [at, *chain]
        return None

    return nested(names, 0, len(headings))


def _section_end(at: int, end: int, headings: Sequence[Heading]) -> int:
    level = headings[at].level
    return next((later for later in range(at + 1, end) if headings[later].level <= level), end)


def find_heading(fragment: str, headings: Sequence[Heading]) -> Heading | None:
    """Return the heading that the ``fragment`` of a link means: ``Heading`` or ``Heading#Subheading``."""
    span = heading_span([fragment], headings) or heading_span(fragment.split("#"), headings)
    return headings[span[0]] if span else None


def find_block(id: str, blocks: Sequence[BlockId]) -> BlockId | None:
    """Return the block with this id, which is compared without regard to case."""
    return next((block for block in blocks if fold(block.id) == fold(id)), None)


def block_lines(note: Note, line: int) -> tuple[int, int]:
    """Return the first and the last line of the block whose id stands in ``line``, maybe alone."""
    inside = [span for span in note.spans if span.start_line <= line <= span.end_line]
    if not inside:
        return line, line
    block = inside[-1]
    if block.kind == "list_item":
        return _item_lines(note.lines, line, block)
    if block.start_line == line and note.lines[line - 1].strip().startswith("^"):
        above = [span for span in note.spans if span.end_line < line and span.kind != "list_item"]
        block = above[-1] if above else block
    return block.start_line, block.end_line


def _item_lines(lines: Sequence[str], line: int, outermost: Span) -> tuple[int, int]:
    """Return the lines of the innermost list item around ``line``, with those nested in it."""

    def depth(number: int) -> int:
        text = lines[number - 1].expandtabs(4)
        return len(text) - len(text.lstrip())

    first, apart = line, False
    while first > outermost.start_line and not (
        LIST_ITEM.match(lines[first - 1]) and (first == line or not apart or depth(first) < depth(line))
    ):
        first -= 1
        apart = apart or not lines[first - 1].strip()
    last = first
    for number in range(first + 1, outermost.end_line + 1):
        text = lines[number - 1]
        if not text.strip():
            continue
        begins = LIST_ITEM.match(text) or not lines[number - 2].strip()
        if begins and depth(number) <= depth(first):
            break
        last = number
    return first, last


def block_text(lines: Sequence[str], number: int, id: str) -> str:
    """Return the line that ends with a block's id; of an id alone in line ``number``, the line above it."""
    line = lines[number - 1].strip()
    if line != f"^{id}":
        return line
    above = (text.strip() for text in reversed(lines[: number - 1]) if text.strip())
    return next(above, line)


@lru_cache(maxsize=4096)
def plain_name(heading: str) -> str:
    """Return a heading as links name it: without markup, punctuation and differences of case.

    The vowel signs of many scripts and emoji tell headings apart, and stay.
    """
    folded = fold(heading)
    signs = {sign for sign in folded if _is_punctuation(sign)}
    return " ".join(folded.translate({ord(sign): " " for sign in signs}).split()) or folded


def _is_punctuation(sign: str) -> bool:
    return not sign.isalnum() and (sign.isascii() or category(sign).startswith("P"))


def tag_places(note: Note, tag: str) -> Iterator[PlacedTag]:
    """Yield where a note has ``tag`` or one nested under it, in order."""
    wanted = fold(tag)
    for placed in (*placed_tags(note), *note.placed_tags):
        folded = fold(placed.tag)
        if folded == wanted or folded.startswith(f"{wanted}/"):
            yield placed
