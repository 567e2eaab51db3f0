"""Find unlinked mentions of a note: its title, alias or file name in the text of other notes."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from vaultseek.base.limits import LINE_CHARS, SQL_VARIABLES
from vaultseek.base.model import JSON, Chunk
from vaultseek.base.text import fold, is_unspaced
from vaultseek.content.markdown.title import file_stem
from vaultseek.content.query.compare import find
from vaultseek.content.query.filters import Contains, any_of
from vaultseek.core.notes.name_mentions import MIN_NAME_CHARS, NO_PROSE, labels_in, prose
from vaultseek.core.notes.read import about
from vaultseek.store.ledger import Ledger, NoteRow
from vaultseek.store.ledger.filter import text_candidates


class Mention(NamedTuple):
    """A line of a note that mentions another note in prose: the ids of both notes, and the columns of the
    name.
    """

    named: int
    note: int
    line: int
    text: str
    name: str
    start: int
    end: int


def unlinked(row: NoteRow, ledger: Ledger) -> list[JSON]:
    """Return the lines of other notes that mention this note in prose, sorted by path and line."""
    found = list(mentions_of([row], ledger))
    notes = ledger.notes.by_id(list({each.note for each in found}))
    found = sorted((each for each in found if each.note in notes), key=lambda each: notes[each.note].path)
    return [
        {
            **about(notes[each.note]),
            "line": each.line,
            "name": each.name,
            **_excerpt(each.text, each.start, each.end),
        }
        for each in found
    ]


def mentions_of(rows: Sequence[NoteRow], ledger: Ledger) -> Iterator[Mention]:
    """Yield the lines of other notes that mention one of these notes in prose.

    The lines are grouped by the note that contains them, in document order.
    """
    names = [(row.id, fold(name), name) for row in rows for name in names_of(row)]
    condition = any_of(Contains(name) for *_, name in names)
    if condition is None:
        return
    # Reading every passage once is faster than scanning the database for each name of many notes.
    some = text_candidates(condition, ledger) if len(rows) == 1 else None
    ids = ledger.notes.ids() if some is None else sorted(some)
    for start in range(0, len(ids), SQL_VARIABLES):
        for note, chunks in ledger.chunks.by_note(ids[start : start + SQL_VARIABLES]).items():
            yield from _mentions_in(note, chunks, [each for each in names if each[0] != note])


def _excerpt(line: str, start: int, end: int) -> JSON:
    """Return the text around a mention, and the position of the mention in that text."""
    text = line.strip()
    shift = line.find(text)
    start, end = start - shift, end - shift
    if end > LINE_CHARS:
        cut = text.find(" ", start - LINE_CHARS // 3, start) + 1 or start
        # If a link were cut off, its text would look like a mention.
        ends = [link.end() for link in NO_PROSE.finditer(text) if link.start() < cut < link.end() <= start]
        cut = max([cut, *ends])
        text, start, end = f"…{text[cut:]}", start - cut + 1, end - cut + 1
    return {"text": text[:LINE_CHARS], "highlights": [[start, min(end, LINE_CHARS)]]}


def names_of(row: NoteRow) -> list[str]:
    """Return the names by which prose may mention a note: title, aliases and file name, longest first."""
    names = {fold(name): name for name in (file_stem(row.path), *row.names[::-1])}
    distinct = [
        name for folded, name in names.items() if len(folded) >= MIN_NAME_CHARS or is_unspaced(folded)
    ]
    return sorted(distinct, key=lambda name: (-len(name), name))


def _mentions_in(
    note: int, chunks: Sequence[Chunk], names: Sequence[tuple[int, str, str]]
) -> Iterator[Mention]:
    sources = [chunk.source for chunk in chunks]
    folded = [fold(source) for source in sources]
    present = [[each for each in names if each[1] in text] for text in folded]
    if not any(present):
        return
    labels = set[str]().union(*map(labels_in, sources))
    for chunk, source, those in zip(chunks, sources, present, strict=True):
        offset = 0
        proses = prose(source, labels).split("\n") if those else []
        lines = zip(chunk.text.split("\n"), source.split("\n"), proses, strict=False)
        for number, (shown, text, line) in enumerate(lines):
            in_code = any(start <= offset and offset + len(shown) <= end for start, end in chunk.code)
            offset += len(shown) + 1
            if not in_code:
                for named, name, (start, end) in _names_in(line, those):
                    yield Mention(named, note, chunk.start_line + number, text, name, start, end)


def _names_in(line: str, names: Sequence[tuple[int, str, str]]) -> Iterator[tuple[int, str, tuple[int, int]]]:
    """Yield the first name of each note that a line names, with its columns."""
    folded = fold(line)
    found = set[int]()
    for named, key, name in names:
        if named not in found and (place := find(folded, key)) >= 0:
            found.add(named)
            yield named, name, _written(line, place, place + len(key))


def _written(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the range of ``text`` that corresponds to the range ``start`` to ``end`` of its folded form."""
    words = list(re.finditer(r"\S+", text))
    starts = list(accumulate((len(fold(word[0])) + 1 for word in words), initial=0))

    def place(folded: int) -> int:
        at = bisect_right(starts, folded) - 1
        word = words[at][0]
        chars = bisect_right(range(len(word) + 1), folded - starts[at], key=lambda n: len(fold(word[:n]))) - 1
        return words[at].start() + chars

    return place(start), place(end)
