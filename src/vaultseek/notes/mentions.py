"""Mentions of a note that are no links: its title, an alias or its file name in the text of other notes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from vaultseek.index.ledger import Ledger, NoteRow
from vaultseek.limits import LINE_CHARS
from vaultseek.model import JSON, Chunk
from vaultseek.notes.read import about
from vaultseek.query.compare import contains
from vaultseek.query.filters import Contains, any_of
from vaultseek.search.filter import filter_notes
from vaultseek.text import fold, is_unspaced

_LINKED = re.compile(
    r"!?\[\[[^\[\]]*\]\]|!?\[[^\[\]]*\]\([^()]*\)|!?\[[^\[\]]*\]\[[^\[\]]*\]|<[^<>\s]+>|https?://\S+|`[^`]*`"
)
_SHORTEST = 2


def unlinked(row: NoteRow, ledger: Ledger) -> list[JSON]:
    """Lines of other notes that name this one outside of links and code, by path and line."""
    names = names_of(row)
    found = filter_notes(any_of(map(Contains, names)), ledger)
    if found is None:
        return []
    ids = [number for number in found.ids.tolist() if number != row.id]
    notes, chunks = ledger.notes.by_id(ids), ledger.chunks.by_note(ids)
    rows = sorted(notes.values(), key=lambda other: other.path)
    return [
        {**about(other), "line": line, "name": name, "text": text.strip()[:LINE_CHARS]}
        for other in rows
        for line, text, name in _lines(chunks[other.id], names)
    ]


def names_of(row: NoteRow) -> list[str]:
    """What a note is called in running text: title, aliases and file name, the longest first."""
    names = {fold(name): name for name in (PurePosixPath(row.path).stem, *row.aliases, row.title)}
    long = [name for folded, name in names.items() if len(folded) >= _SHORTEST or is_unspaced(folded)]
    return sorted(long, key=lambda name: (-len(name), name))


def _lines(chunks: Sequence[Chunk], names: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    for chunk in chunks:
        at = 0
        for number, text in enumerate(chunk.text.split("\n"), start=chunk.start_line):
            in_code = any(start <= at and at + len(text) <= end for start, end in chunk.code)
            at += len(text) + 1
            if not in_code:
                prose = fold(_LINKED.sub(" \0 ", text))
                name = next((name for name in names if contains(prose, fold(name))), None)
                if name is not None:
                    yield number, text, name
