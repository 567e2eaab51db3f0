"""Run all queries with every variant, and compute the metrics of the results."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from vaultseek.base import limits, paths
from vaultseek.base.text import fold
from vaultseek.content.languages.stopwords import STOP_WORDS
from vaultseek.content.query.fields import from_fields
from vaultseek.core.graph.vault_structure import VaultStructure
from vaultseek.core.indexing.open_vault import OpenVault
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.core.search.response import Trace, respond
from vaultseek.core.search.selection import strongest_confidence
from vaultseek.errors import BadQuery, Unavailable, UsageError
from vaultseek.store.ledger import Ledger
from vaultseek.store.ledger.filter import filter_notes
from vaultseek.tools.evaluate.judgements import ALL, JudgedQuery, missing_notes
from vaultseek.tools.evaluate.metrics import (
    METRICS,
    Difference,
    Interval,
    Refusal,
    bootstrap_interval,
    compute_metrics,
    keyboard_noise,
    latency_percentiles,
    paired_difference,
    refusals,
)
from vaultseek.tools.evaluate.variants import Variant, overrides

OnQuery = Callable[[str, int, int], None]
"""Progress callback, called with the variant's name, the number of finished queries and the number of all
queries."""
_INVALID = "refused"
CLUSTERS = 10
"""Maximum number of clusters from the link graph in a report; the largest are included."""


@dataclass(frozen=True, slots=True)
class QueryResult:
    """Results of one query: paths (best first), the top result's confidence in [0, 1], and the duration.

    ``partial`` lists the kinds of search that were left out. ``strongest`` is the best confidence, in [0, 1],
    among the notes that decide whether anything is found; a threshold above it refuses the query. It is None
    if the query is never refused.
    """

    paths: tuple[str, ...]
    confidence: float | None
    milliseconds: float
    partial: tuple[str, ...] = ()
    strongest: float | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The metrics of one variant.

    ``metrics`` maps category (including ``all``) and metric to the mean over queries; ``per_query`` maps
    metric and query id to the value; ``differences`` maps metric to the difference between the first variant
    and this one. ``confidence`` maps category to the mean confidence of the top result, where a query without
    results counts as 0; ``empty_share`` maps category to the share of queries without results. ``refused``
    lists the ids of invalid queries, ``partial`` the kinds of search that were left out for some queries.
    """

    name: str
    metrics: Mapping[str, Mapping[str, Interval]]
    per_query: Mapping[str, Mapping[str, float]]
    differences: Mapping[str, Difference]
    p50_ms: float
    p95_ms: float
    confidence: Mapping[str, float] = field(default_factory=dict)
    empty_share: Mapping[str, float] = field(default_factory=dict)
    refused: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()


class Cluster(NamedTuple):
    """A cluster of linked notes: its words, its number of notes, and the number of queries whose best notes
    are in it.

    ``quality`` is the mean nDCG@10 of these queries with the first variant, or None if there are no such
    queries.
    """

    words: Sequence[str]
    notes: int
    queries: int
    quality: float | None


@dataclass(frozen=True, slots=True)
class Report:
    """The report of a whole evaluation.

    ``sizes`` contains the number of judged queries by category; ``unjudged`` is the number of queries without
    a relevant note. ``results`` maps variant and query id to results. ``missing`` lists relevant notes that
    are not in the vault.
    """

    vault: str
    notes: int
    passages: int
    sizes: Mapping[str, int]
    unjudged: int
    outcomes: Sequence[Outcome]
    results: Mapping[str, Mapping[str, QueryResult]]
    queries: Sequence[JudgedQuery]
    missing: Sequence[str] = ()
    overrides: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The settings in which each variant differs from the first variant, including the mode."""
    refusals: Sequence[Refusal] = ()
    """The refusal curve for the first variant."""
    model: str = ""
    """Description of the model for notes and of the model for questions in other languages, if there is
    one."""
    links: int = 0
    clusters: Sequence[Cluster] = ()
    """The clusters of the link graph, largest first."""
    copied: int = 0
    """Number of vectors copied from the daemon's index."""
    computed: int = 0
    """Number of vectors computed for the evaluation's own index."""


def cache_directory(root: Path, base: Path | None = None) -> Path:
    """Return the folder for the evaluation index of the vault at ``root``, in ``base`` or in vaultseek's data
    folder."""
    real = Path(os.path.realpath(root))
    if base is None:
        return paths.evaluation_directory(real)
    return base / paths.vault_data_directory(real).name


async def evaluate(
    vault: OpenVault,
    queries: Sequence[JudgedQuery],
    variants: Sequence[Variant],
    *,
    plain: bool = False,
    limit: int = limits.MEASURED_CANDIDATES,
    foreign: Sequence[str] | None = (),
    on_query: OnQuery = lambda name, done, total: None,
) -> Report:
    """Run every query with every variant; the first variant is compared with every other variant.

    With ``plain``, queries are treated as words without operators; ``limit`` is the number of results per
    query. ``foreign`` contains queries without an answer in the vault, for the refusal curve; judged queries
    without a relevant note also count as foreign. If ``foreign`` is None, the curve is left out. Raises
    UsageError if the vault has no notes.
    """
    if not vault.ledger.counts().notes:
        raise UsageError(f"{vault.name} has no notes; choose another vault with --vault")
    results = {}
    for variant in variants:
        results[variant.name] = await _run_all(vault, queries, variant, plain, limit, on_query)
    grades = {query.id: query.grades for query in queries}
    groups = _groups(queries)
    per_query = {
        name: compute_metrics({id: result.paths for id, result in by_query.items()}, grades)
        for name, by_query in results.items()
    }
    reference = per_query[variants[0].name]
    counts = vault.ledger.counts()
    paths = {path for path, _ in vault.ledger.link_targets()}
    return Report(
        vault=vault.name,
        model=vault.spaces.models.in_words,
        notes=counts.notes,
        passages=counts.chunks,
        sizes={name: sum(id in reference["MRR"] for id in ids) for name, ids in groups.items()},
        unjudged=len(queries) - len(reference["MRR"]),
        outcomes=[
            _outcome(name, per_query[name], reference, by_query, groups) for name, by_query in results.items()
        ],
        results=results,
        queries=queries,
        missing=missing_notes(queries, paths),
        overrides={variant.name: overrides(variant, variants[0]) for variant in variants},
        refusals=await _refusals(vault, queries, results[variants[0].name], variants[0], foreign),
        links=0 if vault.graph is None else len(vault.graph.edges()),
        clusters=await asyncio.to_thread(_clusters, vault, queries, reference["nDCG@10"]),
        copied=vault.ledger.vectors.embeddings_copied(),
        computed=vault.ledger.vectors.embeddings_computed(),
    )


def _clusters(
    vault: OpenVault, queries: Sequence[JudgedQuery], figures: Mapping[str, float]
) -> list[Cluster]:
    """Return a vault's clusters, each with the quality of the answers to queries about its notes."""
    if vault.graph is None:
        return []
    structure = VaultStructure().of(vault.graph, vault.ledger)
    ids = dict(vault.ledger.select("SELECT path, id FROM notes"))
    clusters = []
    for members, words in zip(structure.clusters[:CLUSTERS], structure.words, strict=False):
        inside = set(members)
        own = [
            figures[query.id]
            for query in queries
            if query.id in figures and any(ids.get(path) in inside for path in _best(query))
        ]
        clusters.append(Cluster(words, len(members), len(own), sum(own) / len(own) if own else None))
    return clusters


def _best(query: JudgedQuery) -> list[str]:
    most = max(query.grades.values(), default=0)
    return [path for path, grade in query.grades.items() if 0 < grade == most]


async def _refusals(
    vault: OpenVault,
    queries: Sequence[JudgedQuery],
    results: Mapping[str, QueryResult],
    variant: Variant,
    foreign: Sequence[str] | None,
) -> list[Refusal]:
    """Return the refusal curve, or an empty list for a variant that never refuses queries."""
    if foreign is None or variant.grep or variant.mode != "hybrid":
        return []
    searcher, outage = Searcher(vault), _Outage()

    async def strongest(texts: Sequence[str]) -> list[float]:
        answers = [await _run(searcher, JudgedQuery("", text), variant, True, 1, outage) for text in texts]
        return [answer.strongest for answer in answers if answer.strongest is not None]

    of_queries = [(query, results[query.id].strongest) for query in queries]
    without = [value for query, value in of_queries if value is not None and not _is_answerable(query)]
    answerable: dict[str, list[float]] = {}
    for query, value in of_queries:
        if _is_answerable(query):
            answerable.setdefault(query.category, []).append(1.0 if value is None else value)
    return refusals(await strongest(keyboard_noise()), [*without, *await strongest(foreign)], answerable)


def _is_answerable(query: JudgedQuery) -> bool:
    return any(grade > 0 for grade in query.grades.values())


async def _run_all(
    vault: OpenVault,
    queries: Sequence[JudgedQuery],
    variant: Variant,
    plain: bool,
    limit: int,
    on_query: OnQuery,
) -> dict[str, QueryResult]:
    searcher, outage = Searcher(vault), _Outage()
    grep = _Grep(vault.ledger) if variant.grep else None
    results: dict[str, QueryResult] = {}
    for done, query in enumerate(queries):
        on_query(variant.name, done, len(queries))
        start = time.perf_counter()
        if grep is not None:
            paths = tuple(grep.search(query.text, limit, _allowed_paths(vault, query)))
            results[query.id] = QueryResult(paths, None, (time.perf_counter() - start) * 1000)
        else:
            results[query.id] = await _run(searcher, query, variant, plain, limit, outage)
    on_query(variant.name, len(queries), len(queries))
    return results


def _allowed_paths(vault: OpenVault, query: JudgedQuery) -> set[str] | None:
    allowed = filter_notes(from_fields(query.filters), vault.ledger)
    if allowed is None:
        return None
    return {row.path for row in vault.ledger.notes.by_id(allowed.ids.tolist()).values()}


async def _run(
    searcher: Searcher, query: JudgedQuery, variant: Variant, plain: bool, limit: int, outage: _Outage
) -> QueryResult:
    request = SearchRequest(
        query=query.text,
        settings=variant.settings,
        limit=limit,
        mode=variant.mode,
        fields=query.filters,
        plain=plain,
    )
    try:
        trace, milliseconds = await _timed(searcher, request, outage)
    except BadQuery:
        return QueryResult((), None, 0.0, (_INVALID,))
    if trace is None:
        return QueryResult((), None, milliseconds, ("semantic",))
    return QueryResult(
        paths=tuple(candidate.note for candidate in trace.results),
        confidence=round(trace.results[0].confidence, 4) if trace.results else None,
        milliseconds=milliseconds,
        partial=tuple(trace.partial),
        strongest=strongest_confidence(trace.query, trace.ranking),
    )


async def _timed(searcher: Searcher, request: SearchRequest, outage: _Outage) -> tuple[Trace | None, float]:
    """Run a search and return its trace and its duration in milliseconds; repeat it while a failed worker
    recovers.

    The trace is None if no kind of search answers.
    """
    while True:
        start = time.perf_counter()
        trace: Trace | None = None
        with contextlib.suppress(Unavailable):
            trace = await searcher.run(request)
            # The response is built only to be timed: users also wait for the previews.
            respond(trace, "", start)
        milliseconds = (time.perf_counter() - start) * 1000
        if not outage.should_retry(trace):
            return trace, milliseconds
        await asyncio.sleep(limits.RETRY_SECONDS)


class _Outage:
    """The time since the worker last answered, so that only one search waits for a worker that does not come
    back."""

    def __init__(self) -> None:
        self._since: float | None = None

    def should_retry(self, trace: Trace | None) -> bool:
        """Return True if the worker's answer is missing and repeating the search may help."""
        reasons = () if trace is None else trace.partial.values()
        if trace is not None and not any(
            reason.code in ("worker_unavailable", "loading") for reason in reasons
        ):
            self._since = None
            return False
        self._since = self._since or time.monotonic()
        return time.monotonic() - self._since < limits.STALLED_SECONDS


def _groups(queries: Sequence[JudgedQuery]) -> dict[str, list[str]]:
    groups = {ALL: [query.id for query in queries]}
    for query in queries:
        if query.category:
            groups.setdefault(query.category, []).append(query.id)
    return groups


def _outcome(
    name: str,
    per_query: Mapping[str, Mapping[str, float]],
    reference: Mapping[str, Mapping[str, float]],
    results: Mapping[str, QueryResult],
    groups: Mapping[str, Sequence[str]],
) -> Outcome:
    p50, p95 = latency_percentiles(
        [result.milliseconds for result in results.values() if _INVALID not in result.partial]
    )
    return Outcome(
        name=name,
        metrics={
            group: {
                metric: bootstrap_interval([values[id] for id in ids if id in values])
                for metric, values in per_query.items()
            }
            for group, ids in groups.items()
        },
        per_query=per_query,
        differences={
            metric: paired_difference(list(reference[metric].values()), list(per_query[metric].values()))
            for metric in METRICS
        },
        p50_ms=p50,
        p95_ms=p95,
        confidence={
            group: _mean([results[id].confidence or 0.0 for id in ids]) for group, ids in groups.items()
        },
        empty_share={group: _mean([not results[id].paths for id in ids]) for group, ids in groups.items()},
        refused=tuple(id for id, result in results.items() if _INVALID in result.partial),
        partial=tuple(sorted({lane for result in results.values() for lane in result.partial} - {_INVALID})),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


class _Grep:
    """The baseline without an index: notes ranked by the number of query words in their text, ignoring case
    and accents."""

    def __init__(self, ledger: Ledger) -> None:
        ids = ledger.notes.ids()
        rows = ledger.notes.by_id(ids)
        chunks = ledger.chunks.by_note(ids)
        self._texts = {
            row.path: fold("\n".join([row.path, *(chunk.source for chunk in chunks[number])]))
            for number, row in rows.items()
        }

    def search(self, text: str, limit: int, allowed: Container[str] | None = None) -> list[str]:
        """Return the paths of notes, sorted by the number of distinct query words that they contain, best
        first.

        Stop words count only if the query has no other words. Ties are broken by the number of occurrences,
        then by path. If ``allowed`` is not None, only these paths are returned.
        """
        words = {fold(word) for word in text.split()}
        words = words - STOP_WORDS or words
        matches = []
        for path, text in self._texts.items():
            counts = [text.count(word) for word in words if word]
            if any(counts) and (allowed is None or path in allowed):
                matches.append((counts.count(0) - len(counts), -sum(counts), path))
        return [path for *_, path in sorted(matches)[:limit]]
