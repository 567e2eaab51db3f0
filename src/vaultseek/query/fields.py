"""Filters that arrive as fields of a request or as options of the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from vaultseek import limits
from vaultseek.errors import BadQuery
from vaultseek.query.dates import Period, read_period
from vaultseek.query.filters import (
    Comparison,
    Contains,
    Dated,
    Filter,
    HasProperty,
    InFolder,
    LinkedFrom,
    LinksTo,
    PathContains,
    PropertyCompare,
    PropertyEquals,
    PropertyNull,
    Tag,
    all_of,
    is_bound,
    negated,
)
from vaultseek.text import blank_controls


def from_fields(fields: Mapping[str, object], *, now: datetime | None = None) -> Filter | None:
    """The filter that all of ``fields`` ask for together, None when they ask for nothing.

    A value is a text or a list of texts, each of which must be satisfied; None stands for an absent field.
    ``property`` is ``name=value``, ``name<value``, ``name>=value`` and so on, or ``name=null``. Dates are
    those of :func:`vaultseek.query.dates.read_period`, relative to ``now``. Raises BadQuery, which names the
    field, for an unknown field, a value that cannot be read, and more values than ``limits.QUERY_TERMS``.
    """
    moment = now or datetime.now()
    values = [(field, value) for field, given in fields.items() for value in _texts(field, given)]
    if len(values) > limits.QUERY_TERMS:
        raise BadQuery(f"{len(values)} filters are more than {limits.QUERY_TERMS}; use fewer")
    return all_of(_READERS[field](field, value, moment) for field, value in values)


def path_filter(text: str) -> Filter:
    """What ``path:text`` asks for: a folder when the text ends with ``/``, else a part of the path."""
    return InFolder(text.strip("/")) if text.endswith("/") and text.strip("/") else PathContains(text)


def words_filter(text: str) -> Filter:
    """What a word or phrase asks for as a filter; a ``*`` at its end lets the last word go on."""
    stem = text.rstrip("*")
    return Contains(stem, prefix=True) if stem != text and stem[-1:].isalnum() else Contains(text)


def _texts(field: str, given: object) -> list[str]:
    if field not in _READERS:
        raise BadQuery(f"unknown filter {field[:40]!r}; known are {', '.join(sorted(_READERS))}")
    values = [] if given is None else list(given) if isinstance(given, list | tuple) else [given]
    return [_text(field, value) for value in values]


def _text(field: str, value: object) -> str:
    if not isinstance(value, str):
        raise BadQuery(f"filter {field} has the wrong type; expected a string or a list of strings")
    clean = blank_controls(value).strip()
    if not clean:
        raise BadQuery(f"filter {field} has an empty value; leave it out or give it one")
    if len(clean) > limits.QUERY_CHARS:
        raise BadQuery(f"filter {field} is longer than {limits.QUERY_CHARS} characters; shorten it")
    return clean


_Reader = Callable[[str, str, datetime], Filter]


def _plain(make: Callable[[str], Filter]) -> _Reader:
    return lambda field, value, now: make(value)


def _none_of(make: Callable[[str], Filter]) -> _Reader:
    return lambda field, value, now: negated(make(value))


def _period(field: str, value: str, now: datetime) -> Period:
    period = read_period(value, now)
    if period is None:
        raise BadQuery(
            f"filter {field}: {value[:40]!r} is not a date; use 2026-01-31, 2026-01, 7d or 'last week'"
        )
    return period


def _created_after(field: str, value: str, now: datetime) -> Filter:
    return Dated("created", _period(field, value, now).start, None)


def _created_before(field: str, value: str, now: datetime) -> Filter:
    return Dated("created", None, _period(field, value, now).start)


def _modified_after(field: str, value: str, now: datetime) -> Filter:
    return Dated("modified", _period(field, value, now).start, None)


def _modified_before(field: str, value: str, now: datetime) -> Filter:
    return Dated("modified", None, _period(field, value, now).start)


_COMPARISONS: tuple[Comparison, ...] = ("<=", ">=", "<", ">")


def _property(field: str, text: str, now: datetime) -> Filter:
    at = min((place for place in map(text.find, "=<>") if place >= 0), default=-1)
    name, rest = text[:at].strip(), text[at:]
    if at < 1 or not name:
        raise BadQuery(f"filter {field} needs name=value, such as status=open, not {text[:40]!r}")
    for comparison in _COMPARISONS:
        if rest.startswith(comparison):
            bound = rest.removeprefix(comparison).strip()
            if not is_bound(bound):
                raise BadQuery(
                    f"filter {field}: {bound[:40]!r} cannot be ordered; use a number or a date, 2026-01-31"
                )
            return PropertyCompare(name, comparison, bound)
    value = rest[1:].strip()
    return PropertyNull(name) if value == "null" else PropertyEquals(name, value)


_READERS: Mapping[str, _Reader] = {
    "tag": _plain(Tag),
    "not_tag": _none_of(Tag),
    "path": _plain(path_filter),
    "not_path": _none_of(path_filter),
    "property": _property,
    "has_property": _plain(HasProperty),
    "created_after": _created_after,
    "created_before": _created_before,
    "modified_after": _modified_after,
    "modified_before": _modified_before,
    "links_to": _plain(LinksTo),
    "linked_from": _plain(LinkedFrom),
    "phrase": _plain(Contains),
    "exclude": _none_of(words_filter),
}
