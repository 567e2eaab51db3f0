"""Rerank the first results with a cross-encoder, which reads query and passage together."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from vaultseek.base.model import Chunk, Reason
from vaultseek.core.search.lanes import Evidence
from vaultseek.core.search.passages import choose_passages
from vaultseek.core.search.ranking import Candidate
from vaultseek.core.search.retrieve import LATE
from vaultseek.errors import WorkerUnavailable
from vaultseek.store.ledger import NoteRow


async def rerank(query: Evidence, results: Sequence[Candidate]) -> tuple[Sequence[Candidate], Reason | None]:
    """Return the results with the first ``rerank_top_n`` reranked.

    Results that were not read in time keep their positions. The second value is the reason, or None if all
    were read.
    """
    parsed, settings = query.parsed, query.settings
    first, rest = results[: settings.rerank_top_n], results[settings.rerank_top_n :]
    rows = [candidate.about for candidate in first]
    passages = await asyncio.to_thread(choose_passages, rows, query.retrieval, query.vault.ledger)
    texts = [pair_text(row, passages.get(row.id)) for row in rows]
    seconds = min(each for each in (settings.rerank_seconds, parsed.seconds) if each is not None)
    try:
        async with asyncio.timeout(parsed.seconds):
            scores = await query.vault.rerank(parsed.query.rank_text, texts, settings.rerank_model, seconds)
    except TimeoutError:
        return results, LATE
    except WorkerUnavailable as error:
        words = f"the results were not reranked: {error}"
        return results, replace(Reason.of(error), text=words)
    read = sum(score is not None for score in scores)
    late = None
    if read < len(first):
        words = f"only {read} of {len(first)} results were reranked in time"
        late = Reason(LATE.code, words) if read else LATE
    return [*reorder(first, scores), *rest], late


def pair_text(row: NoteRow, chunk: Chunk | None) -> str:
    """Return the text that the cross-encoder reads with the query: the note's names, heading path, and best
    passage without markup.
    """
    title = f"{row.title} ({row.other_name})" if row.other_name else row.title
    if chunk is None:
        return title
    parts = (title, " > ".join(chunk.heading_path), chunk.text)
    return "\n".join(part for part in parts if part)


def reorder(first: Sequence[Candidate], scores: Sequence[float | None]) -> list[Candidate]:
    """Sort the candidates ``first`` by ``scores``, best first. Candidates without a score keep their
    positions.

    The fused scores stay in place, so that they still decrease down the list.
    """
    scored = [(position, score) for position, score in enumerate(scores) if score is not None]
    order = list(first)
    for (place, _), (position, score) in zip(scored, sorted(scored, key=lambda pair: -pair[1]), strict=True):
        order[place] = first[position]._replace(score=first[place].score, reranked=(score, position + 1))
    return order
