"""Why a note is where it is in the answer to a query, or at which stage it was lost."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np

from vaultseek import limits
from vaultseek.errors import IndexDamaged, Unavailable, WorkerUnavailable
from vaultseek.index.concept_vocabulary import Concept
from vaultseek.index.ledger import Ledger, NoteRow
from vaultseek.indexing.concepts import expanded
from vaultseek.model import JSON, Reason, ReasonCode
from vaultseek.query.fields import from_fields
from vaultseek.query.filters import Filter, all_of, conjuncts
from vaultseek.query.grammar import parse_query
from vaultseek.search.filter import Allowed, allowed
from vaultseek.search.pipeline import SearchedVault, Searcher
from vaultseek.search.request import Request

WHY_DEPTH = 100_000
WHY_DEPTH_SEMANTIC = 500
"""So far down a lane a note's rank is looked for."""

NO_CUT = {"min_confidence": 0.0, "nothing_below": 0.0, "rrf_min_score": 0.0}


async def why(row: NoteRow, request: Request, vault: SearchedVault) -> JSON:
    """What became of the note at ``row`` in this search, with what each stage says of it.

    ``verdict`` is ``found``, ``filtered`` (a condition excludes it), ``no_lane`` (no lane put it forward),
    ``below_limit`` (further down than the answer goes) or ``cut`` (too low a score or confidence).
    Raises what a search raises.
    """
    answer = await Searcher(vault).search(request)
    found = _result(answer, row)
    told: JSON = {"query": request.query, "interpreted": answer["interpreted"], "partial": answer["partial"]}
    told["explain"] = answer.get("explain")
    if found is not None:
        words = f"at rank {found['rank']} of {len(answer['results'])}"
        return {**told, **_verdict("found", words), "result": found}
    conditions = await asyncio.to_thread(_conditions, row, request, vault.ledger)
    told["filters"] = conditions
    failed = [condition["condition"] for condition in conditions if not condition["satisfied"]]
    if failed:
        return {**told, **_verdict("filtered", "excluded by: " + "; ".join(failed))}
    return {**told, **await _lost(row, request, vault, answer)}


async def _lost(row: NoteRow, request: Request, vault: SearchedVault, answer: JSON) -> JSON:
    """Where a note that satisfies every condition was lost."""
    if not answer["interpreted"]["rank_text"]:
        return _verdict("below_limit", f"beyond the first {len(answer['results'])} notes")
    lanes = await _lanes(row, request, vault, answer)
    settings = request.settings.model_copy(update=NO_CUT)
    further = await Searcher(vault).search(replace(request, settings=settings, limit=limits.RESULTS))
    found = _result(further, row)
    if found is None:
        where = "; ".join(_placed(name, lane) for name, lane in lanes.items())
        reason = f"no lane put it among its best {_candidates(answer)}: {where}"
        return {**_verdict("no_lane", reason), "lanes": lanes}
    shown = len(answer["results"])
    if found["rank"] > shown and shown >= (request.limit or request.settings.limit):
        words = f"at rank {found['rank']} with a longer answer; this one ends after {shown}"
        return {**_verdict("below_limit", words), "lanes": lanes, "result": found}
    confidence = found.get("confidence") or 0.0
    if answer.get("nearest"):
        least = request.settings.nothing_below
        words = f"nothing was found: none of the ten best has a confidence of search.nothing_below, {least:g}"
        return {"verdict": "cut", **Reason("nothing_near", words).as_json(), "lanes": lanes, "result": found}
    words = f"score {found['score']:.3g} or confidence {confidence:.3g} is below the least asked for"
    return {"verdict": "cut", **Reason("below_minimum", words).as_json(), "lanes": lanes, "result": found}


def _verdict(verdict: ReasonCode, words: str) -> JSON:
    return {"verdict": verdict, **Reason(verdict, words).as_json()}


def _result(answer: JSON, row: NoteRow) -> JSON | None:
    return next((result for result in answer["results"] if result["path"] == row.path), None)


def _candidates(answer: JSON) -> Any:
    return (answer.get("explain") or {}).get("candidates_per_lane", "candidates")


def _conditions(row: NoteRow, request: Request, ledger: Ledger) -> list[JSON]:
    return [
        {"condition": str(condition), "satisfied": row.id in set(_ids(condition, ledger))}
        for condition in _conjuncts(request)
    ]


def _conjuncts(request: Request) -> Iterator[Filter]:
    now = datetime.now()
    by_text = parse_query(request.query, now=now).filter
    yield from conjuncts(all_of((by_text, from_fields(request.fields, now=now))))


def _ids(condition: Filter, ledger: Ledger) -> list[int]:
    found = allowed(condition, ledger)
    return [] if found is None else found.ids.tolist()


async def _lanes(row: NoteRow, request: Request, vault: SearchedVault, answer: JSON) -> JSON:
    """Rank and score of the note in each lane that was asked, however far down."""
    lanes: JSON = {}
    text = parse_query(request.query).rank_text
    condition = all_of(_conjuncts(request))
    only = await asyncio.to_thread(allowed, condition, vault.ledger)
    if request.mode != "semantic":
        lanes["keyword"] = await asyncio.to_thread(_keyword, row, text, only, vault)
    if request.mode != "keyword":
        lanes["semantic"] = await _semantic(row, _meant(text, answer), only, vault)
    return lanes


def _meant(text: str, answer: JSON) -> str:
    """The text that the semantic lane was asked with."""
    told = (answer.get("explain") or {}).get("expansion", ())
    return expanded(text, [Concept(**concept) for concept in told])


def _keyword(row: NoteRow, text: str, only: Allowed | None, vault: SearchedVault) -> JSON:
    ids = None if only is None else only.ids
    try:
        own = vault.keyword_index.search(text, 1, np.array([row.id], np.int64)).hits
        if not own:
            return _no_rank(Reason("no_match", "it holds none of the words"))
        answer = vault.keyword_index.search(text, WHY_DEPTH, ids)
    except (IndexDamaged, OSError) as error:
        return _no_rank(Reason("index_damaged", str(error)))
    rank = next((at for at, hit in enumerate(answer.hits, start=1) if hit.note == row.id), None)
    return {"rank": rank, "score": own[0].score, "of": answer.found, "matched": list(own[0].matched)}


async def _semantic(row: NoteRow, text: str, only: Allowed | None, vault: SearchedVault) -> JSON:
    reason = vault.semantic_reason()
    if reason is None:
        try:
            alone = Allowed(np.array([row.id], np.int64), ())
            own = await vault.ask_semantic(text, 1, alone)
            answer = await vault.ask_semantic(text, WHY_DEPTH_SEMANTIC, only)
        except (WorkerUnavailable, IndexDamaged, Unavailable) as error:
            reason = Reason.of(error)
        else:
            scores = [score for _, _, score in own.chunks] + [score for _, score in own.notes]
            if not scores:
                return _no_rank(Reason("not_embedded", "it is not embedded yet"))
            order = list(dict.fromkeys(note for _, note, _ in answer.chunks))
            rank = order.index(row.id) + 1 if row.id in order else None
            return {"rank": rank, "score": max(scores), "of": len(order)}
    return _no_rank(reason)


def _no_rank(reason: Reason) -> JSON:
    return {"rank": None, "score": None, **reason.as_json()}


def _placed(name: str, lane: JSON) -> str:
    if lane.get("score") is None:
        return f"{name}: {lane['reason']}"
    rank = f"rank {lane['rank']}" if lane["rank"] else f"beyond rank {lane['of']}"
    return f"{name}: {rank}, score {lane['score']:.3g}"
