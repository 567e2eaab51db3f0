"""Passages: the text of each result that shows why it was found."""

from collections.abc import Mapping, Sequence, Set

import numpy as np

from vaultseek.base.model import Chunk
from vaultseek.base.text import fold
from vaultseek.content.markdown.property_text import NAMELESS, lines_of_text
from vaultseek.content.query.expression import find
from vaultseek.content.query.filters import PropertyFilter
from vaultseek.core.search.retrieve import Retrieval
from vaultseek.core.search.snippet import boilerplate, is_boilerplate
from vaultseek.store.keyword.index import ChunkHit
from vaultseek.store.keyword.inverter import PROPERTIES
from vaultseek.store.ledger import Ledger, NoteRow

PROPERTIES_LEAD = 0.5
"""Maximum keyword score of a passage, as a share of the properties' score, if the properties are shown
instead."""
SHORT_CHARS, LEAST_LETTERS = 60, 12
"""A passage with fewer characters than the first and fewer letters than the second is shown only if there is
no other."""


def choose_passages(rows: Sequence[NoteRow], retrieval: Retrieval, ledger: Ledger) -> dict[int, Chunk]:
    """Return the best passage of each note, by note id; the first one without any match.

    Properties that match the words best by far are also a passage, with the id ``PROPERTIES``.
    """
    ids = [row.id for row in rows]
    outlines = ledger.chunks.outlines(ids)
    by_word = {} if retrieval.keyword is None else retrieval.keyword.passages(ids)
    totals = _totals(list(outlines), retrieval, by_word)
    best: dict[int, tuple[int, str]] = {}
    for note, outline in outlines.items():
        scores = [totals.get(number, 0.0) + totals.get(id, 0.0) for number, id in outline]
        best[note] = outline[scores.index(max(scores))]
    matching = [row for row in rows if _is_in_properties(by_word.get(row.id, ()))]
    best |= {row.id: outlines[row.id][0] for row in matching if row.id in outlines}
    chunks = ledger.chunks.by_number([number for number, _ in best.values()])
    passages = {note: chunks[number] for note, (number, _) in best.items() if number in chunks}
    hits = {hit.id for each in by_word.values() for hit in each}
    shared = boilerplate(ledger)
    empty = [note for note, chunk in passages.items() if _is_wordless(chunk, shared, chunk.id in hits)]
    if empty:
        passages |= _with_words({note: outlines[note] for note in empty}, totals, ledger, shared)
    return passages | {row.id: properties_passage(row, passages.get(row.id)) for row in matching}


def further_passages(
    shown: Mapping[int, Chunk], number: int, retrieval: Retrieval, ledger: Ledger
) -> dict[int, list[Chunk]]:
    """Return up to ``number`` matching passages of each note, best first, in addition to the ``shown`` one.

    A query with only filters has none.
    """
    scores = passage_scores(list(shown), retrieval, ledger)
    best: dict[int, list[int]] = {}
    for note, of_note in scores.items():
        matching = [chunk for chunk, score in of_note.items() if score > 0]
        best[note] = sorted(matching, key=lambda chunk: -of_note[chunk])[: number + 1]
    chunks = ledger.chunks.by_number([chunk for each in best.values() for chunk in each])
    further = {
        note: [chunks[each] for each in numbers if each in chunks and chunks[each].id != shown[note].id]
        for note, numbers in best.items()
    }
    return {note: each[:number] for note, each in further.items()}


def passage_scores(notes: Sequence[int], retrieval: Retrieval, ledger: Ledger) -> dict[int, dict[int, float]]:
    """Return the score of each passage of the notes by its number, in the order of the note; 0 without a
    match."""
    by_word = {} if retrieval.keyword is None else retrieval.keyword.passages(notes)
    totals = _totals(notes, retrieval, by_word)
    return {
        note: {chunk: totals.get(chunk, 0.0) + totals.get(id, 0.0) for chunk, id in outline}
        for note, outline in ledger.chunks.outlines(notes).items()
    }


def _is_wordless(chunk: Chunk, shared: Set[str], has_word: bool = False) -> bool:
    """True for the end of a table, an image or a footer of many notes: it has a vector, but is not worth
    showing."""
    lines = chunk.text.split("\n")
    own = [line for line in lines if not is_boilerplate(line, shared)]
    if own == lines and (has_word or len(chunk.text) >= SHORT_CHARS):
        return False
    below = (line for line in own if " ".join(line.split()) not in chunk.heading_path)
    return sum(sum(map(str.isalpha, line)) for line in below) < LEAST_LETTERS


def _with_words(
    outlines: Mapping[int, Sequence[tuple[int, str]]],
    totals: Mapping[int | str, float],
    ledger: Ledger,
    shared: Set[str],
) -> dict[int, Chunk]:
    """Return the best passage with words of each of these notes; notes without any are left out."""
    chunks = ledger.chunks.by_number([number for outline in outlines.values() for number, _ in outline])
    passages: dict[int, Chunk] = {}
    for note, outline in outlines.items():
        order = sorted(outline, key=lambda chunk: -totals.get(chunk[0], 0.0) - totals.get(chunk[1], 0.0))
        worded = (chunks[number] for number, _ in order if number in chunks)
        if (first := next((each for each in worded if not _is_wordless(each, shared)), None)) is not None:
            passages[note] = first
    return passages


def _is_in_properties(hits: Sequence[ChunkHit]) -> bool:
    if not hits or hits[0].id != PROPERTIES:
        return False
    return len(hits) == 1 or hits[1].score < PROPERTIES_LEAD * hits[0].score


def properties_passage(row: NoteRow, first: Chunk | None) -> Chunk:
    """Return a note's properties, one per line; in the file they precede its ``first`` passage."""
    text = lines_of_text(row.properties)
    end = first.start_line - 1 if first is not None else text.count("\n") + 2
    return Chunk(PROPERTIES, (), 2, max(end, 2), text)


def passages_matching(patterns: Sequence[str], rows: Sequence[NoteRow], ledger: Ledger) -> dict[int, Chunk]:
    """Return the first passage of each note that a regular expression matches, by note id.

    If none does, the properties match.
    """
    if not patterns:
        return {}
    passages: dict[int, Chunk] = {}
    chunks = ledger.chunks.by_note([row.id for row in rows])
    for row in rows:
        of_note = chunks[row.id]
        properties = properties_passage(row, of_note[0] if of_note else None)
        candidates = [*of_note, properties] if properties.text else of_note
        matching = (
            chunk
            for chunk in candidates
            if any(find(pattern, chunk.text) or find(pattern, chunk.source) for pattern in patterns)
        )
        if (first := next(matching, None)) is not None:
            passages[row.id] = first
    return passages


def passages_of_properties(
    conditions: Sequence[PropertyFilter], rows: Sequence[NoteRow], passages: Mapping[int, Chunk]
) -> dict[int, Chunk]:
    """Return the properties of each note with a property named in the ``conditions``."""
    names = {fold(condition.name) for condition in conditions}
    return {
        row.id: properties_passage(row, passages.get(row.id))
        for row in rows
        if any(fold(name) in names and name.casefold() not in NAMELESS for name in row.properties)
    }


def _totals(
    notes: Sequence[int], retrieval: Retrieval, by_word: Mapping[int, Sequence[ChunkHit]]
) -> dict[int | str, float]:
    """Return the scores of the notes' passages as shares of each lane's best: by word under the chunk's id,
    by meaning under its number."""
    keyword, semantic = retrieval.keyword, retrieval.semantic
    totals: dict[int | str, float] = {}
    if keyword is not None and len(keyword) and (best := float(keyword.columns.passage_scores.max())) > 0:
        totals |= {chunk.id: chunk.score / best for chunks in by_word.values() for chunk in chunks}
    if semantic is not None and len(semantic.passage_scores):
        best = float(semantic.passage_scores.max())
        rows = np.isin(semantic.passage_notes, notes) if best > 0 else slice(0)
        scores = semantic.passage_scores[rows].astype(np.float64) / best
        totals |= dict(zip(semantic.passage_numbers[rows].tolist(), scores.tolist(), strict=True))
    return totals
