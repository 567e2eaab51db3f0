"""Run the steps of a query: parse -> filter -> retrieve -> score -> rank -> select -> rerank -> choose
passages.

Each step is a function from values to a value, in its own module. :meth:`Searcher.run` calls the steps in
order and keeps their results in a :class:`Trace`, from which ``response.py`` builds the answer. Filters are
applied first, using the ledger, and each lane searches only the notes that pass. Lanes rank notes; the
passage to show for each note is chosen afterwards.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from vaultseek.base.model import JSON
from vaultseek.base.threads import FairThreads, Threads
from vaultseek.base.zone import client_zone, zone
from vaultseek.content.query.expression import within
from vaultseek.content.query.filters import (
    Matches,
    patterns_of,
    properties_of,
    property_patterns,
    texts_of,
)
from vaultseek.content.query.syntax import may_have_expressions
from vaultseek.core.indexing.scoped_vault import SearchedVault
from vaultseek.core.search.currency import placed
from vaultseek.core.search.lanes import Evidence, Fusion, score_lanes
from vaultseek.core.search.passages import choose_passages, further_passages
from vaultseek.core.search.ranking import Candidate, rank, rank_listing
from vaultseek.core.search.request import ParsedRequest, SearchRequest, parse_request
from vaultseek.core.search.rerank import rerank
from vaultseek.core.search.response import Trace, respond
from vaultseek.core.search.retrieve import (
    Retrieval,
    ask_keyword,
    ask_semantic,
    combine_lanes,
    wants_semantic,
)
from vaultseek.core.search.selection import certainties_of, falling, opened_before, raised, select_results
from vaultseek.core.search.snippet import Matcher
from vaultseek.store.ledger.filter import FilterResult, filter_notes, is_meant
from vaultseek.store.ledger.titles import own_titles

T = TypeVar("T")
FILTER_THREADS = 3
"""Maximum number of filtered searches that run at the same time, at most one per client. Some filters read
the text of every note and must not delay other searches."""
EXPRESSION_THREADS = 8
"""Maximum number of searches with a regular expression that run at the same time, at most one per client.
These searches take longest."""

_thread = Threads(1, thread_name_prefix="search")
"""Thread for searches without a filter, which take a few milliseconds each.

Python runs one thread at a time: several threads would reduce throughput by a third.
"""
_filter_threads = FairThreads(FILTER_THREADS, thread_name_prefix="filter")
_expression_threads = FairThreads(EXPRESSION_THREADS, thread_name_prefix="expression")


async def parse(request: SearchRequest) -> ParsedRequest:
    """Parse a request, in a separate thread if it may contain regular expressions.

    Raises the errors of `parse_request`.
    """
    if request.plain or not may_have_expressions(request.query):
        return parse_request(request)
    return await asyncio.get_running_loop().run_in_executor(_expression_threads, parse_request, request)


class Searcher:
    """Search engine for one vault.

    Successive steps run in one thread, because switching threads takes longer than many of the steps. A
    search by words enters a thread once. A hybrid search enters one twice, before and after the semantic
    worker answers.
    """

    def __init__(self, vault: SearchedVault) -> None:
        self._vault = vault

    async def search(self, request: SearchRequest | ParsedRequest) -> JSON:
        """Return the answer to a request, in the form that ``search --json`` prints. Raises the errors of
        :meth:`run`.
        """
        began = time.perf_counter()
        return await self._search(request, lambda trace: respond(trace, self._vault.name, began))

    async def run(self, request: SearchRequest | ParsedRequest) -> Trace:
        """Run all steps and return their results. Raises BadQuery, or Unavailable if no lane can answer."""
        return await self._search(request, lambda trace: trace)

    async def _search(self, request: SearchRequest | ParsedRequest, conclude: Callable[[Trace], T]) -> T:
        """Run all steps, then call ``conclude`` with their results in the thread of the last step."""
        clock = _StageClock()
        parsed = request if isinstance(request, ParsedRequest) else await parse(request)
        if parsed.query.doubtful:
            parsed = await in_search_thread(parsed, self._read_pasted, parsed)

        def shown(trace: Trace) -> T:
            return conclude(self._show(trace, clock))

        reranked = parsed.request.settings.rerank_enabled
        if parsed.is_listing or not (wants_semantic(parsed) or reranked):
            step = self._list if parsed.is_listing else self._by_word
            return await in_search_thread(parsed, lambda: shown(step(parsed, clock)))
        query = await self._gather(parsed, clock)
        if not reranked:
            return await in_search_thread(parsed, lambda: shown(self._rank(query, clock)))
        trace = await in_search_thread(parsed, self._rank, query, clock)
        return await in_search_thread(parsed, shown, await self._rerank(trace, clock))

    def _read_pasted(self, parsed: ParsedRequest) -> ParsedRequest:
        """Read terms of a pasted text as words: ``[ERROR]`` if no note has that property, ``.csv`` if no file
        has that extension, and ``tar -xzf`` if a note contains it.

        A query with only filters keeps its properties and extensions, because the answer to a misspelt name
        suggests a similar one.
        """
        doubtful, ledger = parsed.query.doubtful, self._vault.ledger
        unknown = {
            term
            for term, condition in doubtful
            if isinstance(condition, Matches) or not parsed.is_listing
            if not is_meant(term, condition, ledger)
        }
        return parsed.reading(unknown) if unknown else parsed

    def _list(self, parsed: ParsedRequest, clock: _StageClock) -> Trace:
        filtered, state = self._filter(parsed, clock), self._vault.index_state()
        query = Evidence(parsed, Retrieval(), Fusion(), filtered, self._vault, state)
        ranking = rank_listing(query)
        return Trace(query, ranking, ranking.candidates)

    def _by_word(self, parsed: ParsedRequest, clock: _StageClock) -> Trace:
        filtered = self._filter(parsed, clock)
        keyword = ask_keyword(parsed, None if filtered is None else filtered.ids, self._vault)
        return self._rank(self._score(parsed, filtered, combine_lanes(keyword, Retrieval()), clock), clock)

    async def _gather(self, parsed: ParsedRequest, clock: _StageClock) -> Evidence:
        """Query both lanes at the same time and score their answers."""
        filtered = None
        if parsed.query.filter is not None:
            filtered = await in_search_thread(parsed, self._filter, parsed, clock)
        ids = None if filtered is None else filtered.ids
        semantic, keyword = await asyncio.gather(
            ask_semantic(parsed, ids, self._vault),
            in_search_thread(parsed, ask_keyword, parsed, ids, self._vault),
        )
        return self._score(parsed, filtered, combine_lanes(keyword, semantic), clock)

    def _filter(self, parsed: ParsedRequest, clock: _StageClock) -> FilterResult | None:
        with clock.stage("filter"):
            return filter_notes(parsed.query.filter, self._vault.ledger)

    def _score(
        self, parsed: ParsedRequest, filtered: FilterResult | None, retrieval: Retrieval, clock: _StageClock
    ) -> Evidence:
        clock.milliseconds.update(retrieval.milliseconds)
        ledger, state = self._vault.ledger, self._vault.index_state()
        population = state["notes"] if filtered is None else len(filtered.ids)
        fusion = score_lanes(parsed, retrieval, population, ledger.paths_of, ledger.languages())
        return Evidence(parsed, retrieval, fusion, filtered, self._vault, state)

    def _rank(self, query: Evidence, clock: _StageClock) -> Trace:
        with clock.stage("fuse"):
            ranking = rank(query)
            results, nearest, weak = select_results(query, ranking, query.index_state)
            certainties = certainties_of(results, ranking, weak=weak)
            results = raised(results, opened_before(query))
        partial = {**query.retrieval.partial, **ranking.partial}
        return Trace(query, ranking, results, nearest, weak, partial, certainties)

    async def _rerank(self, trace: Trace, clock: _StageClock) -> Trace:
        if len(trace.results[: trace.query.settings.rerank_top_n]) < 2:
            return trace
        with clock.stage("rerank"):
            results, reason = await rerank(trace.query, trace.results)
        if any(each.reranked for each in results):
            certainties = certainties_of(results, trace.ranking, weak=trace.weak)
            trace = replace(trace, results=results, certainties=certainties)
        return trace if reason is None else replace(trace, partial={**trace.partial, "rerank": reason})

    def _show(self, trace: Trace, clock: _StageClock) -> Trace:
        """Limit the number of results, and choose the passages to show."""
        query, ledger, span_finder = trace.query, self._vault.ledger, self._vault.keyword_index.span_finder
        parsed, retrieval, condition = query.parsed, query.retrieval, query.parsed.query.filter
        ordered, currencies = placed(trace.results, query)
        results = ordered[: parsed.limit]
        rows = [candidate.about for candidate in results[: parsed.previews]]
        text, patterns, properties = parsed.query.rank_text, patterns_of(condition), properties_of(condition)
        if not parsed.is_listing:
            properties = ()
        elif text := " ".join(texts_of(condition)):
            shown = np.array(sorted(row.id for row in rows), np.int64)
            retrieval = ask_keyword(parsed.ranked_by(text), shown, self._vault)
        with clock.stage("passages"):
            matcher = Matcher.of(
                text if retrieval.keyword is None else retrieval.keyword, span_finder, patterns
            )
            named = {each.about.id for each in results[: parsed.previews] if _is_subject(each, matcher)}
            passages = choose_passages(rows, retrieval, ledger, patterns, properties, named)
            more = parsed.request.passages - 1
            further = further_passages(passages, more, query.retrieval, ledger) if more else {}
        if parsed.is_listing:
            patterns += property_patterns(condition)
        shown_chunks = [*passages.values(), *(each for others in further.values() for each in others)]
        return replace(
            trace,
            results=results,
            # A successor is as certain as the notes below it, even if the limit cuts those notes off.
            certainties=falling(trace.certainties, ordered),
            milliseconds=dict(clock.milliseconds),
            passages=passages,
            further=further,
            matcher=matcher if patterns == matcher.patterns else replace(matcher, patterns=patterns),
            named=named,
            shared=ledger.shared_lines(each.text for each in shown_chunks),
            currencies=currencies,
            titles=own_titles(rows, ledger),
        )


def _is_subject(candidate: Candidate, matcher: Matcher) -> bool:
    """Return whether the query only names the note, so that a passage repeating the name would show nothing
    new.
    """
    row = candidate.about
    return candidate.is_named or matcher.all_in(" ".join(row.names), row.language)


async def in_search_thread(parsed: ParsedRequest, step: Callable[..., T], *arguments: Any) -> T:
    """Run a search step in a thread for this kind of search, under the request's time limit for regular
    expressions.
    """

    def work() -> T:
        client_zone.set(zone())  # set in this thread's context, so that the time zone is read only once
        with contextlib.nullcontext() if parsed.expressions is None else within(parsed.expressions):
            return step(*arguments)

    threads = _thread if parsed.query.filter is None else _filter_threads
    if parsed.expressions is not None:
        threads = _expression_threads
    return await asyncio.get_running_loop().run_in_executor(threads, work)


class _StageClock:
    """Clock that records the milliseconds spent in each stage of one search."""

    def __init__(self) -> None:
        self.milliseconds: dict[str, float] = {}

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self.milliseconds[name] = (time.perf_counter() - began) * 1000
