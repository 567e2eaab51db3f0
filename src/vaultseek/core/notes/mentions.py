"""Unlinked mentions of a note: its title, an alias or its file name in the text of other notes."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from vaultseek.base.limits import LINE_CHARS
from vaultseek.base.model import JSON, Chunk
from vaultseek.base.text import fold, is_unspaced
from vaultseek.content.markdown.title import file_stem
from vaultseek.content.query.compare import find
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
        {**about(other), "line": line, "name": name, **_excerpt(text, *span)}
        for other in rows
        for line, text, name, span in _lines(chunks[other.id], names)
    ]


def _excerpt(line: str, start: int, end: int) -> JSON:
    """Return the text around a mention, and where in it the mention is."""
    text = line.strip()
    shift = line.find(text)
    start, end = start - shift, end - shift
    if end > LINE_CHARS:
        cut = text.find(" ", start - LINE_CHARS // 3, start) + 1 or start
        # A link that is cut would look like a mention.
        ends = [link.end() for link in NO_PROSE.finditer(text) if link.start() < cut < link.end() <= start]
        cut = max([cut, *ends])
        text, start, end = f"…{text[cut:]}", start - cut + 1, end - cut + 1
    return {"text": text[:LINE_CHARS], "highlights": [[start, min(end, LINE_CHARS)]]}


def names_of(row: NoteRow) -> list[str]:
    """Return what a note is called in running text: title, aliases and file name, the longest first."""
    names = {fold(name): name for name in (file_stem(row.path), *row.names[::-1])}
    distinct = [
        name for folded, name in names.items() if len(folded) >= MIN_NAME_CHARS or is_unspaced(folded)
    ]
    return sorted(distinct, key=lambda name: (-len(name), name))


def _lines(chunks: Sequence[Chunk], names: Sequence[str]) -> Iterator[tuple[int, str, str, tuple[int, int]]]:
    labels = set[str]().union(*(labels_in(chunk.text) for chunk in chunks))
    for chunk in chunks:
        offset = 0
        proses = prose(chunk.text, labels).split("\n")
        for number, text in enumerate(chunk.text.split("\n")):
            in_code = any(start <= offset and offset + len(text) <= end for start, end in chunk.code)
            offset += len(text) + 1
            if not in_code:
                folded = fold(proses[number])
                found = ((name, find(folded, fold(name))) for name in names)
                name, place = next((pair for pair in found if pair[1] >= 0), ("", -1))
                if place >= 0:
                    span = _written(proses[number], place, place + len(fold(name)))
                    yield chunk.start_line + number, text, name, span


def _written(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the range of a text that is written for a range of its folded form."""
    words = list(re.finditer(r"\S+", text))
    starts = list(accumulate((len(fold(word[0])) + 1 for word in words), initial=0))

    def place(folded: int) -> int:
        at = bisect_right(starts, folded) - 1
        word = words[at][0]
        chars = bisect_right(range(len(word) + 1), folded - starts[at], key=lambda n: len(fold(word[:n]))) - 1
        return words[at].start() + chars

    return place(start), place(end)
