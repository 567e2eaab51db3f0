"""Choose the passage of each result: the one that both lanes together like best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from vaultseek.index.ledger import Ledger, NoteRow
from vaultseek.model import Chunk
from vaultseek.search.retrieve import Retrieval


def choose_passages(rows: Sequence[NoteRow], retrieval: Retrieval, ledger: Ledger) -> dict[int, Chunk]:
    """Return the best passage of each note, by note id; its first one without any hit."""
    totals: dict[str, float] = {}
    for scores in _passage_scores(retrieval):
        best = max(scores.values(), default=0.0)
        for chunk, score in scores.items():
            totals[chunk] = totals.get(chunk, 0.0) + (score / best if best > 0 else 0.0)
    return {
        id: max(chunks, key=lambda chunk: totals.get(chunk.id, 0.0))
        for id, chunks in ledger.chunks.by_note([row.id for row in rows]).items()
        if chunks
    }


def _passage_scores(retrieval: Retrieval) -> Iterator[Mapping[str, float]]:
    """Scores of passages, by chunk id, of each lane that answered."""
    if retrieval.keyword is not None:
        yield {chunk.id: chunk.score for hit in retrieval.keyword.hits for chunk in hit.chunks}
    if retrieval.semantic is not None:
        yield {chunk: cosine for chunk, _, cosine in retrieval.semantic.chunks}
