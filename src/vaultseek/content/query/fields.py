"""Convert request fields and command line options to filters."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Literal

from vaultseek.base import limits
from vaultseek.base.text import blank_controls
from vaultseek.base.when import present
from vaultseek.content.kinds import is_markdown
from vaultseek.content.query.dates import parse_period
from vaultseek.content.query.filters import (
    Comparison,
    Contains,
    Dated,
    DateField,
    Filter,
    HasName,
    HasProperty,
    Linked,
    PropertyCompare,
    PropertyEquals,
    Tag,
    all_of,
    is_bound,
    negated,
)
from vaultseek.errors import BadQuery


def from_fields(fields: Mapping[str, object], *, now: datetime | None = None) -> Filter | None:
    """Return the conjunction of all ``fields`` as a filter; None if there are no fields.

    A value is a string, or a list of strings that must all match. None means that the field is absent.
    ``property`` is ``name=value``, ``name<value``, ``name>=value`` and so on, or ``name=null``. Dates are
    parsed by :func:`vaultseek.content.query.dates.parse_period`, relative to ``now``. Raises BadQuery with
    the field's name for an unknown field, an invalid value, or more than ``limits.QUERY_TERMS`` values.
    """
    moment = now or present()
    values = [(field, value) for field, value in fields.items() for value in _texts(field, value)]
    if len(values) > limits.QUERY_TERMS:
        raise BadQuery(f"{len(values)} filters exceed the maximum of {limits.QUERY_TERMS}; use fewer")
    return all_of(FIELDS[field](field, value, moment) for field, value in values)


def path_filter(text: str) -> Filter:
    """Return the filter for ``path:text``: a folder if the text ends with ``/``, otherwise a part of the
    path.
    """
    is_folder = text.endswith("/") and bool(text.strip("/"))
    return HasName("folder", text.strip("/")) if is_folder else HasName("path", text)


def linked_note(text: str) -> str:
    """Return the note that a link names, without its heading or block. A path may itself contain a ``#``."""
    return text.strip() if is_markdown(text) else text.partition("#")[0].strip()


def words_filter(text: str) -> Filter:
    """Return the filter for a word or phrase. With a final ``*``, the last word is a prefix."""
    stem = text.rstrip("*")
    return Contains(stem, prefix=True) if stem != text and stem[-1:].isalnum() else Contains(text)


def _texts(field: str, value: object) -> list[str]:
    if field not in FIELDS:
        raise BadQuery(f"unknown filter {field[:40]!r}; use one of {', '.join(sorted(FIELDS))}")
    values = [] if value is None else list(value) if isinstance(value, list | tuple) else [value]
    return [_text(field, each) for each in values]


def _text(field: str, value: object) -> str:
    if not isinstance(value, str):
        raise BadQuery(f"filter {field} has the wrong type; expected a string or a list of strings")
    text = blank_controls(value).strip()
    if not text:
        raise BadQuery(f"filter {field} is empty; set a value or leave out the filter")
    if len(text) > limits.QUERY_CHARS:
        raise BadQuery(f"filter {field} is longer than {limits.QUERY_CHARS} characters; shorten it")
    return text


_Parser = Callable[[str, str, datetime], Filter]


def _of(make: Callable[[str], Filter], *, none: bool = False) -> _Parser:
    return lambda field, value, now: negated(make(value)) if none else make(value)


def _dated(date: DateField, *, before: bool) -> _Parser:
    def made(field: str, value: str, now: datetime) -> Filter:
        start = parse_period(value, now)
        if start is None:
            expected = "use 2026-01-31, 2026-01, 7d or 'last week'"
            raise BadQuery(f"filter {field}: {value[:40]!r} is not a date; {expected}")
        return Dated(date, None, start.start) if before else Dated(date, start.start, None)

    return made


def _linked(by: Literal["links", "backlinks"]) -> _Parser:
    return _of(lambda text: Linked(linked_note(text) or text, by))


_COMPARISONS: tuple[Comparison, ...] = ("<=", ">=", "<", ">")


def _property(field: str, text: str, now: datetime) -> Filter:
    operator = min((start for start in map(text.find, "=<>") if start >= 0), default=-1)
    name, rest = text[:operator].strip(), text[operator:]
    if operator < 1 or not name:
        raise BadQuery(f"filter {field} needs name=value, such as status=open, not {text[:40]!r}")
    for comparison in _COMPARISONS:
        if rest.startswith(comparison):
            bound = rest.removeprefix(comparison).strip()
            if not is_bound(bound):
                raise BadQuery(
                    f"filter {field}: {bound[:40]!r} cannot be compared; use a number or a date (2026-01-31)"
                )
            return PropertyCompare(name, comparison, bound)
    value = rest[1:].strip()
    return HasProperty(name, is_null=True) if value == "null" else PropertyEquals(name, value)


FIELDS: Mapping[str, _Parser] = {
    "tag": _of(Tag),
    "not_tag": _of(Tag, none=True),
    "path": _of(path_filter),
    "not_path": _of(path_filter, none=True),
    "property": _property,
    "has_property": _of(HasProperty),
    "created_after": _dated("created", before=False),
    "created_before": _dated("created", before=True),
    "modified_after": _dated("modified", before=False),
    "modified_before": _dated("modified", before=True),
    "links_to": _linked("links"),
    "linked_from": _linked("backlinks"),
    "phrase": _of(Contains),
    "exclude": _of(words_filter, none=True),
}
"""Map from field name to the parser for its value."""
