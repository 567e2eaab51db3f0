"""Reorder the first results by a cross-encoder, which reads query and passage together."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from vaultseek.base.model import Chunk, Reason
from vaultseek.core.indexing.scoped_vault import SearchedVault
from vaultseek.core.search.passages import choose_passages
from vaultseek.core.search.ranking import Candidate
from vaultseek.core.search.request import ParsedRequest
from vaultseek.core.search.retrieve import LATE, Retrieval
from vaultseek.errors import WorkerUnavailable
from vaultseek.store.ledger import NoteRow


@dataclass(frozen=True, slots=True)
class RerankScore:
    """A note's score by the cross-encoder, in [0, 1], and its 1-based rank before."""

    score: float
    rank_before: int


@dataclass(frozen=True, slots=True)
class Reranking:
    """The results in their new order, scores by path, and the reason if some were not read."""

    results: Sequence[Candidate]
    scores: Mapping[str, RerankScore] = field(default_factory=dict)
    reason: Reason | None = None


def wants_reranking(parsed: ParsedRequest, results: Sequence[Candidate]) -> bool:
    """True if the request enables reranking and there is something to reorder."""
    settings = parsed.request.settings
    return settings.rerank_enabled and len(results[: settings.rerank_top_n]) > 1


async def rerank(
    parsed: ParsedRequest,
    retrieval: Retrieval,
    results: Sequence[Candidate],
    vault: SearchedVault,
) -> Reranking:
    """Reorder the first ``rerank_top_n`` results; results not read in time keep their places."""
    settings = parsed.request.settings
    first, rest = results[: settings.rerank_top_n], results[settings.rerank_top_n :]
    rows = [candidate.about for candidate in first]
    passages = await asyncio.to_thread(choose_passages, rows, retrieval, vault.ledger)
    texts = [pair_text(row, passages.get(row.id)) for row in rows]
    seconds = min(each for each in (settings.rerank_seconds, parsed.seconds) if each is not None)
    try:
        async with asyncio.timeout(parsed.seconds):
            scores = await vault.rerank(parsed.query.rank_text, texts, settings.rerank_model, seconds)
    except TimeoutError:
        return Reranking(results, reason=LATE)
    except WorkerUnavailable as error:
        words = f"the results were not reranked: {error}"
        return Reranking(results, reason=replace(Reason.of(error), text=words))
    by_path = {
        candidate.note: RerankScore(score, position)
        for position, (candidate, score) in enumerate(zip(first, scores, strict=True), start=1)
        if score is not None
    }
    late = None
    if len(by_path) < len(first):
        words = f"only {len(by_path)} of {len(first)} results were reranked in time"
        late = Reason(LATE.code, words) if by_path else LATE
    return Reranking([*reorder(first, scores), *rest], by_path, late)


def pair_text(row: NoteRow, chunk: Chunk | None) -> str:
    """Return the text to read with the query: names, heading path, and the best passage without markup."""
    title = f"{row.title} ({row.other_name})" if row.other_name else row.title
    if chunk is None:
        return title
    parts = (title, " > ".join(chunk.heading_path), chunk.text)
    return "\n".join(part for part in parts if part)


def reorder(first: Sequence[Candidate], scores: Sequence[float | None]) -> list[Candidate]:
    """Sort ``first`` by ``scores``, best first, keeping the order of ties and the places of results without a
    score.

    The fused scores stay with their places, so that they still decrease from 1 down to the remaining results.
    """
    scored = [(position, score) for position, score in enumerate(scores) if score is not None]
    best_first = sorted(scored, key=lambda pair: -pair[1])
    order = list(first)
    for (place, _), (position, _) in zip(scored, best_first, strict=True):
        order[place] = first[position]._replace(score=first[place].score)
    return order
