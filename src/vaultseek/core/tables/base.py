"""Read Obsidian bases: the YAML in a ``.base`` file, or in a code block of a note.

Reading never raises an exception; unsupported parts are reported as problems. Spellings from the first
versions of Bases are also read: ``display`` for column names, ``columns`` for ``order`` in a view, ``column``
for ``property`` in a sort.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from vaultseek.base.limits import BASE_BYTES, BASE_DEPTH, BASE_KEYS, BASE_VIEWS, MIB
from vaultseek.base.model import JSON, Problem
from vaultseek.base.text import printable, quote
from vaultseek.content.markdown.yamlcore import Bounds, LoadError, load


@dataclass(frozen=True, slots=True)
class Group:
    """Conditions joined by *and*, *or* or *not*; each condition is an expression or another group."""

    holds: Literal["and", "or", "not"]
    parts: tuple[Condition, ...]


Condition = str | Group


@dataclass(frozen=True, slots=True)
class Sort:
    """A column by which rows are sorted or grouped."""

    column: str
    descending: bool = False


@dataclass(frozen=True, slots=True)
class View:
    """A view of a base. ``columns`` are the names of properties or formulas; ``summaries`` are keyed by
    column.
    """

    name: str
    type: str = "table"
    filter: Condition | None = None
    columns: tuple[str, ...] = ("file.name",)
    sort: tuple[Sort, ...] = ()
    group: Sort | None = None
    limit: int | None = None
    summaries: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Base:
    """A base: its views, and the settings that all views share."""

    filter: Condition | None = None
    formulas: tuple[tuple[str, str], ...] = ()
    names: tuple[tuple[str, str], ...] = ()
    summaries: tuple[tuple[str, str], ...] = ()
    views: tuple[View, ...] = (View("Table"),)
    problems: tuple[Problem, ...] = ()


_BOUNDS = Bounds(BASE_DEPTH, BASE_KEYS)
_KEYS = frozenset({"filters", "formulas", "properties", "display", "summaries", "views"})
_VIEW_KEYS = frozenset(
    {"type", "name", "filters", "order", "columns", "sort", "groupBy", "limit", "summaries"}
)
_LOOKS = frozenset(
    {
        *("columnSize", "rowHeight", "cardSize", "image", "imageFit", "imageAspectRatio", "columnWidth"),
        *("markers", "nestedProperties", "indentProperties", "separator", "separators", "hideEmptyColumns"),
        *("coordinates", "markerIcon", "markerColor", "defaultZoom", "minZoom", "maxZoom", "center"),
        *(
            "mapHeight",
            "mapTiles",
            "mapTilesDark",
            "summaryPosition",
            "cardOrder",
            "columnOrder",
            "collapsed",
        ),
    }
)
"""Keys for the appearance of a view. They do not apply to a table of text."""


def read_base(text: str) -> Base:
    """Parse a base from its YAML."""
    if len(text) > BASE_BYTES:
        return _unread(f"larger than {BASE_BYTES // MIB} MiB")
    if not text.strip():
        return Base()
    try:
        value = load(text, _BOUNDS).value
    except LoadError as error:
        return _unread(str(error), error.row)
    if value is None:
        return Base()
    if not isinstance(value, dict):
        return _unread("not a mapping; begin with a line such as `views:`")
    return _Reader().base(value)


def _unread(message: str, row: int | None = None) -> Base:
    line = None if row is None else row + 1
    return Base(views=(), problems=(Problem("bad_base", f"the base was not read: {message}", line),))


class _Reader:
    """Reader for one base, which collects the problems that it finds."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def base(self, value: JSON) -> Base:
        self._unknown(value, _KEYS, "the base")
        views = value.get("views")
        if not isinstance(views, list | None):
            self._report("views is not a list; begin each view with a hyphen")
            views = None
        read = [self._view(view, number) for number, view in enumerate((views or [])[:BASE_VIEWS], 1)]
        return Base(
            filter=self._condition(value.get("filters"), "filters"),
            formulas=tuple(self._texts(value.get("formulas"), "formulas")),
            names=tuple(self._names(value)),
            summaries=tuple(self._texts(value.get("summaries"), "summaries")),
            views=tuple(view for view in read if view is not None) or (View("Table"),),
            problems=tuple(self.problems),
        )

    def _view(self, value: Any, number: int) -> View | None:
        if not isinstance(value, dict):
            self._report(f"view {number} is not a mapping, so it is ignored")
            return None
        name = str(value.get("name") or f"View {number}")
        where = f"view {printable(name, 40)}"
        self._unknown(value, _VIEW_KEYS | _LOOKS, where)
        limit = value.get("limit")
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
            self._report(f"{where}: limit is not a whole number above 0, so it is ignored")
            limit = None
        order = value.get("order") or value.get("columns") or []
        columns = order if isinstance(order, list) else []
        return View(
            name=name,
            type=str(value.get("type") or "table"),
            filter=self._condition(value.get("filters"), f"{where}: filters"),
            columns=tuple(dict.fromkeys(_text(each) for each in columns if _text(each))) or ("file.name",),
            sort=tuple(self._sorts(value.get("sort"), where)),
            group=next(iter(self._sorts(value.get("groupBy"), where)), None),
            limit=limit,
            summaries=tuple(self._texts(value.get("summaries"), f"{where}: summaries")),
        )

    def _condition(self, value: Any, where: str) -> Condition | None:
        if value is None or value == "":
            return None
        if isinstance(value, list):
            return Group("and", tuple(self._conditions(value, where)))
        if not isinstance(value, dict):
            return _text(value)
        groups: list[Condition] = []
        for key, parts in value.items():
            if key not in ("and", "or", "not"):
                self._report(f'{where}: {quote(key, 40)} is ignored; use "and", "or" or "not"')
                continue
            inner = tuple(self._conditions(parts if isinstance(parts, list) else [parts], where))
            if inner:
                groups.append(Group(key, inner))
        return groups[0] if len(groups) == 1 else Group("and", tuple(groups)) if groups else None

    def _conditions(self, values: Iterable[Any], where: str) -> Iterable[Condition]:
        for value in values:
            condition = self._condition(value, where)
            if condition is not None:
                yield condition

    def _sorts(self, value: Any, where: str) -> Iterable[Sort]:
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict):
                column = _text(each.get("property") or each.get("column") or "")
                if column:
                    yield Sort(column, str(each.get("direction") or "").upper().startswith("DESC"))
                    continue
            if isinstance(each, str) and each:
                yield Sort(each)
            elif each is not None:
                self._report(f"{where}: a sort or group without a property is ignored")

    def _names(self, value: JSON) -> Iterable[tuple[str, str]]:
        for key in ("display", "properties"):
            settings = value.get(key)
            if isinstance(settings, dict):
                for column, name in settings.items():
                    name = name.get("displayName") if isinstance(name, dict) else name
                    if name is not None and not isinstance(name, dict | list):
                        yield column, _text(name)

    def _texts(self, value: Any, where: str) -> Iterable[tuple[str, str]]:
        if not isinstance(value, dict | None):
            self._report(f"{where} is not a mapping, so it is ignored")
        for name, text in (value if isinstance(value, dict) else {}).items():
            if isinstance(text, dict | list) or text is None:
                self._report(f"{where}: {quote(name, 40)} is not text, so it is ignored")
            else:
                yield name, _text(text)

    def _unknown(self, value: Mapping[str, Any], known: frozenset[str], where: str) -> None:
        for key in sorted(value.keys() - known):
            self._report(f"{where}: the unknown key {quote(key, 40)} is ignored")

    def _report(self, message: str) -> None:
        self.problems.append(Problem("bad_base", message))


def _text(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else "" if value is None else str(value)
