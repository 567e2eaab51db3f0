"""The steps of a query: parse -> filter -> retrieve -> score -> rank -> select -> rerank -> choose passages.

Each step is a function from values to a value in a module of its own. :meth:`Searcher.run` calls them in
order and keeps their results in a :class:`Trace`, from which ``response.py`` makes the answer. Filters are
applied first, from the ledger, and each lane searches only the notes that pass. Lanes rank notes; the passage
of each note is chosen afterwards.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from vaultseek.base import limits
from vaultseek.base.model import JSON
from vaultseek.base.threads import FairThreads, Threads
from vaultseek.base.when import present
from vaultseek.content.query.expression import within
from vaultseek.content.query.filters import patterns_of, properties_of, property_patterns, texts_of
from vaultseek.content.query.syntax import may_have_expressions
from vaultseek.core.indexing.scoped_vault import SearchedVault
from vaultseek.core.search.currency import currency_of, placed
from vaultseek.core.search.lanes import Evidence, score_lanes
from vaultseek.core.search.matching import substitutes
from vaultseek.core.search.passages import (
    choose_passages,
    further_passages,
    passages_matching,
    passages_of_properties,
)
from vaultseek.core.search.ranking import Candidate, Ranking, rank, rank_listing
from vaultseek.core.search.request import ParsedRequest, SearchRequest, parse_request
from vaultseek.core.search.rerank import Reranking, rerank, wants_reranking
from vaultseek.core.search.response import Trace, respond
from vaultseek.core.search.retrieve import (
    Retrieval,
    ask_keyword,
    ask_semantic,
    combine_lanes,
    wants_semantic,
)
from vaultseek.core.search.selection import Selection, certainties_of, opened_before, raised, select_results
from vaultseek.core.search.snippet import ExpressionMatcher, Matcher, TermMatcher, boilerplate
from vaultseek.semantic.vectors.port import NoteIds
from vaultseek.store.keyword.spans import SpanFinder
from vaultseek.store.ledger.filter import FilterResult, filter_notes, knows
from vaultseek.store.ledger.titles import own_titles

T = TypeVar("T")
FILTER_THREADS = 3
"""Maximum simultaneous searches with a filter, of as many clients. Some filters read the text of every note
and must not delay other searches."""
EXPRESSION_THREADS = 8
"""Maximum simultaneous searches with a regular expression, which take longest, of as many clients."""

_thread = Threads(1, thread_name_prefix="search")
"""The thread of searches without a filter, which take a few milliseconds each. Python runs one thread at a
time; with several threads, throughput is a third lower."""
_filter_threads = FairThreads(FILTER_THREADS, thread_name_prefix="filter")
_expression_threads = FairThreads(EXPRESSION_THREADS, thread_name_prefix="expression")


@dataclass(frozen=True, slots=True)
class _Selected:
    """The results of ranking and selection; notes that were opened before are raised.

    ``evidence`` is the input of the ranking, after the filter.
    """

    filtered: FilterResult | None
    evidence: Evidence
    ranking: Ranking
    selection: Selection
    results: Sequence[Candidate]
    index_state: JSON


async def parse(request: SearchRequest) -> ParsedRequest:
    """Parse a request, in a thread if it may have regular expressions. Raises as `parse_request`."""
    if request.plain or not may_have_expressions(request.query):
        return parse_request(request)
    return await asyncio.get_running_loop().run_in_executor(_expression_threads, parse_request, request)


class Searcher:
    """Answers searches in one vault.

    Successive steps run in one thread, because switching threads takes longer than many a step. A search by
    word enters a thread once, a hybrid search twice, with the semantic worker in between.
    """

    def __init__(self, vault: SearchedVault) -> None:
        self._vault = vault

    async def search(self, request: SearchRequest | ParsedRequest) -> JSON:
        """Answer in the form that ``search --json`` prints. Raises what :meth:`run` raises."""
        began = time.perf_counter()
        return await self._search(request, lambda trace: respond(trace, self._vault.name, began))

    async def run(self, request: SearchRequest | ParsedRequest) -> Trace:
        """Search, and return the results of all steps.

        Raises BadQuery for an invalid query, Unavailable if no lane can answer.
        """
        return await self._search(request, lambda trace: trace)

    async def _search(self, request: SearchRequest | ParsedRequest, conclude: Callable[[Trace], T]) -> T:
        """Run all steps, and ``conclude`` in the thread of the last step."""
        clock = _StageClock()
        parsed = request if isinstance(request, ParsedRequest) else await parse(request)
        if parsed.query.doubtful:
            parsed = await in_search_thread(parsed, self._read_pasted, parsed)
        if parsed.is_listing:
            return await in_search_thread(parsed, lambda: conclude(self._list(parsed, clock)))
        reranked = parsed.request.settings.rerank_enabled
        if not (wants_semantic(parsed) or reranked):
            return await in_search_thread(parsed, lambda: conclude(self._by_word(parsed, clock)))
        filtered, evidence = await self._gather(parsed, clock)
        if not reranked:
            return await in_search_thread(
                parsed, lambda: conclude(self._trace(self._rank(filtered, evidence, clock), None, clock))
            )
        selected = await in_search_thread(parsed, self._rank, filtered, evidence, clock)
        reranking = await self._rerank(selected, clock)
        return await in_search_thread(parsed, lambda: conclude(self._trace(selected, reranking, clock)))

    def _read_pasted(self, parsed: ParsedRequest) -> ParsedRequest:
        """Read ``[ERROR]`` and ``.csv`` as words if no note has that property, or no file that extension.

        A query with only filters keeps them as filters; a misspelt name gets an answer with a similar name.
        """
        if parsed.is_listing:
            return parsed
        ledger = self._vault.ledger
        unknown = {term for term, condition in parsed.query.doubtful if not knows(condition, ledger)}
        return parsed.reading(unknown) if unknown else parsed

    def _list(self, parsed: ParsedRequest, clock: _StageClock) -> Trace:
        ledger = self._vault.ledger
        filtered = self._filter(parsed, clock)
        ranking = rank_listing(parsed, _ids(filtered), ledger)
        rows = ranking.notes.notes[: parsed.previews]
        condition = parsed.query.filter
        patterns = patterns_of(condition)
        matching, matcher = Retrieval(), None
        if texts := texts_of(condition):
            shown = parsed.ranked_by(" ".join(texts))
            matching = ask_keyword(shown, np.array(sorted(row.id for row in rows), np.int64), self._vault)
            matcher = _terms(shown, matching, self._vault.keyword_index.span_finder)
        with clock.stage("passages"):
            passages = choose_passages(rows, matching, ledger)
            passages |= passages_of_properties(properties_of(condition), rows, passages)
            passages |= passages_matching(patterns, rows, ledger)
        patterns += property_patterns(condition)
        return Trace(
            parsed,
            filtered,
            ranking,
            ranking.candidates,
            self._vault.index_state(),
            passages=passages,
            milliseconds=dict(clock.milliseconds),
            matcher=ExpressionMatcher(patterns, matcher) if patterns else matcher,
            shared=boilerplate(ledger),
            currencies=currency_of(
                ranking.notes.notes[: limits.RESULTS],
                ledger,
                parsed.request.settings.currency.rules,
                present().date().isoformat(),
            ),
            titles=own_titles(rows, ledger),
        )

    def _by_word(self, parsed: ParsedRequest, clock: _StageClock) -> Trace:
        filtered = self._filter(parsed, clock)
        keyword = ask_keyword(parsed, _ids(filtered), self._vault)
        evidence = self._score(parsed, filtered, keyword, Retrieval(), clock)
        return self._trace(self._rank(filtered, evidence, clock), None, clock)

    async def _gather(
        self, parsed: ParsedRequest, clock: _StageClock
    ) -> tuple[FilterResult | None, Evidence]:
        """Query both lanes at the same time and score their answers."""
        filtered = None
        if parsed.query.filter is not None:
            filtered = await in_search_thread(parsed, self._filter, parsed, clock)
        ids = _ids(filtered)
        semantic, keyword = await asyncio.gather(
            ask_semantic(parsed, ids, self._vault),
            in_search_thread(parsed, ask_keyword, parsed, ids, self._vault),
        )
        return filtered, self._score(parsed, filtered, keyword, semantic, clock)

    def _filter(self, parsed: ParsedRequest, clock: _StageClock) -> FilterResult | None:
        with clock.stage("filter"):
            return filter_notes(parsed.query.filter, self._vault.ledger)

    def _score(
        self,
        parsed: ParsedRequest,
        filtered: FilterResult | None,
        keyword: Retrieval,
        semantic: Retrieval,
        clock: _StageClock,
    ) -> Evidence:
        retrieval = combine_lanes(keyword, semantic)
        clock.milliseconds.update(retrieval.milliseconds)
        ledger = self._vault.ledger
        population = ledger.counts().notes if filtered is None else len(filtered.ids)
        lanes = score_lanes(parsed, retrieval, population, ledger.paths_of, ledger.languages())
        return Evidence(parsed, retrieval, lanes, _ids(filtered), self._vault)

    def _rank(self, filtered: FilterResult | None, evidence: Evidence, clock: _StageClock) -> _Selected:
        vault, parsed = self._vault, evidence.parsed
        with clock.stage("fuse"):
            ranking = rank(evidence)
            index_state = vault.index_state()
            selection = select_results(parsed, evidence.retrieval, ranking, evidence.allowed, index_state)
            opened = opened_before(parsed, evidence.retrieval, vault.ledger)
        results = raised(selection.results, opened)
        return _Selected(filtered, evidence, ranking, selection, results, index_state)

    async def _rerank(self, selected: _Selected, clock: _StageClock) -> Reranking:
        parsed, results = selected.evidence.parsed, selected.results
        if not wants_reranking(parsed, results):
            return Reranking(results)
        with clock.stage("rerank"):
            return await rerank(parsed, selected.evidence.retrieval, results, self._vault)

    def _trace(self, selected: _Selected, reranking: Reranking | None, clock: _StageClock) -> Trace:
        evidence = selected.evidence
        parsed, retrieval = evidence.parsed, evidence.retrieval
        ranking, selection = selected.ranking, selected.selection
        reranking = reranking or Reranking(selected.results)
        ordered, currencies = placed(reranking.results, evidence)
        results = ordered[: parsed.limit]
        judged = reranking.results if reranking.scores else selection.results
        shown = [candidate.about for candidate in results]
        rows = shown[: parsed.previews]
        span_finder = self._vault.keyword_index.span_finder
        with clock.stage("passages"):
            passages = choose_passages(rows, retrieval, self._vault.ledger)
            passages |= passages_matching(patterns_of(parsed.query.filter), rows, self._vault.ledger)
            more = parsed.request.passages - 1
            further = further_passages(passages, more, retrieval, self._vault.ledger) if more else {}
        not_reranked = {} if reranking.reason is None else {"rerank": reranking.reason}
        return Trace(
            parsed,
            selected.filtered,
            ranking,
            results,
            selected.index_state,
            retrieval=retrieval,
            lanes=evidence.lanes,
            nearest=selection.nearest,
            reranked=reranking.scores,
            passages=passages,
            further=further,
            partial={**retrieval.partial, **ranking.partial, **not_reranked},
            milliseconds=dict(clock.milliseconds),
            matcher=_matcher(parsed, retrieval, span_finder),
            shared=boilerplate(self._vault.ledger),
            # A successor is as certain as the notes that it precedes, even if the limit cuts these off.
            certainties=certainties_of(judged, ordered, ranking, weak=selection.weak),
            weak=selection.weak,
            currencies=currencies,
            titles=own_titles(rows, self._vault.ledger),
            substitutes=substitutes(retrieval.keyword, shown, passages, span_finder),
        )


async def in_search_thread(parsed: ParsedRequest, step: Callable[..., T], *arguments: Any) -> T:
    """Run a step of a search in a thread for searches of its kind, within the time for its expressions."""

    def work() -> T:
        with contextlib.nullcontext() if parsed.expressions is None else within(parsed.expressions):
            return step(*arguments)

    threads = _thread if parsed.query.filter is None else _filter_threads
    if parsed.expressions is not None:
        threads = _expression_threads
    return await asyncio.get_running_loop().run_in_executor(threads, work)


def _terms(parsed: ParsedRequest, retrieval: Retrieval, span_finder: SpanFinder) -> TermMatcher:
    if retrieval.keyword is None:
        return TermMatcher.of_query(parsed.query.rank_text, span_finder)
    return TermMatcher.of_answer(retrieval.keyword, span_finder)


def _matcher(parsed: ParsedRequest, retrieval: Retrieval, span_finder: SpanFinder) -> Matcher:
    terms = _terms(parsed, retrieval, span_finder)
    patterns = patterns_of(parsed.query.filter)
    return ExpressionMatcher(patterns, terms) if patterns else terms


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
