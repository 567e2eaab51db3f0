"""Addresses of notes, and of headings, blocks and line ranges in notes. No I/O."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from vaultseek.base.model import JSON, Heading
from vaultseek.base.text import fold, quote
from vaultseek.core.notes.anchors import Anchors
from vaultseek.errors import NotFound

SIGNS_READ = 5
"""Maximum number of hash signs in a name that are tried as the beginning of a heading."""
HEADINGS_NAMED = 10
"""Maximum number of headings listed in the error for a missing heading."""
_OPERATOR = re.compile(r"-?[a-z-]+:\S")
"""Pattern of the beginning of a query such as ``path:a.md``, which is not a file name."""
_LINES = re.compile(r"(.+):(\d{1,9})(?:(-)(\d{1,9})?)?")
_PATH = re.compile(r".+\.(?:md|canvas|base|excalidraw|txt|org|html?|pdf|jsonl)", re.IGNORECASE)
_WIKILINK = re.compile(r"!?\[\[([^\[\]|]+)(?:\|[^\[\]]*)?\]\]")


class Address(NamedTuple):
    """A note's name and a part of the note: the ``anchor`` after a ``#``, or lines, 1-based and inclusive.

    For a block, the lines cover the passage that contains the block; ``line`` is the block's own line.
    """

    note: str
    anchor: str = ""
    first: int = 1
    last: int | None = None
    line: int | None = None


def is_table_file(text: str) -> bool:
    """Return True if a table's source is a base or a note, not a query."""
    return text.lower().endswith((".base", ".md")) and not _OPERATOR.match(text)


def readings(name: str) -> Iterator[Address]:
    """Yield the possible meanings of ``name`` as addresses, most likely first; a name may itself contain
    ``#`` and ``:``."""
    link = _WIKILINK.fullmatch(name.strip())
    name = link[1] if link else name.strip()
    lines = _LINES.fullmatch(name)
    parts: list[Address] = []
    if lines is not None:
        first = max(1, int(lines[2]))
        parts.append(
            Address(lines[1], first=first, last=int(lines[4]) if lines[4] else None if lines[3] else first)
        )
    signs = islice(re.finditer("#", name), SIGNS_READ)
    parts += [
        Address(name[: sign.start()], name[sign.end() :]) for sign in signs if name[: sign.start()].strip()
    ]
    exact = [part for part in parts if _PATH.fullmatch(part.note)]
    yield from exact
    yield Address(name)
    yield from (part for part in parts if part not in exact)


def section(anchor: str, note: JSON) -> Address:
    """Return the address of the section ``anchor`` in a note, or of a nested ``Heading#Subheading``.

    ``note`` is the answer to ``note/get``. A section ends before the next heading of the same or a higher
    level. Raises NotFound, listing the note's headings.
    """
    headings = [Heading(each["level"], each["text"], each["line"]) for each in note["headings"]]
    anchors = Anchors(headings)
    chain = anchors.chain(anchor)
    if chain is None:
        names = [quote(heading["text"]) for heading in note["headings"]]
        more = ", …" if len(names) > HEADINGS_NAMED else ""
        known = (
            f"its headings are {', '.join(names[:HEADINGS_NAMED])}{more}"
            if names
            else "the note has no headings"
        )
        raise NotFound(f"{note['path']} has no heading {quote(anchor)}; {known}")
    start, end = chain[-1], anchors.section_end(chain[-1])
    last = headings[end].line - 1 if end < len(headings) else int(note["lines"])
    return Address(note["path"], first=headings[start].line, last=last)


def part(anchor: str, note: JSON, blocks: Iterable[JSON] = ()) -> Address:
    """Return the address of a part of a file: a PDF page, a canvas node, a block or a section.

    If ``anchor`` begins with a caret, ``blocks`` must contain the items that ``complete`` returns for the
    note's blocks; the result is then the address of the passage that contains the block. Raises NotFound.
    """
    line: int | None = None
    chunks = [chunk for chunk in note.get("chunks", ()) if chunk.get("place") == anchor]
    if not chunks and not anchor.startswith("^"):
        return section(anchor, note)
    if not chunks:
        line = next((item["line"] for item in blocks if fold(item["text"]) == fold(anchor[1:])), None)
        if line is None:
            raise NotFound(f"{note['path']} has no block {quote(anchor)}; search the whole note for it")
        chunks = [chunk for chunk in note["chunks"] if chunk["start_line"] <= line <= chunk["end_line"]][:1]
        chunks = chunks or [{"start_line": line, "end_line": line}]
    return Address(note["path"], first=chunks[0]["start_line"], last=chunks[-1]["end_line"], line=line)
