"""Formatting a measurement as text, as JSON, and as one HTML page: tables, SVG plots, the hardest queries."""

import json
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

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


class Table(NamedTuple):
    """A table of a report; the first column is of names, the others are of figures."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def as_text(report: Report) -> str:
    """Format the report as Markdown tables for a terminal or a file."""
    parts = ([part] if isinstance(part, str) else _aligned(part) for part in parts_of(report))
    return "\n".join(line for part in parts for line in part)


def significance(difference: Difference) -> str:
    """Return a mark for the p-value: ``*`` below 0.05, ``**`` below 0.01."""
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


def parts_of(report: Report) -> Iterator[str | Table]:
    """Yield the lines and tables of a report; empty lines are between the tables."""
    judged = report.sizes[ALL]
    sizes = (count(report.notes, "note"), count(report.passages, "passage"), f"{judged} judged queries")
    yield f"{report.vault}: {', '.join(sizes)}"
    yield f"model: {report.model}"
    yield f"vectors: {report.copied:,} copied from the daemon's index, {report.computed:,} computed"
    if report.unjudged:
        yield f"{report.unjudged} queries have no relevant note; they count for confidence only"
    if report.missing:
        some = ", ".join(report.missing[:_MISSING_LISTED])
        yield f"{len(report.missing)} judged notes are not in the vault: {some}"
    yield ""
    yield Table(["", *METRICS, "p50 ms", "p95 ms"], [_figures(outcome) for outcome in report.outcomes])
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


def _comparison(report: Report) -> Table:
    """Return nDCG@10 with its interval, and the difference of the first variant to the others."""
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
    return Table(["nDCG@10", "mean", "95 %", f"{first} minus it", "95 %", "p"], rows)


def _by_category(report: Report, metric: str) -> Table:
    head = [metric, "queries", *(outcome.name for outcome in report.outcomes)]
    rows = []
    for group, size in report.sizes.items():
        if size:
            means = [f"{outcome.metrics[group][metric].mean:.3f}" for outcome in report.outcomes]
            rows.append([group, str(size), *means])
    return Table(head, rows)


def _confidence(outcome: Outcome) -> Table:
    """Return the mean confidence of the top result and the share of queries without results, by category."""
    rows = [
        [group, f"{value:.3f}", f"{100 * outcome.empty_share[group]:.0f} %"]
        for group, value in outcome.confidence.items()
    ]
    return Table([f"{outcome.name}: confidence of the top result", "mean", "no results"], rows)


def _links(report: Report) -> Table:
    rows = [
        [
            ", ".join(each.words),
            str(each.notes),
            str(each.queries),
            "" if each.quality is None else f"{each.quality:.3f}",
        ]
        for each in report.clusters
    ]
    return Table([f"clusters of {count(report.links, 'link')}", "notes", "queries", "nDCG@10"], rows)


def _refusals(report: Report) -> Table:
    rows = []
    for each in report.refusals:
        name, share = each.worst_category or ("", 0.0)
        worst = f"{name} {_percent(share)}".strip() if share else ""
        shares = map(_percent, (each.noise_refused, each.foreign_refused, each.questions_lost))
        rows.append([f"{each.threshold:g}", *shares, worst])
    return Table(REFUSAL_HEAD, rows)


def _aligned(table: Table) -> Iterator[str]:
    """Yield a Markdown table, padded so that it is aligned in a terminal."""
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


_PLOTTED = ("nDCG@10", "MRR", "Recall@10")
_COLOURS = ("#2b6cb0", "#a0aec0", "#dd6b20", "#38a169", "#805ad5", "#d53f8c", "#718096", "#b7791f")
_HARDEST = 20
_BAR, _GAP, _LABEL, _WIDTH = 16, 6, 170, 460
_STYLE = """
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; display: block; overflow-x: auto }
th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #8884 }
th:first-child, td:first-child { text-align: left }
svg { max-width: 100%; height: auto } text { font: 12px system-ui, sans-serif; fill: currentColor }
small { opacity: .75 }
"""


def as_html(report: Report) -> str:
    """Format the report as an HTML page without external resources."""
    title = f"Search quality: {escape(report.vault)}"
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title}</title><style>{_STYLE}</style></head><body>",
            f"<h1>{title}</h1>",
            *_body(report),
            "</body></html>",
            "",
        ]
    )


def _body(report: Report) -> Iterator[str]:
    for part in parts_of(report):
        if isinstance(part, Table):
            yield from _table(part)
        elif part:
            yield f"<p>{escape(part)}</p>"
    yield "<p><small>p-value of a paired randomisation test; * below 0.05, ** below 0.01.</small></p>"
    yield from _table(_differences(report))
    for metric in _PLOTTED:
        yield f"<h2>{metric}</h2>"
        yield _bars(report.outcomes, metric)
    yield "<p><small>Lines in the plots are 95 % bootstrap intervals over queries.</small></p>"
    groups = [name for name, size in report.sizes.items() if size]
    if len(groups) > 1:
        yield "<h2>nDCG@10 by category</h2>"
        yield _grouped(report, groups[1:])
    yield from _table(_hardest(report))
    yield from _table(_settings(report))


def _differences(report: Report) -> Table:
    rows = [
        [outcome.name, *(f"{gap.mean:+.3f}{significance(gap)}" for gap in outcome.differences.values())]
        for outcome in report.outcomes[1:]
    ]
    return Table([f"{report.outcomes[0].name} minus", *METRICS], rows)


def _settings(report: Report) -> Table:
    rows = [
        [name, ", ".join(f"{key} = {json.dumps(value)}" for key, value in settings.items())]
        for name, settings in report.overrides.items()
        if settings
    ]
    return Table(["variant", f"settings other than those of {report.outcomes[0].name}"], rows)


def _hardest(report: Report) -> Table:
    first = report.outcomes[0]
    values = first.per_query["nDCG@10"]
    hard = sorted((q for q in report.queries if values.get(q.id, 1.0) < 1), key=lambda q: values[q.id])
    rows = []
    for query in hard[:_HARDEST]:
        best = max(query.grades, key=lambda path: (query.grades[path], path))
        paths = report.results[first.name][query.id].paths
        rows.append([query.text, f"{values[query.id]:.2f}", best, paths[0] if paths else "none"])
    return Table(["hardest queries", "nDCG@10", "relevant", "top result"], rows)


def _bars(outcomes: Sequence[Outcome], metric: str) -> str:
    height = len(outcomes) * (_BAR + _GAP)
    parts = []
    for row, outcome in enumerate(outcomes):
        value = outcome.metrics[ALL][metric]
        y = row * (_BAR + _GAP)
        middle = y + _BAR / 2
        parts.append(_text(_LABEL - 8, middle + 4, outcome.name, "end"))
        parts.append(_rectangle(_LABEL, y, value.mean * _WIDTH, _BAR, _COLOURS[row % len(_COLOURS)]))
        low, high = _LABEL + value.low * _WIDTH, _LABEL + value.high * _WIDTH
        parts.append(f'<path d="M{low:.1f} {middle}H{high:.1f}" stroke="currentColor" stroke-width="1.5"/>')
        parts.append(_text(_LABEL + _WIDTH + 8, middle + 4, f"{value.mean:.3f}", "start"))
    return _svg(_LABEL + _WIDTH + 60, height, parts)


def _grouped(report: Report, groups: Sequence[str]) -> str:
    thin = 7
    step = thin * len(report.outcomes) + 12
    parts = []
    for block, group in enumerate(groups):
        top = block * step
        parts.append(_text(_LABEL - 8, top + step / 2, group, "end"))
        for row, outcome in enumerate(report.outcomes):
            width = outcome.metrics[group]["nDCG@10"].mean * _WIDTH
            parts.append(_rectangle(_LABEL, top + row * thin, width, thin - 1, _COLOURS[row % len(_COLOURS)]))
    for row, outcome in enumerate(report.outcomes):
        y = len(groups) * step + 16 * (row + 1)
        parts.append(_rectangle(_LABEL, y - 9, 10, 10, _COLOURS[row % len(_COLOURS)]))
        parts.append(_text(_LABEL + 16, y, outcome.name, "start"))
    return _svg(_LABEL + _WIDTH + 60, len(groups) * step + 16 * len(report.outcomes) + 10, parts)


def _svg(width: float, height: float, parts: Sequence[str]) -> str:
    return f'<svg viewBox="0 0 {width} {height}" width="{width}" role="img">{"".join(parts)}</svg>'


def _rectangle(x: float, y: float, width: float, height: float, colour: str) -> str:
    return f'<rect x="{x}" y="{y}" width="{width:.1f}" height="{height}" fill="{colour}"/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _table(table: Table) -> Iterator[str]:
    if not table.rows:
        return
    yield f"<table><tr>{''.join(f'<th>{escape(cell)}</th>' for cell in table.head)}</tr>"
    for row in table.rows:
        yield f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
    yield "</table>"
