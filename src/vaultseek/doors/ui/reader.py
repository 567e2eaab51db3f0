"""A note prepared for the page: its properties, its text as HTML, and the part named by a link or embed."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from vaultseek.base.model import JSON
from vaultseek.base.paths import obsidian_url
from vaultseek.content.files.obsidian import app_settings, has_obsidian
from vaultseek.content.markdown.frontmatter import read_frontmatter
from vaultseek.core.notes.anchors import Anchors, block_lines
from vaultseek.doors.addresses import part
from vaultseek.errors import NotFound, VaultseekError

RENDERED_CHARS = 200_000
"""Maximum number of characters of a note that are rendered; of a longer note, only the part around the
requested line is rendered."""
LINES_BEFORE = 200
"""Maximum number of lines shown before the requested line if only part of a note is rendered."""
LINE_CHARS = 60_000
"""Maximum number of characters of a line that are rendered; of a longer line, only the part around the
requested column is rendered."""
NOTE = "note"
PLAIN = frozenset({"text", "org"})
"""Kinds of files that are shown as plain text, because they contain no Markdown."""

Ask = Callable[[str, JSON], Awaitable[JSON]]


class Part(NamedTuple):
    """A range of lines in a note, 1-based and inclusive."""

    first: int
    last: int


async def read_note(
    ask: Ask, vault: str, note: str, anchor: str = "", *, line: int = 1, column: int = 1, at: str = ""
) -> JSON:
    """Return a note, or its section or block ``anchor``, as HTML. Raises VaultseekError.

    If a note is too long, only the lines around ``line`` are rendered. If the anchor ``at`` exists, its first
    line replaces ``line`` and is returned as ``at_line``. ``html`` contains the lines from ``first_line`` to
    ``last_line``. ``cut`` is true if there are more lines, and ``cut_lines`` if some of the rendered lines
    were shortened.
    """
    answer = await ask("note/get", {"vault": vault, "note": note})
    folder = answer["vault_path"]
    lines = answer["text"].split("\n")
    body = Part(min(read_frontmatter(lines).body_line, len(lines) + 1), len(lines))
    whole = await asyncio.to_thread(part_of, anchor, answer) if anchor else body
    at_line: int | None = None
    if at:
        with suppress(NotFound):
            line = at_line = (await asyncio.to_thread(part_of, at, answer)).first
    window = _window(lines, whole, line)
    targets = await _targets(ask, vault, answer["path"])
    shown = lines[window.first - 1 : window.last]
    text = "\n".join(
        piece_of(each, column if number == line else 1) for number, each in enumerate(shown, window.first)
    )
    from vaultseek.doors.ui.rendering import as_html, as_paragraphs

    def render() -> str:
        if answer.get("kind") in PLAIN:
            return as_paragraphs(text, window.first)
        breaks = answer.get("kind", NOTE) != NOTE or keeps_line_breaks(Path(vault))
        return as_html(text, targets, window.first, breaks)

    return {
        **{key: value for key, value in answer.items() if key not in ("text", "chunks")},
        "html": await asyncio.to_thread(render),
        "at_line": at_line,
        "places": _places(answer.get("chunks", ())),
        "first_line": window.first,
        "last_line": window.last,
        "cut": window != whole or bool(answer["truncated"]),
        "cut_lines": any(len(each) > LINE_CHARS for each in shown),
        # A note on another machine has no Obsidian URL.
        "obsidian_url": obsidian_url(str(Path(folder, answer["path"]))) if folder else "",
    }


def part_of(anchor: str, note: JSON) -> Part:
    """Return the line range of a heading's section, of the block ``^id``, or of a page or card. Raises
    NotFound."""
    if not anchor.startswith("^"):
        address = part(anchor, note)
        return Part(address.first, address.last or int(note["lines"]))
    # Parsing imports the parser, which is needed only here.
    from vaultseek.content.markdown.parse import parse

    parsed = parse(note["text"], note["path"])
    block = Anchors(parsed.headings, parsed.blocks).block(anchor[1:])
    if block is None:
        raise NotFound(f"{note['path']} has no block {anchor}; check the link")
    return Part(*block_lines(parsed, block.line))


def piece_of(line: str, column: int) -> str:
    """Return ``line`` or, if it is too long to render, the part around ``column``."""
    if len(line) <= LINE_CHARS:
        return line
    start = max(0, min(column - 1 - LINE_CHARS // 2, len(line) - LINE_CHARS))
    end = start + LINE_CHARS
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")


def keeps_line_breaks(vault: Path) -> bool:
    """Return True if line ends in this vault are shown as line breaks, as Obsidian does by default."""
    if not has_obsidian(vault):
        return (vault / "logseq").is_dir()
    return app_settings(vault).get("strictLineBreaks") is not True


def _window(lines: list[str], part: Part, line: int) -> Part:
    """Return the range of lines within ``part``, around ``line``, that is short enough to render."""

    def size(number: int) -> int:
        return min(len(lines[number - 1]), LINE_CHARS) + 1

    if sum(size(number) for number in range(part.first, part.last + 1)) <= RENDERED_CHARS:
        return part
    first = last = max(part.first, min(line, part.last))
    total = size(first)
    while (
        part.first < first and last - first < LINES_BEFORE and total + size(first - 1) <= RENDERED_CHARS // 2
    ):
        first -= 1
        total += size(first)
    while last < part.last and total + size(last + 1) <= RENDERED_CHARS:
        last += 1
        total += size(last)
    return Part(first, last)


def _places(chunks: Iterable[JSON]) -> list[JSON]:
    """Return each named place in a file other than a note, such as ``page=3`` of a PDF, with its first
    line."""
    places: dict[str, int] = {}
    for chunk in chunks:
        if chunk.get("place"):
            places.setdefault(chunk["place"], chunk["start_line"])
    return [{"place": place, "line": line} for place, line in places.items()]


async def _targets(ask: Ask, vault: str, path: str) -> dict[str, str | None]:
    try:
        answer = await ask("links/outgoing", {"vault": vault, "note": path})
    except VaultseekError:
        return {}
    return {link["target"]: link["resolved"] for link in answer["links"]}
