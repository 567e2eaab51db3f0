"""The answer to a search, formatted as text for the terminal."""

from __future__ import annotations

from vaultseek.doors.cli.listing import currency_lines, file_of, title_and_name
from vaultseek.doors.cli.output import with_command
from vaultseek.doors.cli.terminal import Terminal, age, clean, count, width_of, wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from vaultseek.base.model import JSON

    Spans = Sequence[Sequence[int]]

PREVIEW_LINES = 3
_INDENT = 4
_SCORE_COLUMNS = 14
_RANKING_KEYS = ("profile", "weights", "candidates_per_lane")
_LANE_FIGURES = ("rank", "score", "weight", "gain")
_HIDDEN_FIGURES = (*_LANE_FIGURES, "contribution", "baseline", "fused_rank")
_STEPS = (
    ("recency", "x", "recency", 1.0),
    ("time", "+", "time", 0.0),
    ("anchors", "x", "anchors", 1.0),
    ("bound", "x", "bound", 1.0),
    ("joined", "x", "joined", 1.0),
    ("name", "+", "name", 0.0),
    ("opened or pinned", "+", "opened", 0.0),
    ("successor", "+", "succession", 0.0),
    ("best", "/", "best", None),
)
"""Steps from the sum of the lanes' gains to the final score: name, sign, key, and the value that has no
effect."""


def page(answer: JSON, terminal: Terminal, *, now: float, explain: bool = False, folds: bool = False) -> str:
    """Return an answer as text: each result with its title, location and passage.

    Remarks on the query are above the results, and remarks on omitted parts of the search below them.

    Each result's bar shows its certainty. With ``folds``, the less certain notes at the end are only counted.
    """
    scored = not is_listing(answer)
    lines = [*remark_lines(answer, terminal, "closest", "query")]
    if lines and answer.get("results"):
        lines.append("")
    folded = int(answer.get("less_certain") or 0) if folds else 0
    results = answer.get("results") or []
    for result in results[: len(results) - folded]:
        lines += _result(result, answer, terminal, now, scored=scored)
        if explain and scored:
            lines += lane_table(result, terminal, " " * _INDENT)
        lines.append("")
    if folded:
        lines += [terminal.paint(f"{' ' * _INDENT}{count(folded, 'less certain note')}: --all", "dim"), ""]
    lines += _footer(answer, terminal)
    if explain:
        lines += _explanation(answer, terminal)
    return "\n".join(lines)


def remark_lines(answer: JSON, terminal: Terminal, *codes: str) -> Iterator[str]:
    """Yield the lines of an answer's remarks; only remarks whose code is in ``codes`` are included."""
    for remark in answer.get("remarks") or ():
        if remark["code"] in codes:
            text = with_command(remark["text"], remark.get("advice"))
            yield from terminal.wrapped(terminal.paint(clean(text), "magenta"))


def is_listing(answer: JSON) -> bool:
    """Return True if the query has only filters, so that all results match equally and have no scores."""
    return (answer.get("interpreted") or {}).get("rank_text") == ""


# -- one result


def _result(result: JSON, answer: JSON, terminal: Terminal, now: float, *, scored: bool) -> Iterator[str]:
    room = terminal.width - _INDENT - (_SCORE_COLUMNS if scored else 0)
    title = terminal.fit(_title(result), room)
    rank = terminal.paint(f"{result.get('rank', ''):>2}", "dim")
    gap = " " * max(1, room - width_of(title) + 1)
    yield f"{rank}  {terminal.paint(title, 'bold')}" + (gap + _score(result, terminal) if scored else "")
    margin = " " * _INDENT
    yield margin + _place(result, answer, terminal, now)
    yield from currency_lines(result, terminal, margin)
    for line in _passage(result, terminal):
        yield margin + line
    for passage in result.get("passages") or ():
        headings = [clean(heading) for heading in passage["heading_path"]]
        where = f"#{clean(passage['place'])}" if passage["place"] else f":{passage['line']}"
        yield margin + terminal.paint(terminal.fit(f"{where} {' › '.join(headings)}".rstrip(), room), "cyan")
        for line in _passage(passage, terminal):
            yield margin + line


def _score(result: JSON, terminal: Terminal) -> str:
    share = float(result.get("certainty", result.get("score")) or 0.0)  # similar notes have only scores
    return f"{terminal.bar(share)} {share:4.0%}"


def _title(result: JSON) -> str:
    title = clean(result.get("title") or result.get("path") or "")
    headings = [clean(heading) for heading in result.get("heading_path") or ()]
    if headings and headings[0] == title:
        headings = headings[1:]
    return " › ".join([title_and_name(result) or title, *headings])


def _place(result: JSON, answer: JSON, terminal: Terminal, now: float) -> str:
    room = terminal.width - _INDENT
    vault = f"{clean(result['vault'])}: " if result.get("vault") else ""
    part = result.get("place")
    where = f"#{clean(part)}" if part else f":{result.get('line') or result.get('start_line', 1)}"
    path = f"{vault}{clean(result.get('path') or '')}{where}"
    link = terminal.link(terminal.paint(path, "cyan"), file_of(result, answer))
    tags = " ".join(f"#{clean(tag).removeprefix('#')}" for tag in result.get("tags") or ())
    via = result.get("via")
    linked = f"via {clean(via.get('title') or via.get('path') or '')}" if via else ""
    details = " · ".join(part for part in (linked, tags, age(result.get("modified"), now)) if part)
    rest = room - width_of(path) - 3
    if details and (rest > _SCORE_COLUMNS or not terminal.screen):
        return link + terminal.paint(f" · {terminal.fit(details, rest)}", "dim")
    return link


def _passage(result: JSON, terminal: Terminal) -> Iterator[str]:
    preview = str(result.get("preview") or "")
    text = clean(preview)
    # Highlights are offsets in the original preview; if cleaning changed it, they are wrong.
    marks: Spans = (result.get("highlights") or ()) if text == preview else ()
    offset = 0
    for line in wrap(text, terminal.width - _INDENT, PREVIEW_LINES):
        offset = text.find(line.removesuffix("…"), offset)
        yield _highlighted(line, offset, marks, terminal)
        offset += len(line) - 1


def _highlighted(line: str, offset: int, marks: Spans, terminal: Terminal) -> str:
    parts: list[str] = []
    done = 0
    for start, end in sorted((mark[0] - offset, mark[1] - offset) for mark in marks):
        low, high = max(start, done), min(end, len(line))
        if low < high:
            parts += [line[done:low], terminal.paint(line[low:high], "bold", "magenta")]
            done = high
    return "".join([*parts, line[done:]])


# -- the whole search


def _footer(answer: JSON, terminal: Terminal) -> Iterator[str]:
    if answer.get("results"):
        yield terminal.paint(_figures(answer), "dim")
    else:
        yield from terminal.wrapped(no_match(answer, terminal))
    yield from remark_lines(answer, terminal, "incomplete", "waiting")


def _figures(answer: JSON) -> str:
    parts = [count(len(answer["results"]), "note")]
    if answer.get("took_ms") is not None:
        parts.append(f"{float(answer['took_ms']):.0f} ms")
    method = answer.get("search_method") or answer.get("mode")
    vault = answer.get("searched") or answer.get("vault")
    return " · ".join([*parts, *(clean(each) for each in (method, vault) if each)])


def no_match(answer: JSON, terminal: Terminal) -> str:
    notes = _index(answer, "notes")
    for lane in answer.get("partial") or ():
        if lane.get("code") == "being_read":
            return f"No match yet: {clean(lane['reason'])}; use --wait to wait for the rest."
    if notes == 0:
        return "No match: the vault has no notes yet."
    interpreted = answer.get("interpreted") or {}
    filters = ", ".join(clean(condition) for condition in interpreted.get("filters") or ())
    if filters and not interpreted.get("rank_text", answer.get("query")):
        where = f" (of {notes:,})" if notes else ""
        return f"No note{where} matches: {terminal.paint(filters, 'bold')}{_listing_advice(answer)}."
    query = terminal.paint(terminal.fit(clean(answer.get("query") or ""), terminal.width), "bold")
    where = f" in {count(notes, 'note')}" if notes else ""
    # If there is only one vault, it is searched from any folder, and its name is then shown.
    where += f" of {clean(answer['searched'])}" if answer.get("searched") else ""
    return f"No match for {query}{where}; {_advice(answer)}."


def _listing_advice(answer: JSON) -> str:
    words = {word for condition in answer["interpreted"]["filters"] for word in condition.split()[:2]}
    commands = [f"`vaultseek {many}`" for one, many in _LISTED if one in words]
    return f"; see {' and '.join(commands)}" if commands else ""


_LISTED = (("tag", "tags"), ("property", "properties"))


def _advice(answer: JSON) -> str:
    if nearest := answer.get("nearest"):
        return f"the closest is {clean(nearest['path'])}"
    interpreted = answer.get("interpreted") or {}
    filters = interpreted.get("filters") or ()
    if filters and len(filters) == len(interpreted.get("phrases") or ()):
        return "no note contains this exact phrase; try it without quotation marks"
    if filters:
        return "try without the filters"
    if answer.get("mode") == "keyword":
        return "to search by meaning as well, use --mode hybrid"
    if _index(answer, "pending") and not answer.get("partial"):
        return "indexing is not finished; use --wait to wait for it"
    return "try other or fewer words"


def _index(answer: JSON, key: str) -> int | None:
    number = (answer.get("index") or {}).get(key)
    return int(number) if number is not None else None


# -- explanations


def lane_table(result: JSON, terminal: Terminal, margin: str = "") -> Iterator[str]:
    """Yield the lines of a table that shows what each lane and each later step contributed to a result's
    score."""
    rows = [["lane", "rank", "score", "weight", "adds", ""]]
    for name, lane in (result.get("lanes") or {}).items():
        if lane:
            gain = {"gain": lane.get("contribution")} | lane
            rows.append([clean(name), *(_figure(gain.get(key)) for key in _LANE_FIGURES), _others(lane)])
    rows += _arithmetic(result)
    if result.get("rerank"):
        before = f"was rank {result['rerank'].get('rank_before')}"
        rows.append(["rerank", "", _figure(result["rerank"].get("score")), "", "", before])
    if result.get("confidence") is not None:
        rows.append(["confidence", "", _figure(result["confidence"]), "", "", ""])
    for line in terminal.tabled(rows, right=(1, 2, 3, 4), margin=margin):
        yield terminal.paint(terminal.fit(line, terminal.width), "dim")


def _arithmetic(result: JSON) -> Iterator[list[str]]:
    """Yield a table row for each step from the sum of the lanes' gains to the final score."""
    steps = result.get("arithmetic") or {"recency": result.get("recency")}
    for name, sign, key, neutral in _STEPS:
        if steps.get(key) not in (None, neutral):
            yield [name, "", "", "", f"{sign} {_figure(steps[key])}".strip(), ""]
    if "arithmetic" in result:
        shown = (result.get("rerank") or {}).get("score_before", result.get("score"))
        yield ["score", "", "", "", f"= {_figure(shown)}", ""]


def _explanation(answer: JSON, terminal: Terminal) -> Iterator[str]:
    hidden = ("notes", *(_RANKING_KEYS if is_listing(answer) else ()))
    for part in ("interpreted", "explain"):
        for name, value in (answer.get(part) or {}).items():
            if name not in hidden and value not in (None, [], "", {}):
                line = f"{clean(name).replace('_', ' ')}: {_plain(value)}"
                yield from terminal.wrapped(terminal.paint(line, "dim"))


def _others(lane: JSON) -> str:
    others = ((key, value) for key, value in lane.items() if key not in _HIDDEN_FIGURES and value)
    return ", ".join(f"{clean(key).replace('_', ' ')} {_figure(value)}" for key, value in others)


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{clean(key).replace('_', ' ')} {_plain(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return "; ".join(_plain(inner) for inner in value)
    return _figure(value)


def _figure(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else clean(value)
