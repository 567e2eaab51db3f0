"""Ask all queries in all ways, and put what came back into figures."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vaultseek import limits
from vaultseek.errors import BadQuery, UsageError
from vaultseek.evaluate.grep import Grep
from vaultseek.evaluate.judged import ALL, JudgedQuery, categories, missing_notes
from vaultseek.evaluate.measure import METRICS, Difference, Interval, difference, interval, latency, scores
from vaultseek.evaluate.variants import Variant, changed
from vaultseek.indexing.open_vault import OpenVault
from vaultseek.query.fields import from_fields
from vaultseek.search.filter import filter_notes
from vaultseek.search.pipeline import Searcher
from vaultseek.search.request import SearchRequest

Tell = Callable[[str, int, int], None]
NONSENSE = ("nonsense",)


@dataclass(frozen=True, slots=True)
class Answer:
    """What one query gave: paths best first, the best result's confidence, and how long it took."""

    paths: tuple[str, ...]
    confidence: float | None
    milliseconds: float
    partial: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """One variant's figures: by category (``all`` among them), then by metric.

    ``values`` are the metrics by query; ``differences`` what the first variant has over this one, by metric.
    ``refused`` are queries that could not be asked, ``partial`` the lanes that were missing at times.
    By category, ``confidence`` is the mean confidence of the best result and ``nothing`` the share of queries
    for which nothing was found.
    """

    name: str
    figures: Mapping[str, Mapping[str, Interval]]
    values: Mapping[str, Mapping[str, float]]
    differences: Mapping[str, Difference]
    p50_ms: float
    p95_ms: float
    confidence: Mapping[str, float] = field(default_factory=dict)
    nothing: Mapping[str, float] = field(default_factory=dict)
    refused: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """A whole measurement. ``sizes`` are judged queries by category, ``unjudged`` the others."""

    vault: str
    notes: int
    passages: int
    sizes: Mapping[str, int]
    unjudged: int
    outcomes: Sequence[Outcome]
    answers: Mapping[str, Mapping[str, Answer]]
    queries: Sequence[JudgedQuery]
    missing: Sequence[str] = ()
    changed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By variant, the settings in which it is not the first one; the mode among them."""


async def evaluate(
    vault: OpenVault,
    queries: Sequence[JudgedQuery],
    variants: Sequence[Variant],
    *,
    raw: bool = False,
    limit: int = limits.MEASURED_CANDIDATES,
    tell: Tell = lambda name, done, total: None,
) -> Report:
    """Ask every query in every way. ``raw``: queries are words, whatever operators they look like.

    Raises UsageError for a vault without notes.
    """
    if not vault.ledger.counts().notes:
        raise UsageError(f"{vault.name} has no notes; use another --vault")
    answers = {}
    for variant in variants:
        answers[variant.name] = await _ask_all(vault, queries, variant, raw, limit, tell)
    grades = {query.id: query.grades for query in queries}
    groups = _groups(queries)
    values = {
        name: scores({id: answer.paths for id, answer in given.items()}, grades)
        for name, given in answers.items()
    }
    reference = values[variants[0].name]
    counts = vault.ledger.counts()
    paths = {path for path, _ in vault.ledger.link_targets()}
    return Report(
        vault=vault.name,
        notes=counts.notes,
        passages=counts.chunks,
        sizes={name: sum(id in reference["MRR"] for id in ids) for name, ids in groups.items()},
        unjudged=len(queries) - len(reference["MRR"]),
        outcomes=[_outcome(name, values[name], reference, given, groups) for name, given in answers.items()],
        answers=answers,
        queries=queries,
        missing=missing_notes(queries, paths),
        changed={variant.name: changed(variant, variants[0]) for variant in variants},
    )


async def _ask_all(
    vault: OpenVault,
    queries: Sequence[JudgedQuery],
    variant: Variant,
    raw: bool,
    limit: int,
    tell: Tell,
) -> dict[str, Answer]:
    searcher = Searcher(vault)
    grep = Grep(vault.ledger) if variant.grep else None
    answers: dict[str, Answer] = {}
    for done, query in enumerate(queries):
        tell(variant.name, done, len(queries))
        began = time.perf_counter()
        if grep is not None:
            paths = tuple(grep.search(query.text, limit, _filtered(vault, query)))
            answers[query.id] = Answer(paths, None, (time.perf_counter() - began) * 1000)
        else:
            answers[query.id] = await _ask(searcher, query, variant, raw, limit)
    tell(variant.name, len(queries), len(queries))
    return answers


def _filtered(vault: OpenVault, query: JudgedQuery) -> set[str] | None:
    """The notes that the query's filters leave."""
    only = filter_notes(from_fields(query.filters), vault.ledger)
    return (
        None if only is None else {row.path for row in vault.ledger.notes.by_id(only.ids.tolist()).values()}
    )


async def _ask(searcher: Searcher, query: JudgedQuery, variant: Variant, raw: bool, limit: int) -> Answer:
    request = SearchRequest(
        query=query.text,
        settings=variant.settings,
        limit=limit,
        mode=variant.mode,
        fields=query.filters,
        plain=raw,
    )
    began = time.perf_counter()
    try:
        trace = await searcher.run(request)
        # Only timed: users wait for the previews, too.
        await searcher.respond(trace, began)
    except BadQuery:
        return Answer((), None, 0.0, ("refused",))
    spent = (time.perf_counter() - began) * 1000
    return Answer(
        paths=tuple(candidate.note for candidate in trace.results),
        confidence=round(trace.confidence(trace.results[0]), 4) if trace.results else None,
        milliseconds=spent,
        partial=tuple(trace.partial),
    )


def _groups(queries: Sequence[JudgedQuery]) -> dict[str, list[str]]:
    """Ids by category, all of them first."""
    groups = {ALL: [query.id for query in queries]}
    for name in categories(queries):
        groups[name] = [query.id for query in queries if query.category == name]
    return groups


def _outcome(
    name: str,
    values: Mapping[str, Mapping[str, float]],
    reference: Mapping[str, Mapping[str, float]],
    answers: Mapping[str, Answer],
    groups: Mapping[str, Sequence[str]],
) -> Outcome:
    p50, p95 = latency(
        [answer.milliseconds for answer in answers.values() if "refused" not in answer.partial]
    )
    return Outcome(
        name=name,
        figures={group: dict(_figures(values, ids)) for group, ids in groups.items()},
        values=values,
        differences={
            metric: difference(list(reference[metric].values()), list(values[metric].values()))
            for metric in METRICS
        },
        p50_ms=p50,
        p95_ms=p95,
        confidence={group: _confidence(answers, ids) for group, ids in groups.items()},
        nothing={group: _mean([not answers[id].paths for id in ids]) for group, ids in groups.items()},
        refused=tuple(id for id, answer in answers.items() if "refused" in answer.partial),
        partial=tuple(sorted({lane for answer in answers.values() for lane in answer.partial} - {"refused"})),
    )


def _figures(values: Mapping[str, Mapping[str, float]], ids: Sequence[str]) -> Iterator[tuple[str, Interval]]:
    for metric, of_query in values.items():
        yield metric, interval([of_query[id] for id in ids if id in of_query])


def _confidence(answers: Mapping[str, Answer], ids: Sequence[str]) -> float:
    """The mean confidence of the best result; no result is confidence 0."""
    return _mean([answers[id].confidence or 0.0 for id in ids])


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
