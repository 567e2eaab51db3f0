"""Choose the passage of each result that best shows why the note was found."""

from collections.abc import Collection, Mapping, Sequence, Set

import numpy as np

from vaultseek.base.model import Chunk
from vaultseek.base.text import fold
from vaultseek.content.markdown.property_text import NAMELESS, lines_of_text
from vaultseek.content.query.expression import find
from vaultseek.content.query.filters import PropertyFilter
from vaultseek.core.search.retrieve import Retrieval
from vaultseek.core.search.snippet import is_bare
from vaultseek.store.keyword.index import ChunkHit
from vaultseek.store.keyword.inverter import PROPERTIES
from vaultseek.store.ledger import Ledger, NoteRow

PROPERTIES_LEAD = 0.5
"""Minimum keyword score of the best passage, as a share of the properties' score. Below it, the properties
are shown instead."""
SHORT_CHARS, LEAST_LETTERS = 60, 12
"""Minimum numbers of characters and of letters below the headings of a passage. A passage below both minimums
is shown only if the note has no other passage."""

_Hits = Mapping[int, Sequence[ChunkHit]]
"""Map from note id to the passages that the keyword search found in the note, best first."""


def choose_passages(
    rows: Sequence[NoteRow],
    retrieval: Retrieval,
    ledger: Ledger,
    patterns: Sequence[str] = (),
    properties: Sequence[PropertyFilter] = (),
    named: Collection[int] = (),
) -> dict[int, Chunk]:
    """Return a dict from note id to the passage to show.

    The passage is the first that matches one of the regular expressions ``patterns``, or else the best match,
    or else the note's first passage.

    A note that the query names (one in ``named``) shows its first passage, because this introduces the
    subject, even if another passage repeats the name. The note's properties form a passage with the id
    ``PROPERTIES``. They are shown if they match the words far better than any other passage, or if a filter
    in ``properties`` tests one of them.
    """
    ids = [row.id for row in rows]
    hits = _hits([id for id in ids if id not in named], retrieval)
    scores = _scores(ids, hits, retrieval, ledger)
    scores |= {note: dict.fromkeys(scores[note], 0.0) for note in named if note in scores}
    best = {note: max(of_note, key=of_note.__getitem__) for note, of_note in scores.items()}
    first = {note: next(iter(of_note)) for note, of_note in scores.items()}
    chunks = ledger.chunks.by_number([*{*best.values(), *first.values()}])
    passages = {note: chunks[number] for note, number in best.items() if number in chunks}
    by_word = {hit.id for each in hits.values() for hit in each}
    shared = ledger.shared_lines(chunk.text for chunk in passages.values())
    for note, chunk in passages.items():
        if _is_wordless(chunk, shared, chunk.id in by_word):
            order = sorted(scores[note], key=lambda number: -scores[note][number])
            known = ledger.chunks.by_number(order)
            rest = [known[each] for each in order if each in known]
            of_rest = ledger.shared_lines(each.text for each in rest)
            passages[note] = next((each for each in rest if not _is_wordless(each, of_rest)), chunk)
    names = {fold(condition.name) for condition in properties}
    for row in rows:
        is_named = any(fold(name) in names and name.casefold() not in NAMELESS for name in row.properties)
        first_hit, *others = hits.get(row.id) or (ChunkHit("", 0.0),)
        is_best = first_hit.id == PROPERTIES and all(
            other.score < PROPERTIES_LEAD * first_hit.score for other in others[:1]
        )
        if is_named or is_best:
            passages[row.id] = _properties_passage(row, chunks.get(first.get(row.id, 0)))
    return passages | _matching(patterns, rows, ledger)


def further_passages(
    shown: Mapping[int, Chunk], number: int, retrieval: Retrieval, ledger: Ledger
) -> dict[int, list[Chunk]]:
    """Return a dict from note id to up to ``number`` more matching passages of the note, best first, without
    the passage already ``shown``.

    The result is empty for a query with only filters.
    """
    best = {
        note: sorted((each for each in scores if scores[each] > 0), key=lambda each: -scores[each])
        for note, scores in passage_scores([*shown], retrieval, ledger).items()
    }
    chunks = ledger.chunks.by_number([each for order in best.values() for each in order[: number + 1]])
    return {
        note: [
            chunks[each]
            for each in order[: number + 1]
            if each in chunks and chunks[each].id != shown[note].id
        ][:number]
        for note, order in best.items()
    }


def passage_scores(notes: Sequence[int], retrieval: Retrieval, ledger: Ledger) -> dict[int, dict[int, float]]:
    """Map the id of each note to a dict from passage number to score, in document order. A passage that does
    not match has the score 0.
    """
    return _scores(notes, _hits(notes, retrieval), retrieval, ledger)


def _hits(notes: Sequence[int], retrieval: Retrieval) -> _Hits:
    return {} if retrieval.keyword is None else retrieval.keyword.passages(notes)


def _scores(
    notes: Sequence[int], hits: _Hits, retrieval: Retrieval, ledger: Ledger
) -> dict[int, dict[int, float]]:
    """Add up the two lanes' scores of each passage, each as a share of the lane's best score. The sums have
    the same shape as the result of `passage_scores`.

    Keyword scores are looked up by chunk id, semantic scores by passage number.
    """
    keyword, semantic = retrieval.keyword, retrieval.semantic
    totals: dict[int | str, float] = {}
    if keyword is not None and len(keyword) and (best := float(keyword.columns.passage_scores.max())) > 0:
        totals |= {hit.id: hit.score / best for each in hits.values() for hit in each}
    if semantic is not None and len(semantic.passage_scores):
        best = float(semantic.passage_scores.max())
        rows = np.isin(semantic.passage_notes, notes) if best > 0 else slice(0)
        scores = semantic.passage_scores[rows].astype(np.float64) / best
        totals |= dict(zip(semantic.passage_numbers[rows].tolist(), scores.tolist(), strict=True))
    return {
        note: {number: totals.get(number, 0.0) + totals.get(id, 0.0) for number, id in outline}
        for note, outline in ledger.chunks.outlines(notes).items()
    }


def _is_wordless(chunk: Chunk, shared: Set[str], has_word: bool = False) -> bool:
    """True for a passage that is not worth showing although it has a vector: an image, tags, the end of a
    table, or a footer that many notes have.
    """
    lines = chunk.text.split("\n")
    own = [line for line in lines if line.strip() not in shared] if shared else lines
    if has_word and len(own) == len(lines):
        return False
    below = [line for line in own if not is_bare(line) and " ".join(line.split()) not in chunk.heading_path]
    if len(own) == len(lines) and sum(map(len, below)) >= SHORT_CHARS:
        return False
    return sum(sum(map(str.isalpha, line)) for line in below) < LEAST_LETTERS


def _properties_passage(row: NoteRow, first: Chunk | None) -> Chunk:
    """Return a passage with a note's properties, one per line. It ends before ``first``, the first passage of
    the note.
    """
    text = lines_of_text(row.properties)
    end = first.start_line - 1 if first is not None else text.count("\n") + 2
    return Chunk(PROPERTIES, (), 2, max(end, 2), text)


def _matching(patterns: Sequence[str], rows: Sequence[NoteRow], ledger: Ledger) -> dict[int, Chunk]:
    """Return a dict from note id to the note's first passage that matches one of the regular expressions.

    If only the properties match, a passage with the properties is returned.
    """
    passages: dict[int, Chunk] = {}
    chunks = ledger.chunks.by_note([row.id for row in rows]) if patterns else {}
    for row in rows if patterns else ():
        properties = _properties_passage(row, next(iter(chunks[row.id]), None))
        for chunk in (*chunks[row.id], properties):
            if any(find(pattern, chunk.text) or find(pattern, chunk.source) for pattern in patterns):
                passages.setdefault(row.id, chunk)
    return passages
