"""Formatting a measurement as text and as JSON; :mod:`vaultseek.tools.evaluate.html` makes a page of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vaultseek.base.model import JSON
from vaultseek.base.text import count
from vaultseek.tools.evaluate.judgements import ALL
from vaultseek.tools.evaluate.metrics import METRICS, Difference
from vaultseek.tools.evaluate.run import Outcome, Report

_CATEGORY_METRICS = ("nDCG@10", "Hit@1", "Recall@10")
_MISSING_LISTED = 5
REFUSAL_HEAD = ("nothing_below", "noise refused", "foreign refused", "questions lost", "most of them")
"""The columns of the curve of refusals."""


def as_json(report: Report) -> JSON:
    """Return the whole report as JSON, with the top ten results and the metrics of every query."""
    return {
        "vault": report.vault,
        "model": report.model,
        "notes": report.notes,
        "passages": report.passages,
        "queries": dict(report.sizes),
        "unjudged": report.unjudged,
        "missing": list(report.missing),
        "refusals": [
            {
                "threshold": each.threshold,
                "noise_refused": each.noise,
                "foreign_refused": each.foreign,
                "questions_lost": each.lost,
                "worst_category": None if each.worst is None else list(each.worst),
            }
            for each in report.refusals
        ],
        "variants": {outcome.name: _variant(outcome, report) for outcome in report.outcomes},
    }


def as_text(report: Report) -> str:
    """Format the report as Markdown tables for a terminal or a file."""
    return "\n".join(_lines(report))


def significance(difference: Difference) -> str:
    """Return a mark for the p-value: ``*`` below 0.05, ``**`` below 0.01."""
    return "**" if difference.p < 0.01 else "*" if difference.p < 0.05 else ""


def confidences(outcome: Outcome) -> Iterator[list[str]]:
    """Yield rows of category, mean confidence of the top result, and share of queries without results."""
    for group, value in outcome.confidence.items():
        yield [group, f"{value:.3f}", f"{100 * outcome.empty_share[group]:.0f} %"]


def refusal_rows(report: Report) -> Iterator[list[str]]:
    """Yield rows of the curve of refusals: the threshold, and the shares of queries that find nothing."""
    for each in report.refusals:
        name, share = each.worst or ("", 0.0)
        yield [
            f"{each.threshold:g}",
            _percent(each.noise),
            _percent(each.foreign),
            _percent(each.lost),
            f"{name} {_percent(share)}".strip() if share else "",
        ]


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"


def _variant(outcome: Outcome, report: Report) -> JSON:
    results = report.results[outcome.name]
    return {
        "figures": {
            group: {
                name: {"mean": round(i.mean, 4), "low": round(i.low, 4), "high": round(i.high, 4)}
                for name, i in metrics.items()
            }
            for group, metrics in outcome.metrics.items()
        },
        "differences": {
            name: {"mean": round(d.mean, 4), "low": round(d.low, 4), "high": round(d.high, 4), "p": d.p}
            for name, d in outcome.differences.items()
        },
        "latency_ms": {"p50": round(outcome.p50_ms, 2), "p95": round(outcome.p95_ms, 2)},
        "confidence": {group: round(value, 4) for group, value in outcome.confidence.items()},
        "settings": dict(report.overrides.get(outcome.name, {})),
        "nothing_found": {group: round(value, 4) for group, value in outcome.empty_share.items()},
        "refused": list(outcome.refused),
        "partial": list(outcome.partial),
        "queries": {
            id: {
                "results": list(result.paths[:10]),
                "confidence": result.confidence,
                "milliseconds": round(result.milliseconds, 2),
                "metrics": {name: round(of[id], 4) for name, of in outcome.per_query.items() if id in of},
            }
            for id, result in results.items()
        },
    }


def _lines(report: Report) -> Iterator[str]:
    judged = report.sizes[ALL]
    sizes = (count(report.notes, "note"), count(report.passages, "passage"), f"{judged} judged queries")
    yield f"{report.vault}: {', '.join(sizes)}"
    yield f"model: {report.model}"
    if report.unjudged:
        yield f"{report.unjudged} queries have no relevant note; they count for confidence only"
    if report.missing:
        some = ", ".join(report.missing[:_MISSING_LISTED])
        yield f"{len(report.missing)} judged notes are not in the vault: {some}"
    yield ""
    yield from _table(
        ["", *METRICS, "p50 ms", "p95 ms"],
        [[o.name, *_means(o), f"{o.p50_ms:.1f}", f"{o.p95_ms:.1f}"] for o in report.outcomes],
    )
    yield ""
    yield from _comparison(report)
    if len(report.sizes) > 1:
        for metric in _CATEGORY_METRICS:
            yield ""
            yield from _by_category(report, metric)
    if report.refusals:
        yield ""
        yield from _table(REFUSAL_HEAD, list(refusal_rows(report)))
    for outcome in report.outcomes:
        if outcome.refused:
            yield f"{outcome.name}: {len(outcome.refused)} invalid queries, such as {outcome.refused[0]}"
        if outcome.partial:
            yield f"{outcome.name}: some queries without {', '.join(outcome.partial)}"


def _means(outcome: Outcome) -> list[str]:
    return [f"{outcome.metrics[ALL][metric].mean:.3f}" for metric in METRICS]


def _comparison(report: Report) -> Iterator[str]:
    """Yield nDCG@10 with its interval, and the difference of the first variant to the others."""
    rows = []
    for number, outcome in enumerate(report.outcomes):
        ndcg, gap = outcome.metrics[ALL]["nDCG@10"], outcome.differences["nDCG@10"]
        against = [
            f"{gap.mean:+.3f}{significance(gap)}",
            f"{gap.low:+.3f} to {gap.high:+.3f}",
            f"{gap.p:.3f}",
        ]
        interval = f"{ndcg.low:.3f} to {ndcg.high:.3f}"
        rows.append([outcome.name, f"{ndcg.mean:.3f}", interval, *(against if number else ["", "", ""])])
    first = report.outcomes[0].name
    yield from _table(["nDCG@10", "mean", "95 %", f"{first} minus it", "95 %", "p"], rows)


def _by_category(report: Report, metric: str) -> Iterator[str]:
    head = [metric, "queries", *(outcome.name for outcome in report.outcomes)]
    rows = []
    for group, size in report.sizes.items():
        if size:
            means = [f"{outcome.metrics[group][metric].mean:.3f}" for outcome in report.outcomes]
            rows.append([group, str(size), *means])
    yield from _table(head, rows)
    if metric == _CATEGORY_METRICS[-1]:
        yield ""
        first = report.outcomes[0]
        if any(first.confidence.values()):
            head = [f"{first.name}: confidence of the top result", "mean", "no results"]
            yield from _table(head, list(confidences(first)))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield a Markdown table, padded so that it is aligned in a terminal."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    yield _row(head, widths)
    yield "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    for row in rows:
        yield _row(row, widths)


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = (
        cell.ljust(width) if not number else cell.rjust(width)
        for number, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return f"| {' | '.join([first, *rest])} |"
