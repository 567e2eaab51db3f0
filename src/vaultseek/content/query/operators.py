"""Operators ``name:value`` and ``[property:value]`` of the query language. Each operator makes a filter from
its value.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import NamedTuple, cast

from vaultseek.base.currency import Rules
from vaultseek.base.text import SHOWN_CHARS, fold
from vaultseek.content.kinds import KINDS, Kind
from vaultseek.content.query.dates import Period, parse_period
from vaultseek.content.query.facts import Scope
from vaultseek.content.query.fields import linked_note, path_filter
from vaultseek.content.query.filters import (
    Comparison,
    Dated,
    Filter,
    HasName,
    HasProperty,
    HasTask,
    IsOutdated,
    Linked,
    NameMatches,
    Or,
    PropertyCompare,
    PropertyEquals,
    PropertyMatches,
    Tag,
    TaskState,
    Within,
    Written,
    any_of,
    is_bound,
    negated,
)
from vaultseek.content.query.tree import Condition, Expression, Node, Phrase, Word, text_filter, to_filter


class Reading(NamedTuple):
    """Settings with which a query is read: the current time, and the rules for outdated notes."""

    now: datetime
    rules: Rules = Rules()


Operator = Callable[[Node, Reading], Condition | None]
"""Function that makes a condition from a value; it returns None if the value is invalid."""


def property_filter(inside: str, problem_of: Callable[[str], str | None]) -> tuple[Filter, tuple[str, ...]]:
    """Return the filter for ``[inside]``. ``inside`` is a property's name, or its name and values with OR
    between them.

    The second result has a remark for each value that looks like an operator but is read as text.
    ``problem_of`` returns the error in a regular expression.
    """
    match = _PROPERTY.fullmatch(inside)
    name, values = (_unquoted(match[1]), match[2]) if match else (inside.strip(), None)
    ungrouped = _without_groups if _opened(values or "") == 0 else str.strip
    options = [option for part in _OPTIONS.split(values or "") if (option := ungrouped(part))]
    remarks = {option: _remark(option, problem_of) for option in options}
    notes = tuple(
        f"[{name[:SHOWN_CHARS]}:{option[:SHOWN_CHARS]}] was compared as plain text; {remark}"
        for option, remark in remarks.items()
        if remark
    )
    parts = (_equal(name, option) if remarks[option] else _option(name, option) for option in options)
    return any_of(parts) or HasProperty(name), notes


_PROPERTY = re.compile(r'\s*("[^"]*"|[^:]*)(?:\s*:(.*))?')
_OPTIONS = re.compile(r'\sOR\s(?=(?:(?:\\"|[^"])*+"(?:\\"|[^"])*+")*+(?:\\"|[^"])*+$)')
_COMPARISON = re.compile(r"(<=|>=|<|>)\s*([^<>=\s].*)")
_EXPRESSION = re.compile(r"/((?![\s/])(?:\\.|[^/\\])+)/")
_QUOTED = re.compile(r'"(?:\\"|[^"])*+"')
_EXCLUDED = re.compile(r"(?:^|\s)-[^\W\d]")


def _opened(text: str) -> int:
    """Return the number of unclosed parentheses, ignoring quoted text."""
    unquoted = _QUOTED.sub("", text)
    return unquoted.count("(") - unquoted.count(")")


def _without_groups(option: str) -> str:
    """Remove the parentheses of groups from one of the values between ORs.

    A group may contain only values and OR.
    """
    option = option.strip()
    while option.startswith("(") and (option.endswith(")") or _opened(option) > 0):
        option = option[1:].lstrip()
    while option.endswith(")") and _opened(option) < 0:
        option = option[:-1].rstrip()
    return option


def _option(name: str, text: str) -> Filter:
    if match := _COMPARISON.fullmatch(text):
        return PropertyCompare(name, cast(Comparison, match[1]), match[2])
    if match := _EXPRESSION.fullmatch(text):
        return PropertyMatches(name, _pattern(match))
    return HasProperty(name, is_null=True) if text == "null" else _equal(name, text)


def _equal(name: str, text: str) -> Filter:
    return PropertyEquals(name, _unquoted(text))


def _remark(option: str, problem_of: Callable[[str], str | None]) -> str | None:
    """Return a remark with advice if a value looks like an operator but is read as text; otherwise None."""
    if option.startswith(("<", ">")):
        match = _COMPARISON.fullmatch(option)
        expected = "expected a number or a date such as 2026-01-31 after < or >"
        return None if match and is_bound(match[2]) else expected
    if match := _EXPRESSION.fullmatch(option):
        problem = problem_of(_pattern(match))
        return f"it is not a valid regular expression: {problem}" if problem else None
    if _opened(option):
        return "expected balanced parentheses"
    excludes = _EXCLUDED.search(_QUOTED.sub("", option))
    return "to exclude a value, write the - before the bracket" if excludes else None


def _pattern(match: re.Match[str]) -> str:
    return match[1].replace("\\/", "/")


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1].replace('\\"', '"') if len(text) > 1 and text[0] == text[-1] == '"' else text


def _of_each(make: Callable[[str], Filter | None], written: Written | None = None) -> Operator:
    def leaf_filter(leaf: Word | Phrase | Expression) -> Filter | None:
        if not isinstance(leaf, Expression) or written is None:
            return make(leaf.text)
        if written == "path" and _FOLDER.fullmatch(leaf.text):
            return path_filter(f"/{leaf.text}/")
        return NameMatches(written, leaf.text)

    def condition(value: Node, reading: Reading) -> Condition | None:
        filter = to_filter(value, leaf_filter)
        return Condition(filter) if filter else None

    return condition


_FOLDER = re.compile(r"[\w\s/-]*")


def _within(scope: Scope) -> Operator:
    def condition(value: Node, reading: Reading) -> Condition | None:
        test = to_filter(value, text_filter)
        return Condition(Within(scope, test)) if test else None

    return condition


def _task(state: TaskState) -> Operator:
    def condition(value: Node, reading: Reading) -> Condition | None:
        return Condition(HasTask(state, to_filter(value, text_filter)))

    return condition


def _dated(make: Callable[[Period], Filter]) -> Operator:
    def condition(value: Node, reading: Reading) -> Condition | None:
        def of_period(text: str) -> Filter | None:
            period = parse_period(text, reading.now)
            return make(period) if period else None

        return _of_each(of_period)(value, reading)

    return condition


STATES = ("current", "superseded", "stale")
PERIODS = ("today", "yesterday", "last week", "last month", "7d", "3 months")
"""Examples of a period, for completion."""


def _state(value: Node, reading: Reading) -> Condition | None:
    """Return the condition for ``is:superseded``, ``is:stale`` or ``is:current`` (all other notes)."""
    superseded = IsOutdated("superseded", reading.now.date().isoformat(), reading.rules)
    stale = replace(superseded, state="stale")
    filters = (negated(Or((superseded, stale))), superseded, stale)
    states = dict(zip(STATES, filters, strict=True))
    return _of_each(lambda text: states.get(fold(text)))(value, reading)


def _extensions(text: str) -> Filter | None:
    names = [name.lstrip(".") for name in text.replace(",", " ").split()]
    return any_of(HasName("extension", name) for name in names if name)


def _kind(text: str) -> Filter | None:
    """Return the filter for a kind of file, named in singular or plural or by another common name."""
    name = fold(text)
    kind = next((each for each in KINDS if name in (each, f"{each}s")), _OTHER_NAMES.get(name))
    return HasName("kind", kind) if kind else None


_OTHER_NAMES: Mapping[str, Kind] = {
    "markdown": "note",
    "md": "note",
    "drawing": "excalidraw",
    "txt": "text",
    "canvases": "canvas",
    "picture": "image",
    "page": "html",
}


def _link_target(text: str) -> Filter | None:
    target = linked_note(text)
    return Linked(target) if target else None


OPERATORS: Mapping[str, Operator] = {
    "tag": _of_each(Tag, "tag"),
    "path": _of_each(path_filter, "path"),
    "file": _of_each(partial(HasName, "file name"), "file name"),
    "ext": _of_each(_extensions),
    "kind": _of_each(_kind),
    "is": _state,
    "when": lambda value, reading: None,  # ``when:any`` is not a condition
    "alias": _of_each(partial(HasName, "alias"), "alias"),
    "heading": _of_each(partial(HasName, "heading"), "heading"),
    "link": _of_each(_link_target),
    "content": _within("content"),
    "section": _within("section"),
    "line": _within("line"),
    "block": _within("block"),
    "task": _task("any"),
    "task-todo": _task("todo"),
    "task-done": _task("done"),
    "before": _dated(lambda period: Dated("modified", None, period.start)),
    "after": _dated(lambda period: Dated("modified", period.start, None)),
    "created": _dated(lambda period: Dated("created", period.start, period.end)),
    "modified": _dated(lambda period: Dated("modified", period.start, period.end)),
}
"""Map from lower-case name to operator. ``before`` and ``after`` refer to the modification date."""

ABOUT: Mapping[str, str] = {
    "tag": "a tag and the tags nested under it",
    "path": "a folder, or part of the path",
    "link": "notes that link to a note",
    "file": "part of the file's name",
    "heading": "words in a heading",
    "task-todo": "words in an open task",
    "task-done": "words in a finished task",
    "task": "words in a task",
    "line": "words in one line",
    "section": "words between two headings",
    "block": "words in one block",
    "content": "words in the note's text",
    "is": "current, superseded or stale",
    "kind": "a kind of file",
    "ext": "a file extension",
    "alias": "an alias",
    "modified": "the last change: a day, a month, today or yesterday",
    "created": "the creation date: a day, a month, today or yesterday",
    "after": "changed on or after this day",
    "before": "changed before this day",
    "when": "any, to ignore times in the query",
}
"""Meaning of each operator's value, shown in completions; frequent operators come first."""

EXPRESSION_OPERATORS = frozenset(
    {"content", "section", "line", "block", "task", "task-todo", "task-done"}
    | {"tag", "path", "file", "alias", "heading"}
)
"""Operators whose value may be a regular expression."""

EXTENSIONS = (
    *("md", "markdown", "mdx", "txt", "canvas", "base", "excalidraw", "csv", "docx", "xlsx", "pptx", "pdf"),
    *("png", "jpg", "jpeg", "gif", "svg", "webp", "bmp", "avif"),
    *("mp3", "wav", "m4a", "ogg", "flac", "3gp", "webm", "mp4", "mov", "mkv", "ogv"),
)
"""Extensions for which a bare ``.name`` is a filter; any other such name, like ``.net``, is a word."""
