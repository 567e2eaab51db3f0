"""Explain a note's rank for a query, or the stage at which the note was dropped.

The search runs once, and the explanation is read from its trace. A lane is searched again, more deeply, only
if the note ranks below the results that the search requested.
"""

import asyncio
from dataclasses import replace

import numpy as np

from vaultseek.base import limits
from vaultseek.base.model import JSON, Reason, ReasonCode
from vaultseek.content.query.filters import conjuncts
from vaultseek.core.indexing.scoped_vault import SearchedVault
from vaultseek.core.search.lanes import keyword_lane, semantic_lane
from vaultseek.core.search.passages import choose_passages
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.ranking import Candidate, rank
from vaultseek.core.search.request import SearchRequest
from vaultseek.core.search.response import Trace, explanation, head, result
from vaultseek.core.search.retrieve import expanded_text
from vaultseek.errors import IndexDamaged, Unavailable
from vaultseek.store.ledger import Ledger, NoteRow
from vaultseek.store.ledger.filter import filter_notes

WHY_DEPTH = 100_000
"""Number of keyword results in which a note is looked up to determine its rank."""
BY_WORD_ONLY = Reason("not_searched", "a query that consists of identifiers is searched by word only")


async def why(row: NoteRow, request: SearchRequest, vault: SearchedVault) -> JSON:
    """Return the search's verdict on the note ``row``, with the reason and the result of each stage.

    ``verdict`` is ``found``, ``filtered`` (a condition excludes the note), ``no_lane`` (no lane proposed it),
    ``below_limit`` (it ranked below the end of the answer) or ``cut`` (its score or confidence is too low).
    Raises the same errors as a search.
    """
    trace = await Searcher(vault).run(request)
    answer: JSON = {"query": request.query, **head(trace), "explain": explanation(trace)}
    for place, candidate in enumerate(trace.results, start=1):
        if candidate.note == row.path:
            passage = trace.passages.get(row.id)
            reason = f"at rank {place} of {len(trace.results)}"
            placed = await asyncio.to_thread(result, place, candidate, trace, passage)
            return {**answer, **_verdict("found", reason), "result": placed}
    conditions = await asyncio.to_thread(_conditions, row, trace, vault.ledger)
    answer["filters"] = conditions
    failed = [condition["condition"] for condition in conditions if not condition["satisfied"]]
    if failed:
        return {**answer, **_verdict("filtered", "excluded by: " + "; ".join(failed))}
    if trace.query.parsed.is_listing:
        reason = f"beyond the first {len(trace.results)} notes"
        return {**answer, **_verdict("below_limit", reason)}
    return {**answer, **await _lost(row, trace, vault)}


async def _lost(row: NoteRow, trace: Trace, vault: SearchedVault) -> JSON:
    keyword, semantic = await asyncio.gather(_keyword(row, trace, vault), _semantic(row, trace, vault))
    places = {name: each for name, each in (("keyword", keyword), ("semantic", semantic)) if each}
    uncut = await asyncio.to_thread(_uncut, trace)
    place = next((place for place, each in enumerate(uncut.results, start=1) if each.note == row.path), None)
    if place is None:
        where = "; ".join(_placed(name, each) for name, each in places.items())
        reason = f"the note is not in the top {trace.query.parsed.depth} of any kind of search: {where}"
        return {**_verdict("no_lane", reason), "lanes": places}
    candidate = uncut.results[place - 1]
    passages = await asyncio.to_thread(choose_passages, [row], trace.query.retrieval, vault.ledger)
    placed = await asyncio.to_thread(result, place, candidate, uncut, passages.get(row.id))
    return {**_cut(place, candidate, uncut, trace), "lanes": places, "result": placed}


def _uncut(trace: Trace) -> Trace:
    parsed = replace(trace.query.parsed, limit=2 * limits.RESULTS)
    fusion = replace(trace.query.fusion, depth=parsed.depth)
    ranking = rank(replace(trace.query, parsed=parsed, fusion=fusion))
    return replace(trace, ranking=ranking, results=ranking.candidates)


def _cut(place: int, candidate: Candidate, uncut: Trace, trace: Trace) -> JSON:
    count = len(trace.results)
    if place > count and count >= trace.query.parsed.limit:
        return _verdict("below_limit", f"at rank {place}, but the results end after {count}")
    if not uncut.ranking.notes.eligible[candidate.row]:
        wanted = " or ".join(trace.query.parsed.profile.identifiers)
        words = f"the note does not contain {wanted}, and the query has no other words"
        return {"verdict": "cut", **Reason("no_match", words).as_json()}
    if trace.nearest is not None:
        least = trace.query.parsed.request.settings.nothing_below
        words = f"nothing was found: none of the ten best notes reaches search.nothing_below ({least:g})"
        return {"verdict": "cut", **Reason("nothing_near", words).as_json()}
    words = f"score {candidate.score:.3g} or confidence {candidate.confidence:.3g} is below the minimum"
    return {"verdict": "cut", **Reason("below_minimum", words).as_json()}


def _verdict(verdict: ReasonCode, words: str) -> JSON:
    return {"verdict": verdict, **Reason(verdict, words).as_json()}


def _conditions(row: NoteRow, trace: Trace, ledger: Ledger) -> list[JSON]:
    return [
        {
            "condition": str(condition),
            "satisfied": (found := filter_notes(condition, ledger)) is not None and row.id in found.ids,
        }
        for condition in conjuncts(trace.query.parsed.query.filter)
    ]


async def _keyword(row: NoteRow, trace: Trace, vault: SearchedVault) -> JSON | None:
    answer = trace.query.retrieval.keyword
    if answer is None:
        return _absent(trace, "keyword")
    if row.id not in answer.rows and len(answer) < answer.total:
        text, continued = trace.query.parsed.query.rank_text, trace.query.retrieval.continued
        try:
            answer = await asyncio.to_thread(
                vault.keyword_index.search, text, WHY_DEPTH, trace.query.allowed, unfinished=continued
            )
        except (IndexDamaged, OSError) as error:
            return _no_rank(Reason("index_damaged", str(error)))
    if row.id not in answer.rows:
        return _no_rank(Reason("no_match", "the note contains none of the words"))
    return {
        "rank": keyword_lane(answer, len(answer)).notes.tolist().index(row.id) + 1,
        "score": float(answer.columns.scores[answer.rows[row.id]]),
        "of": answer.total,
        "matched": list(answer.matched(row.id)),
    }


async def _semantic(row: NoteRow, trace: Trace, vault: SearchedVault) -> JSON | None:
    answer = trace.query.retrieval.semantic
    if answer is None and (trace.query.parsed.request.mode == "keyword" or "semantic" in trace.partial):
        return _absent(trace, "semantic")
    text = expanded_text(trace.query.parsed.query.rank_text, trace.query.retrieval.concepts)
    lane, unsearched = trace.query.fusion.named("semantic"), {}
    try:
        if answer is None:
            # The search did not use this lane, but the lane's result is still of interest.
            unsearched = BY_WORD_ONLY.as_json()
            answer = await vault.spaces.ask(text, trace.query.parsed.depth, trace.query.allowed)
            lane = semantic_lane(answer)
        order = lane.notes.tolist()
        place = order.index(row.id) + 1 if row.id in order else None
        if place is None:
            answer = await vault.spaces.ask(text, 1, np.array([row.id], np.int64))
    except (Unavailable, IndexDamaged) as error:
        return _no_rank(Reason.of(error))
    cosines = answer.passage_scores[answer.passage_notes == row.id].tolist()
    cosines += answer.note_scores[answer.note_ids == row.id].tolist()
    if not cosines:
        return _no_rank(Reason("not_embedded", "the note is not embedded yet"))
    return {"rank": place, "score": max(cosines), "of": len(order), **unsearched}


def _absent(trace: Trace, lane: str) -> JSON | None:
    if trace.query.parsed.request.mode not in ("hybrid", lane):
        return None
    return _no_rank(trace.partial[lane])


def _no_rank(reason: Reason) -> JSON:
    return {"rank": None, "score": None, **reason.as_json()}


def _placed(name: str, place: JSON) -> str:
    if "reason" in place:
        return f"{name}: {place['reason']}"
    rank = f"rank {place['rank']}" if place["rank"] else f"beyond rank {place['of']}"
    return f"{name}: {rank}, score {place['score']:.3g}"
