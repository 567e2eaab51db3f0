"""The way of a query: parse -> filter -> retrieve -> score -> rank -> select -> rerank -> choose passages.

Each step is a function from values to a value in a module of its own; :meth:`Searcher.run` calls them in
order and keeps what they return in a :class:`Trace`, from which ``response.py`` makes the answer. Filters are
decided first, from the ledger, and every lane sees only the notes that are left. Lanes rank notes; the
passage of each note is chosen afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from vaultseek.errors import IndexDamaged, WorkerUnavailable
from vaultseek.index.keyword.spans import SpanFinder
from vaultseek.index.vectors.port import NoteIds
from vaultseek.model import JSON
from vaultseek.search import formula
from vaultseek.search.filter import FilterResult, filter_notes
from vaultseek.search.port import SearchedVault
from vaultseek.search.ranking import rank, rank_listing, select_results
from vaultseek.search.request import ParsedRequest, SearchRequest, parse_request
from vaultseek.search.rerank import Reranking, rerank, wants_reranking
from vaultseek.search.response import respond
from vaultseek.search.retrieve import Retrieval, choose_passages, retrieve
from vaultseek.search.scoring import ScoredLanes, score_lanes
from vaultseek.search.snippet import TermMatcher
from vaultseek.search.trace import Trace

T = TypeVar("T")


class Searcher:
    """Answers searches in one vault."""

    def __init__(self, vault: SearchedVault) -> None:
        self._vault = vault

    async def search(self, request: SearchRequest) -> JSON:
        """Answer in the form that ``search --json`` prints. Raises what :meth:`run` raises."""
        began = time.perf_counter()
        return await self.respond(await self.run(request), began)

    async def run(self, request: SearchRequest) -> Trace:
        """Search, and return what every step came to.

        Raises BadQuery for a query that cannot be asked, Unavailable if no lane can answer.
        """
        clock = _StageClock()
        parsed = parse_request(request)
        filtered = await clock.in_thread("filter", filter_notes, parsed.query.filter, self._vault.ledger)
        if parsed.is_listing:
            return await self._run_listing(parsed, filtered, clock)
        return await self._run_ranked(parsed, filtered, clock)

    async def respond(self, trace: Trace, began: float) -> JSON:
        """Make the answer of a search that ``began`` at this time of ``time.perf_counter``."""
        return await asyncio.to_thread(respond, trace, self._vault.name, began)

    async def _run_listing(
        self, parsed: ParsedRequest, filtered: FilterResult | None, clock: _StageClock
    ) -> Trace:
        ledger = self._vault.ledger
        ranking = await asyncio.to_thread(rank_listing, parsed, _ids(filtered), ledger)
        rows = [ranking.notes[candidate.note] for candidate in ranking.candidates[: parsed.previews]]
        passages = await clock.in_thread("passages", choose_passages, rows, Retrieval(), ledger)
        return Trace(
            parsed,
            filtered,
            ranking,
            ranking.candidates,
            self._vault.index_state(),
            passages=passages,
            milliseconds=dict(clock.milliseconds),
        )

    async def _run_ranked(
        self, parsed: ParsedRequest, filtered: FilterResult | None, clock: _StageClock
    ) -> Trace:
        vault, ids = self._vault, _ids(filtered)
        retrieval = await retrieve(parsed, ids, vault)
        clock.milliseconds.update(retrieval.milliseconds)
        population = vault.ledger.counts().notes if ids is None else len(ids)
        lanes = score_lanes(parsed, retrieval, population)
        vectors = await self._best_vectors(parsed, retrieval, lanes, clock)
        ranking = await clock.in_thread(
            "fuse", rank, parsed, retrieval, lanes, vectors, ids, vault.ledger, vault.graph
        )
        index_state = vault.index_state()
        selection = select_results(parsed, retrieval, ranking, ids, index_state)
        reranking = Reranking(selection.results)
        if wants_reranking(parsed, selection.results):
            with clock.stage("rerank"):
                reranking = await rerank(parsed, retrieval, selection.results, ranking.notes, vault)
        results = reranking.results[: parsed.limit]
        rows = [ranking.notes[candidate.note] for candidate in results[: parsed.previews]]
        passages = await clock.in_thread("passages", choose_passages, rows, retrieval, vault.ledger)
        not_reranked = {} if reranking.reason is None else {"rerank": reranking.reason}
        return Trace(
            parsed,
            filtered,
            ranking,
            results,
            index_state,
            retrieval=retrieval,
            lanes=lanes,
            vectors=vectors,
            nearest=selection.nearest,
            reranked=reranking.scores,
            passages=passages,
            partial={**retrieval.partial, **ranking.partial, **not_reranked},
            milliseconds=dict(clock.milliseconds),
            matcher=_matcher(parsed, retrieval, vault.keyword_index.span_finder),
        )

    async def _best_vectors(
        self, parsed: ParsedRequest, retrieval: Retrieval, lanes: ScoredLanes, clock: _StageClock
    ) -> Mapping[int, Any]:
        """Return the unit vectors of the best notes, for regularization; there is a ranking without them as
        well."""
        settings = parsed.request.settings
        textbook = settings.fusion == "rrf" and settings.rrf_ranks == "integer"
        if not settings.company or textbook or retrieval.keyword is None or retrieval.semantic is None:
            return {}
        best = {
            *lanes.keyword.first(formula.REGULARIZED_NOTES),
            *lanes.semantic.first(formula.REGULARIZED_NOTES),
        }
        with clock.stage("company"), contextlib.suppress(WorkerUnavailable, IndexDamaged, TimeoutError):
            async with asyncio.timeout(parsed.request.seconds):
                return await self._vault.note_vectors(sorted(best))
        return {}


def _matcher(parsed: ParsedRequest, retrieval: Retrieval, span_finder: SpanFinder) -> TermMatcher:
    if retrieval.keyword is None:
        return TermMatcher.of_query(parsed.query.rank_text, span_finder)
    return TermMatcher.of_answer(retrieval.keyword, span_finder)


def _ids(filtered: FilterResult | None) -> NoteIds | None:
    return None if filtered is None else filtered.ids


class _StageClock:
    """Milliseconds spent in each stage of one search."""

    def __init__(self) -> None:
        self.milliseconds: dict[str, float] = {}

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self.milliseconds[name] = (time.perf_counter() - began) * 1000

    async def in_thread(self, name: str, step: Callable[..., T], *arguments: Any) -> T:
        with self.stage(name):
            return await asyncio.to_thread(step, *arguments)
