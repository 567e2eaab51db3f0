"""Formatting a measurement as one self-contained HTML page: tables, SVG plots, the hardest queries."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html import escape

from vaultseek.tools.evaluate.judgements import ALL
from vaultseek.tools.evaluate.metrics import METRICS
from vaultseek.tools.evaluate.report import confidences, significance
from vaultseek.tools.evaluate.run import Outcome, Report

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
tr.first td { font-weight: 600 }
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
    yield f"<p>{report.notes} notes, {report.passages} passages, {report.sizes[ALL]} judged queries"
    yield f"{f', {report.unjudged} without a relevant note' if report.unjudged else ''}."
    yield f"Model: {escape(report.model)}.</p>"
    if report.missing:
        example = escape(report.missing[0])
        yield f"<p>{len(report.missing)} judged notes are not in the vault, such as {example}.</p>"
    yield "<h2>All queries</h2>"
    head = ["", *METRICS, "p50 ms", "p95 ms"]
    yield from _table(
        head, [[o.name, *_means(o), f"{o.p50_ms:.1f}", f"{o.p95_ms:.1f}"] for o in report.outcomes]
    )
    yield "<p><small>Lines in the plots are 95 % bootstrap intervals over queries.</small></p>"
    for metric in _PLOTTED:
        yield f"<h3>{metric}</h3>"
        yield _bars(report.outcomes, metric)
    yield from _differences(report)
    yield from _categories(report)
    yield from _confidence(report)
    yield from _hardest(report)
    yield from _settings(report)


def _differences(report: Report) -> Iterator[str]:
    first = report.outcomes[0]
    yield f"<h2>{escape(first.name)} minus the others</h2>"
    rows = []
    for outcome in report.outcomes[1:]:
        gaps = [outcome.differences[metric] for metric in METRICS]
        main = outcome.differences[_PLOTTED[0]]
        test = [f"{main.low:+.3f} to {main.high:+.3f}", f"{main.p:.3f}"]
        rows.append([outcome.name, *(f"{gap.mean:+.3f}{significance(gap)}" for gap in gaps), *test])
    yield from _table(["", *METRICS, f"{_PLOTTED[0]}, 95 %", "p"], rows, first=False)
    yield "<p><small>p-value of a paired randomisation test; * below 0.05, ** below 0.01.</small></p>"


def _categories(report: Report) -> Iterator[str]:
    groups = [name for name, size in report.sizes.items() if size]
    if len(groups) < 2:
        return
    yield "<h2>By category: nDCG@10</h2>"
    rows = [
        [
            group,
            str(report.sizes[group]),
            *(f"{o.metrics[group]['nDCG@10'].mean:.3f}" for o in report.outcomes),
        ]
        for group in groups
    ]
    yield from _table(["", "queries", *(outcome.name for outcome in report.outcomes)], rows)
    yield _grouped(report, groups[1:])


def _confidence(report: Report) -> Iterator[str]:
    first = report.outcomes[0]
    if not any(first.confidence.values()):
        return
    yield f"<h2>Confidence of {escape(first.name)}</h2>"
    head = ["", "mean confidence of the top result", "no results"]
    yield from _table(head, list(confidences(first)), first=False)


def _settings(report: Report) -> Iterator[str]:
    rows = [
        [name, ", ".join(f"{key} = {json.dumps(value)}" for key, value in settings.items())]
        for name, settings in report.overrides.items()
        if settings
    ]
    if rows:
        yield "<h2>Settings of the variants</h2>"
        yield from _table(["", f"different from {report.outcomes[0].name}"], rows, first=False)


def _hardest(report: Report) -> Iterator[str]:
    first = report.outcomes[0]
    values = first.per_query["nDCG@10"]
    judged = sorted((q for q in report.queries if values.get(q.id, 1.0) < 1), key=lambda q: values[q.id])
    if not judged:
        return
    yield "<h2>The hardest queries</h2>"
    rows = []
    for query in judged[:_HARDEST]:
        best = max(query.grades, key=lambda path: (query.grades[path], path))
        paths = report.results[first.name][query.id].paths
        rows.append([query.text, f"{values[query.id]:.2f}", best, paths[0] if paths else "none"])
    yield from _table(["query", "nDCG@10", "relevant", "top result"], rows, first=False)


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


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], *, first: bool = True) -> Iterator[str]:
    yield f"<table><tr>{''.join(f'<th>{escape(cell)}</th>' for cell in head)}</tr>"
    for number, row in enumerate(rows):
        kind = ' class="first"' if first and number == 0 else ""
        yield f"<tr{kind}>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
    yield "</table>"


def _means(outcome: Outcome) -> list[str]:
    return [f"{outcome.metrics[ALL][metric].mean:.3f}" for metric in METRICS]
