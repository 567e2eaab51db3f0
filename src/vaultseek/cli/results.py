"""An answer to a search as a person reads it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from vaultseek import limits
from vaultseek.cli.terminal import Terminal, age, clean, count, cut, table, width_of, wrap

JSON = dict[str, Any]

_INDENT = 4
_WORD = re.compile(r"\w+(?:[-_./]\w+)*")
_NO_SEARCH_WORD = re.compile(r'(?:^|(?<=\s))-(?:"[^"]*"?|\([^)]*\)?|\S+)|\[[^\]]*\]|\b(?:OR|AND)\b|\b\w+:')
_REASONS = {
    "loading": "is still loading",
    "starting": "is still loading",
    "down": "is not running",
    "timeout": "was too slow this time",
    "deadline": "was too slow this time",
    "indexing": "is still being filled",
    "empty": "has nothing to search in yet",
}


def page(answer: JSON, terminal: Terminal, *, now: float, explain: bool = False) -> str:
    """The results, each with its heading, place and passage, and one line about the search as a whole."""
    results = answer.get("results") or []
    if not results:
        return "\n".join([_nothing_found(answer, terminal), *_remarks(answer, terminal)])
    terms = search_terms(answer)
    lines: list[str] = []
    for result in results:
        lines += [
            *_result(result, terminal, terms, now),
            *(_explanation(result, terminal) if explain else ()),
            "",
        ]
    return "\n".join(
        [*lines, _footer(answer, terminal), *_remarks(answer, terminal), *_stages(answer, explain)]
    )


def search_terms(answer: JSON) -> re.Pattern[str] | None:
    """What to set off in the passages: the words of the query, also as the beginning of longer ones."""
    query = _NO_SEARCH_WORD.sub(" ", str(answer.get("query", "")))
    words = sorted({word for word in _WORD.findall(query) if len(word) > 1 or ord(word) > 0x2E7F}, key=len)
    # Little words are everywhere and say nothing; they are set off only where there is nothing else.
    words = [word for word in words if len(word) > 3 or not (word.isascii() and word.islower())] or words
    if not words:
        return None
    either = "|".join(re.escape(clean(word)) for word in reversed(words))
    return re.compile(rf"(?<![^\W_])(?:{either})[^\W_]*|(?:{_unspaced(words)})", re.IGNORECASE)


def _result(result: JSON, terminal: Terminal, terms: re.Pattern[str] | None, now: float) -> Iterator[str]:
    room = terminal.width - _INDENT
    score = float(result.get("score") or 0.0)
    title = cut(_title(result), room - 14)
    gap = " " * (room - 14 - width_of(title) + 1)
    rank = terminal.paint(f"{result.get('rank', ''):>2}", "dim")
    yield f"{rank}  {terminal.paint(title, 'bold')}{gap}{terminal.bar(score)} {score:.2f}"
    margin = " " * _INDENT
    yield margin + _place(result, terminal, now)
    for line in wrap(clean(result.get("preview") or ""), room, limits.PREVIEW_LINES):
        yield margin + terminal.highlight(line, terms)


def _title(result: JSON) -> str:
    title = clean(result.get("title") or result.get("path") or "")
    headings = [clean(heading) for heading in result.get("heading_path") or ()]
    if headings and headings[0] == title:
        headings = headings[1:]
    return " › ".join([title, *headings])


def _place(result: JSON, terminal: Terminal, now: float) -> str:
    room = terminal.width - _INDENT
    path = f"{clean(result.get('path') or '')}:{result.get('start_line', 1)}"
    tags = " ".join(f"#{clean(tag).removeprefix('#')}" for tag in result.get("tags") or ())
    details = " · ".join(part for part in (tags, age(result.get("modified"), now)) if part)
    details = cut(details, max(0, room - width_of(path) - 3)) if width_of(path) + 8 < room else ""
    return terminal.paint(path, "cyan") + (terminal.paint(f" · {details}", "dim") if details else "")


def _explanation(result: JSON, terminal: Terminal) -> Iterator[str]:
    lanes = result.get("lanes") or {}
    rows = [["lane", "rank", "score", "weight", "adds", ""]]
    for name, lane in lanes.items():
        if lane:
            cells = [_figure(lane.get(key)) for key in ("rank", "score", "weight", "contribution")]
            rows.append([clean(name), *cells, _rest(lane)])
    if result.get("recency") is not None:
        rows.append(["recency", "", "", "", f"x {_figure(result['recency'])}", ""])
    if result.get("confidence") is not None:
        rows.append(["confidence", "", _figure(result["confidence"]), "", "", ""])
    for line in table(rows, right=(1, 2, 3, 4)):
        yield " " * _INDENT + terminal.paint(cut(line, terminal.width - _INDENT), "dim")


def _rest(lane: JSON) -> str:
    known = ("rank", "score", "weight", "contribution")
    return ", ".join(
        f"{clean(key)} {clean(value)}" for key, value in lane.items() if key not in known and value
    )


def _figure(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else clean(value)


def _stages(answer: JSON, explain: bool) -> Iterator[str]:
    if not explain:
        return
    for key in ("interpreted", "explain"):
        if answer.get(key):
            yield f"{key}: {clean(answer[key])}"


def _footer(answer: JSON, terminal: Terminal) -> str:
    parts = [count(len(answer["results"]), "note")]
    if answer.get("took_ms") is not None:
        parts.append(f"{float(answer['took_ms']):.0f} ms")
    if answer.get("mode"):
        parts.append(clean(answer["mode"]))
    return terminal.paint(" · ".join(parts), "dim")


def _remarks(answer: JSON, terminal: Terminal) -> Iterator[str]:
    for lane in answer.get("partial") or ():
        yield terminal.paint(missing_lane(lane, answer), "yellow")
    pending = (answer.get("index") or {}).get("pending") or 0
    if pending:
        verb = "waits" if pending == 1 else "wait"
        yield terminal.paint(f"{count(pending, 'passage')} still {verb} to be embedded", "yellow")


def missing_lane(lane: JSON | str, answer: JSON) -> str:
    """In plain words, which lane did not take part and why."""
    if isinstance(lane, str):
        name, _, reason = lane.partition(":")
    else:
        name, reason = str(lane.get("lane", "a lane")), str(lane.get("reason") or "")
    known = _REASONS.get(reason.strip().lower())
    words = f"{clean(name)} search {known or 'did not take part'}"
    if not known and reason.strip():
        words += f" ({clean(reason.strip())})"
    keyword_only = name == "semantic" and answer.get("mode") != "semantic"
    return words + ("; keyword results only" if keyword_only else "")


def _nothing_found(answer: JSON, terminal: Terminal) -> str:
    query = cut(clean(answer.get("query") or ""), terminal.width)
    notes = (answer.get("index") or {}).get("notes")
    where = f" in {count(notes, 'note')}" if notes is not None else ""
    if notes == 0:
        return "Nothing found: the vault has no notes yet; `vaultseek status` says what it is doing."
    advice = "other or fewer words may help"
    if answer.get("mode") == "keyword":
        advice = "--mode hybrid also searches by meaning"
    elif (answer.get("index") or {}).get("pending") and not answer.get("partial"):
        advice = "indexing is not done yet, --wait waits for it"
    return f"Nothing found for {terminal.paint(query, 'bold')}{where}; {advice}."


def _unspaced(words: list[str]) -> str:
    # Chinese, Japanese and Korean have no word borders to look for.
    return "|".join(re.escape(word) for word in words if ord(word[0]) > 0x2E7F) or r"(?!)"
