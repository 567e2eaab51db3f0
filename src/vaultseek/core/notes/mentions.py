"""Unlinked mentions of a note: its title, an alias or its file name in the text of other notes."""

import re
from collections.abc import Iterator, Sequence

from vaultseek.base.limits import LINE_CHARS
from vaultseek.base.model import JSON, Chunk
from vaultseek.base.text import fold, is_unspaced
from vaultseek.content.markdown.title import file_stem
from vaultseek.content.query.compare import contains
from vaultseek.content.query.filters import Contains, any_of
from vaultseek.core.notes.read import about
from vaultseek.core.search.filter import filter_notes
from vaultseek.core.search.name_mentions import MIN_NAME_CHARS, NO_PROSE, labels_in, prose
from vaultseek.store.ledger import Ledger, NoteRow


def unlinked(row: NoteRow, ledger: Ledger) -> list[JSON]:
    """Return the lines of other notes that name this one in their prose, by path and line."""
    names = names_of(row)
    matching = filter_notes(any_of(map(Contains, names)), ledger)
    if matching is None:
        return []
    ids = [id for id in matching.ids.tolist() if id != row.id]
    notes, chunks = ledger.notes.by_id(ids), ledger.chunks.by_note(ids)
    rows = sorted(notes.values(), key=lambda other: other.path)
    return [
        {**about(other), "line": line, "name": name, "text": _excerpt(text.strip(), name)}
        for other in rows
        for line, text, name in _lines(chunks[other.id], names)
    ]


def _excerpt(line: str, name: str) -> str:
    if len(line) <= LINE_CHARS:
        return line
    words = r"\s+".join(map(re.escape, name.split()))
    places = [
        match.start()
        for match in re.finditer(words, prose(line), re.IGNORECASE)
        if contains(fold(line[max(0, match.start() - 1) : match.end() + 1]), fold(name))
    ]
    if not places or places[0] + len(name) <= LINE_CHARS:
        return line[:LINE_CHARS]
    start = line.find(" ", places[0] - LINE_CHARS // 3, places[0]) + 1 or places[0]
    # A link that is cut would look like a mention.
    ends = [link.end() for link in NO_PROSE.finditer(line) if link.start() < start < link.end()]
    return "…" + line[max([start, *ends]) :][: LINE_CHARS - 1]


def names_of(row: NoteRow) -> list[str]:
    """Return what a note is called in running text: title, aliases and file name, the longest first."""
    names = {fold(name): name for name in (file_stem(row.path), *row.names[::-1])}
    distinct = [
        name for folded, name in names.items() if len(folded) >= MIN_NAME_CHARS or is_unspaced(folded)
    ]
    return sorted(distinct, key=lambda name: (-len(name), name))


def _lines(chunks: Sequence[Chunk], names: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    labels = set[str]().union(*(labels_in(chunk.text) for chunk in chunks))
    for chunk in chunks:
        offset = 0
        proses = prose(chunk.text, labels).split("\n")
        for number, text in enumerate(chunk.text.split("\n")):
            in_code = any(start <= offset and offset + len(text) <= end for start, end in chunk.code)
            offset += len(text) + 1
            if not in_code:
                folded = fold(proses[number])
                name = next((name for name in names if contains(folded, fold(name))), None)
                if name is not None:
                    yield chunk.start_line + number, text, name
