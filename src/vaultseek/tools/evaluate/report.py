"""Evaluation reports as text, in Markdown tables, and as JSON."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from vaultseek.base.model import JSON
from vaultseek.base.text import count
from vaultseek.tools.evaluate.judgements import ALL
from vaultseek.tools.evaluate.metrics import METRICS, Difference
from vaultseek.tools.evaluate.run import Outcome, Report

_CATEGORY_METRICS = ("nDCG@10", "Hit@1", "Recall@10")
_MISSING_LISTED = 5
REFUSAL_HEAD = ("nothing_below", "noise refused", "foreign refused", "questions lost", "most of them")
"""Column headings of the refusal curve."""


def as_json(report: Report) -> JSON:
    """Return the whole report as JSON, with the ten best results and the metrics of every query."""
    return {
        "vault": report.vault,
        "model": report.model,
        "notes": report.notes,
        "passages": report.passages,
        "vectors": {"copied": report.copied, "computed": report.computed},
        "queries": dict(report.sizes),
        "unjudged": report.unjudged,
        "missing": list(report.missing),
        "links": report.links,
        "clusters": [
            {"words": list(each.words), "notes": each.notes, "queries": each.queries, "nDCG@10": each.quality}
            for each in report.clusters
        ],
        "refusals": [each._asdict() for each in report.refusals],
        "variants": {outcome.name: _variant(outcome, report) for outcome in report.outcomes},
    }


class _Table(NamedTuple):
    """A table in a report; the first column contains names, the other columns numbers."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def as_text(report: Report) -> str:
    """Return the report as Markdown tables, for a terminal or a file."""
    parts = ([part] if isinstance(part, str) else _aligned(part) for part in _parts(report))
    return "\n".join(line for part in parts for line in part)


def _significance(difference: Difference) -> str:
    """Return a mark for a difference's p-value: ``*`` below 0.05, ``**`` below 0.01, otherwise ""."""
    return "**" if difference.p < 0.01 else "*" if difference.p < 0.05 else ""


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"


def _variant(outcome: Outcome, report: Report) -> JSON:
    results = report.results[outcome.name]
    return {
        "figures": {
            group: {
                name: {key: round(value, 4) for key, value in interval._asdict().items()}
                for name, interval in metrics.items()
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


def _parts(report: Report) -> Iterator[str | _Table]:
    """Yield the lines and tables of a report, with empty lines between tables."""
    judged = report.sizes[ALL]
    sizes = (count(report.notes, "note"), count(report.passages, "passage"), f"{judged} judged queries")
    yield f"{report.vault}: {', '.join(sizes)}"
    yield f"model: {report.model}"
    yield f"vectors: {report.copied:,} copied from the daemon's index, {report.computed:,} computed"
    if report.unjudged:
        yield f"{report.unjudged} queries have no relevant note and count only for confidence"
    if report.missing:
        some = ", ".join(report.missing[:_MISSING_LISTED])
        yield f"{len(report.missing)} judged notes are not in the vault: {some}"
    yield ""
    yield _Table(["", *METRICS, "p50 ms", "p95 ms"], [_figures(outcome) for outcome in report.outcomes])
    yield ""
    yield _comparison(report)
    if len(report.sizes) > 1:
        for metric in _CATEGORY_METRICS:
            yield ""
            yield _by_category(report, metric)
        first = report.outcomes[0]
        yield ""
        if any(first.confidence.values()):
            yield _confidence(first)
    if report.refusals:
        yield ""
        yield _refusals(report)
    if report.clusters:
        yield ""
        yield _links(report)
    for outcome in report.outcomes:
        if outcome.refused:
            yield f"{outcome.name}: {len(outcome.refused)} invalid queries, such as {outcome.refused[0]}"
        if outcome.partial:
            yield f"{outcome.name}: some answers are incomplete ({', '.join(outcome.partial)})"


def _figures(outcome: Outcome) -> list[str]:
    means = (f"{outcome.metrics[ALL][metric].mean:.3f}" for metric in METRICS)
    return [outcome.name, *means, f"{outcome.p50_ms:.1f}", f"{outcome.p95_ms:.1f}"]


def _comparison(report: Report) -> _Table:
    """Return a table of nDCG@10 with confidence intervals, and of the differences between the first variant
    and the others."""
    rows = []
    for number, outcome in enumerate(report.outcomes):
        ndcg, gap = outcome.metrics[ALL]["nDCG@10"], outcome.differences["nDCG@10"]
        against = [
            f"{gap.mean:+.3f}{_significance(gap)}",
            f"{gap.low:+.3f} to {gap.high:+.3f}",
            f"{gap.p:.3f}",
        ]
        interval = f"{ndcg.low:.3f} to {ndcg.high:.3f}"
        rows.append([outcome.name, f"{ndcg.mean:.3f}", interval, *(against if number else ["", "", ""])])
    first = report.outcomes[0].name
    return _Table(["nDCG@10", "mean", "95 %", f"{first} minus variant", "95 %", "p"], rows)


def _by_category(report: Report, metric: str) -> _Table:
    head = [metric, "queries", *(outcome.name for outcome in report.outcomes)]
    rows = []
    for group, size in report.sizes.items():
        if size:
            means = [f"{outcome.metrics[group][metric].mean:.3f}" for outcome in report.outcomes]
            rows.append([group, str(size), *means])
    return _Table(head, rows)


def _confidence(outcome: Outcome) -> _Table:
    """Return a table of the top result's mean confidence and of the share of queries without results, by
    category."""
    rows = [
        [group, f"{value:.3f}", f"{100 * outcome.empty_share[group]:.0f} %"]
        for group, value in outcome.confidence.items()
    ]
    return _Table([f"{outcome.name}: confidence of the top result", "mean", "no results"], rows)


def _links(report: Report) -> _Table:
    rows = [
        [
            ", ".join(each.words),
            str(each.notes),
            str(each.queries),
            "" if each.quality is None else f"{each.quality:.3f}",
        ]
        for each in report.clusters
    ]
    return _Table([f"clusters of {count(report.links, 'link')}", "notes", "queries", "nDCG@10"], rows)


def _refusals(report: Report) -> _Table:
    rows = []
    for each in report.refusals:
        name, share = each.worst_category or ("", 0.0)
        worst = f"{name} {_percent(share)}".strip() if share else ""
        shares = map(_percent, (each.noise_refused, each.foreign_refused, each.questions_lost))
        rows.append([f"{each.threshold:g}", *shares, worst])
    return _Table(REFUSAL_HEAD, rows)


def _aligned(table: _Table) -> Iterator[str]:
    """Yield the lines of a Markdown table, padded so that its columns are aligned in a terminal."""
    widths = [max(map(len, column)) for column in zip(table.head, *table.rows, strict=True)]
    yield _row(table.head, widths)
    yield "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    for row in table.rows:
        yield _row(row, widths)


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = (
        cell.rjust(width) if number else cell.ljust(width)
        for number, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return f"| {' | '.join([first, *rest])} |"
