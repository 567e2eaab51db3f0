"""The figures of README.md and docs/performance.md, written between markers from the JSON files of runs."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[2]
README = PROJECT / "README.md"
PAGE = PROJECT / "docs" / "performance.md"
PLOT = PROJECT / "docs" / "growth.svg"
MAIN = {"hybrid-large": 0, "process": 1, "save": 0}
"""The rows in the README that users notice, each with the figure to show."""
LEFT_OUT = (2, 8)
"""Query lengths, in words, whose figures are only in the JSON file."""
STAGES = (
    ("request, JSON and socket", "request, JSON, socket"),
    ("filter", "filter"),
    ("keyword", "by word (beside the search by meaning)"),
    ("semantic", "by meaning, including the round trip to the worker"),
    ("embed", "– of this, embedding the query"),
    ("neighbours", "– of this, the nearest vectors"),
    ("fuse", "fusion, links, ranking"),
    ("passages", "passages and snippets"),
    ("over the socket", "**the whole search**"),
)
"""Each stage and its description."""

Run = dict[str, Any]
Figures = list[dict[str, Any]]


def read_runs(files: Iterable[Path]) -> Run:
    """Merge the runs into one; if two contain the same row, the later file wins."""
    together: Run = {"rows": {}, "plot": None, "machine": "", "when": ""}
    for file in files:
        run = json.loads(file.read_text(encoding="utf-8"))
        rows: dict[str, Figures] = {}
        for figure in run["figures"]:
            rows.setdefault(figure["row"], []).append(figure)
        together["rows"].update(rows)
        together["plot"] = run.get("plot") or together["plot"]
        together |= {"machine": run["machine"], "when": run["when"][:10]}
    return together


def write(run: Run) -> None:
    """Write the tables of the two pages, and the plot."""
    rows: dict[str, Figures] = run["rows"]
    machine = f"Measured on {run['when']}: {run['machine']}."
    rows["filters"] = _slowest(rows.get("filters", []))
    everything = [
        figure
        for name, figures in rows.items()
        if not name.startswith("profile")
        for figure in figures
        if figure["numbers"].get("words") not in LEFT_OUT
    ]
    _replace(PAGE, "table", f"{machine}\n\n{table(everything)}")
    _replace(PAGE, "profile", profile(rows.get("profile-small", []), rows.get("profile-large", [])))
    main = [figure for name, place in MAIN.items() for figure in rows.get(name, [])[place : place + 1]]
    _replace(README, "main", f"{machine}\n\n{table(main, COMPARED)}")
    if run["plot"]:
        PLOT.write_text(run["plot"], encoding="utf-8")


COMPARED = ("what", "measured", "reference")
COLUMNS = (*COMPARED, "target and result")


def table(figures: Sequence[dict[str, Any]], columns: Sequence[str] = COLUMNS) -> str:
    """Return the figures as a Markdown table."""
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    for figure in figures:
        cells = {**figure, COLUMNS[-1]: _verdict(figure)}
        texts = (_dashless(cells[column]).replace("|", "\\|") for column in columns)
        lines.append(f"| {' | '.join(texts)} |")
    return "\n".join(lines)


def profile(small: Figures, large: Figures) -> str:
    """Return the time of each stage of a hybrid search as a Markdown table."""
    sizes = [
        {figure["numbers"]["stage"]: figure["numbers"] for figure in figures} for figures in (small, large)
    ]
    notes = [next((f"{numbers['notes']:,} notes" for numbers in stages.values()), "–") for stages in sizes]
    lines = [f"| stage, milliseconds (p50) | {notes[0]} | {notes[1]} |", "|---|---|---|"]
    for stage, what in STAGES:
        cells = [f"{stages[stage]['p50_ms']:.1f}" if stage in stages else "–" for stages in sizes]
        lines.append(f"| {what} | {cells[0]} | {cells[1]} |")
    return "\n".join(lines)


def _slowest(filters: Figures) -> Figures:
    """Return the figure with the highest ratio for each share of passages, over all kinds of filters."""
    slowest: dict[str, dict[str, Any]] = {}
    for figure in filters:
        share = figure["what"].rpartition(", by ")[0]
        slowest[share] = max(figure, slowest.get(share, figure), key=lambda each: float(each["ratio"]))
    return list(slowest.values())


def _replace(page: Path, block: str, text: str) -> None:
    """Replace the text between the markers of the block."""
    begin, end = f"<!-- bench: {block} -->\n", f"<!-- bench: end of {block} -->"
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    page.write_text(f"{before}{begin}{text}\n{end}{after}", encoding="utf-8")


def _verdict(figure: dict[str, Any]) -> str:
    ratio = [] if figure["ratio"] is None else [f"ratio {figure['ratio']:.2f}"]
    verdict = ", ".join([*ratio, *{True: ["met"], False: ["**missed**"], None: []}[figure["met"]]])
    return "; ".join(part for part in (_dashless(figure["target"]), verdict) if part)


def _dashless(text: str) -> str:
    return "" if text == "–" else text
