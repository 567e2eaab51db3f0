"""Read Obsidian bases: the names of their views, and the tags, folders, properties and notes that their
filters and formulas mention.
"""

import re
from collections.abc import Iterator
from typing import Any

from vaultseek.base.limits import BASE_DEPTH, BASE_KEYS
from vaultseek.base.model import JSON, Note
from vaultseek.content.extractors.composition import Composition, link_target, named_only, one_line
from vaultseek.content.markdown.decode import decode
from vaultseek.content.markdown.yamlcore import Bounds, LoadError, load

_BOUNDS = Bounds(BASE_DEPTH, BASE_KEYS)
_CALL = re.compile(r"\b(hasTag|inFolder|hasLink|hasProperty|link|file)\(([^()]*)\)")
_ARGUMENT = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'")
_LISTED = {"hasTag": "tags", "inFolder": "folders", "hasProperty": "properties"}
_LINK = re.compile(r"\[\[([^\[\]|#]+)(?:#[^\[\]|]*)?(?:\|[^\[\]]*)?\]\]")
_TEXT = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
_NAME = re.compile(r"(?<![\w.])(?:note\.)?([a-zA-Z_][\w-]*)(?![\w(.-])")
_OF_NOTE = re.compile(r"\bnote\[\s*(?:\"([^\"]+)\"|'([^']+)')\s*\]")
_WORDS = frozenset({"and", "or", "not", "true", "false", "null", "this", "file", "formula", "note", "if"})


def read(data: bytes, path: str) -> Note:
    """Read a base as a note; each view is a separate part."""
    text, _ = decode(data)
    try:
        base = load(text, _BOUNDS).value if text.strip() else {}
    except LoadError as error:
        return named_only(path, "damaged", f"not a base: {error}")
    if not isinstance(base, dict):
        return named_only(path, "damaged", "not a base: expected views, filters, formulas or properties")
    made = Composition(path)
    shared = _Mentions()
    shared.filters(base.get("filters"))
    made.place("")
    _write(made, "filters", _conditions(base.get("filters")))
    for name, formula in _pairs(base.get("formulas")):
        shared.expression(str(formula))
        made.paragraph(f"formula {one_line(name)}: {one_line(str(formula))}")
    for name, options in _pairs(base.get("properties")):
        shared.column(name)
        shown = options.get("displayName") if isinstance(options, dict) else None
        made.paragraph(f"property {one_line(name)}" + (f": {one_line(str(shown))}" if shown else ""))
    shared.write(made)
    views = base.get("views")
    for view in views if isinstance(views, list) else ():
        if isinstance(view, dict) and not made.full:
            _write_view(view, made)
    return made.note()


def _write_view(view: JSON, made: Composition) -> None:
    kind, name = one_line(str(view.get("type") or "table")), one_line(str(view.get("name") or "View"))
    mentions = _Mentions()
    mentions.filters(view.get("filters"))
    order = view.get("order")
    columns = [each for each in order if isinstance(each, str)] if isinstance(order, list) else []
    for column in columns:
        mentions.column(column)
    made.place(name)
    made.heading(1, name)
    made.paragraph(f"view: {kind}")
    _write(made, "columns", columns)
    _write(made, "filters", _conditions(view.get("filters")))
    mentions.write(made)


class _Mentions:
    """Names mentioned in expressions: for each kind of name, a list in the order of first mention."""

    def __init__(self) -> None:
        self._lists: dict[str, dict[str, None]] = {"tags": {}, "folders": {}, "properties": {}, "notes": {}}

    def filters(self, value: Any) -> None:
        for condition in _conditions(value):
            self.expression(condition)

    def expression(self, text: str) -> None:
        for name, inside in _CALL.findall(text):
            for argument in _ARGUMENT.finditer(inside):
                self._add(_LISTED.get(name, "notes"), argument[1] or argument[2] or "")
        for target in _LINK.findall(text):
            self._add("notes", target)
        for name in _OF_NOTE.finditer(text):
            self._add("properties", name[1] or name[2])
        for name in _NAME.findall(_TEXT.sub('""', text)):
            if name not in _WORDS:
                self._add("properties", name)

    def column(self, name: str) -> None:
        kind, dot, rest = name.partition(".")
        if kind not in ("file", "formula"):
            self._add("properties", rest if dot and kind == "note" else name)

    def write(self, made: Composition) -> None:
        for name, marked in (("tags", "#"), ("folders", ""), ("properties", "")):
            _write(made, name, [f"{marked}{each.removeprefix(marked)}" for each in self._lists[name]])
        for note in self._lists["notes"]:
            made.link(f"[[{note}]]", note)

    def _add(self, kind: str, text: str) -> None:
        if text := link_target(text):
            self._lists[kind].setdefault(text)


def _write(made: Composition, name: str, items: list[str]) -> None:
    if items:
        made.paragraph(f"{name}: {', '.join(map(one_line, items))}")


def _pairs(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from ((str(name), each) for name, each in value.items())


def _conditions(value: Any, depth: int = 0) -> list[str]:
    if isinstance(value, str):
        return [value]
    if depth > BASE_DEPTH:
        return []
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in _conditions(each, depth + 1)]
