"""Descriptions of a pydantic model's keys and validation errors, and conversion of strings to the keys'
types.

Works for any model whose fields are scalars, tuples and nested models.
"""

import ast
import inspect
import json
import sys
import types
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from difflib import get_close_matches
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from vaultseek.base import limits
from vaultseek.base.text import printable

Location = tuple[int | str, ...]
Model = type[BaseModel]


def allowed_values(field: FieldInfo) -> str:
    """Describe the values that a key allows, for example ``a whole number from 1 to 200``."""
    words = _kind(field.annotation)
    if any(getattr(rule, "min_length", 0) for rule in field.metadata):
        words = words.replace("a ", "a non-empty ", 1)
    bounds = {
        name: getattr(rule, name)
        for rule in field.metadata
        for name in ("gt", "ge", "le")
        if hasattr(rule, name)
    }
    if not bounds:
        return words
    low, high = bounds.get("ge"), bounds.get("le")
    if low is None:
        return f"{words} above {_number(bounds['gt'])}" + (
            f", at most {_number(high)}" if high is not None else ""
        )
    return f"{words} from {_number(low)} to {_number(high)}"


def keys(model: Model, prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Yield every key of ``model`` and of its sections, in order, as a dotted name such as
    ``search.recency.date``.

    A list of tables is one key.
    """
    for name, field in described_fields(model).items():
        inner = section_of(field.annotation)
        if inner is None or is_list(field.annotation):
            yield f"{prefix}{name}", field
        else:
            yield from keys(inner, f"{prefix}{name}.")


def described_fields(model: Model) -> Mapping[str, FieldInfo]:
    """Return the fields of a model, with the docstrings below them as descriptions."""
    described: dict[str, str] = {}
    for kind in reversed(model.__mro__[: model.__mro__.index(BaseModel)]):
        described |= field_docstrings(kind.__module__).get(kind.__name__, {})
    for name, field in model.model_fields.items():
        field.description = described.get(name)
    return model.model_fields


@cache
def field_docstrings(module: str) -> Mapping[str, Mapping[str, str]]:
    """Return a dict from each class in a module to its fields' docstrings, including fields inherited within
    the module.

    pydantic would read the source on every import, and would ignore the bases of a ``TypedDict``.
    """
    described: dict[str, dict[str, str]] = {}
    for kind in ast.parse(inspect.getsource(sys.modules[module])).body:
        if isinstance(kind, ast.ClassDef):
            fields = described[kind.name] = {}
            for base in kind.bases:
                fields |= described.get(ast.unparse(base), {})
            for field, below in pairwise(kind.body):
                match field, below:
                    case (
                        ast.AnnAssign(target=ast.Name(id=name)),
                        ast.Expr(value=ast.Constant(value=str(text))),
                    ):
                        fields[name] = " ".join(text.split())
    return described


def coerce(values: Any, model: Model) -> Any:
    """Convert the strings in ``values`` to their keys' types; strings that cannot be converted are kept."""
    values = by_usual_names(values, model)
    if not isinstance(values, dict):
        return values
    return {name: _coerce_value(value, model.model_fields.get(name)) for name, value in values.items()}


def by_usual_names(values: Any, model: Model) -> Any:
    """Return ``values`` with each alternative name of a key (``other_names``) replaced by the name in
    ``model``."""
    others: Mapping[str, str] = getattr(model, "other_names", {})
    if not isinstance(values, dict) or values.keys().isdisjoint(others):
        return values
    return {others.get(name, name): value for name, value in values.items()}


def named_twice(values: Any, model: Model) -> Iterator[tuple[str, str]]:
    """Yield two of the names of each key that ``values`` sets under several names."""
    others: Mapping[str, str] = getattr(model, "other_names", {})
    if isinstance(values, Mapping):
        for name in dict.fromkeys(others.values()):
            given = [each for each in (name, *others) if each in values and others.get(each, name) == name]
            if len(given) > 1:
                yield given[0], given[1]


def from_json(text: Any) -> Any:
    """Parse ``text`` as JSON; return ``text`` itself if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return text


def problems(error: ValidationError, model: Model) -> list[tuple[Location, str]]:
    """Return a (location, message) pair for each problem in ``error``; messages contain the expected and
    actual values."""
    return [(detail["loc"], _message(detail, model)) for detail in error.errors(include_url=False)]


def first_problem(error: ValidationError, model: Model) -> tuple[Location, str]:
    """Return the location and the message of the first problem; the message ends with the number of other
    problems."""
    (location, message), *more = problems(error, model)
    return location, message + and_more(len(more))


def and_more(number: int) -> str:
    """Return `` (N more problems)``, or "" for 0."""
    return f" ({number} more {'problem' if number == 1 else 'problems'})" if number else ""


def unknown_name(name: str, known: Collection[str], table: Location = ()) -> str:
    """Return the message for a key ``name`` that is not among the ``known`` keys of ``table``; it suggests
    the most similar key."""
    close = get_close_matches(name, known, n=1)
    if close:
        return f"unknown key, expected {dotted_key((*table, close[0]))}?"
    return f"unknown key, expected one of {', '.join(known)}"


def dotted_key(location: Location) -> str:
    """Format a location as a dotted key, such as ``vaults[0].path``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{printable(part)}" for part in location)
    return text[1:] or '""'


def quote_value(value: Any) -> str:
    """Format an invalid value for a message: one short line without control characters."""
    if isinstance(value, Path):
        return printable(str(value), limits.PATH_BYTES)
    try:
        return printable(json.dumps(value, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError):  # TOML has dates, and tables may be deep
        with suppress(ValueError):  # a number may have more digits than Python formats
            return printable(str(value))
        return "a value too long to show"


def section_of(annotation: Any) -> Model | None:
    """Return the model of a field that is a section or a list of sections; None for other fields."""
    candidates = (annotation, *get_args(annotation))
    return next((c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel)), None)


def is_list(annotation: Any) -> bool:
    """Return true if a field with this annotation is a list."""
    return get_origin(annotation) is tuple


def is_table(annotation: Any) -> bool:
    """Return true if a field with this annotation is a table whose keys are names."""
    return get_origin(annotation) is dict


def _coerce_value(value: Any, field: FieldInfo | None) -> Any:
    if field is None:
        return value
    inner = section_of(field.annotation)
    if inner is not None and not is_list(field.annotation):
        return coerce(from_json(value), inner)
    if not isinstance(value, str):
        return value
    if is_list(field.annotation) or is_table(field.annotation):
        return from_json(value)
    adapter: TypeAdapter[Any] = TypeAdapter(field.annotation or Any)
    try:
        return adapter.validate_python(value)
    except ValidationError:
        return value


def _message(detail: ErrorDetails, model: Model) -> str:
    location = detail["loc"]
    owner, field = _find(location, model)
    if detail["type"] == "extra_forbidden":
        if (instead := getattr(owner, "former", {}).get(location[-1])) is not None:
            return str(instead)
        return unknown_name(str(location[-1]), owner.model_fields, location[:-1])
    expected = allowed_values(field) if field else "something else"
    if detail["type"] == "missing":
        return f"expected {expected}, found nothing"
    if detail["type"] == "string_pattern_mismatch" and field is not None and field.title:
        expected = field.title
    if detail["type"] == "value_error":
        expected = str(detail["ctx"]["error"])
    if field is not None and not field.repr:
        return f"expected {expected}"
    return f"expected {expected}, found {quote_value(detail['input'])}{_suggestion(field, detail['input'])}"


def _suggestion(field: FieldInfo | None, value: Any) -> str:
    options = [option for option in _options(field.annotation if field else None) if isinstance(option, str)]
    close = get_close_matches(value, options, n=1) if isinstance(value, str) else []
    return f'; did you mean "{close[0]}"?' if close else ""


def _options(annotation: Any) -> Iterator[Any]:
    if get_origin(annotation) is Literal:
        yield from get_args(annotation)
    for inner in get_args(annotation):
        yield from _options(inner)


def _find(location: Location, model: Model) -> tuple[Model, FieldInfo | None]:
    """Return the section and the field at a location; an item in a list counts as a field of the item's
    type."""
    owner = model
    field: FieldInfo | None = None
    for part in location:
        if isinstance(part, int):
            field = FieldInfo(annotation=get_args(field.annotation)[0]) if field else None
            continue
        if field is not None and is_table(field.annotation):
            field = FieldInfo(annotation=get_args(field.annotation)[1])
            continue
        owner = (section_of(field.annotation) if field else None) or owner
        field = owner.model_fields.get(part)
    return owner, field


def _kind(annotation: Any) -> str:
    inner = section_of(annotation)
    if is_table(annotation):
        return "a table of strings" if get_args(annotation)[1] is str else "a table"
    if is_list(annotation):
        items = f"{{{', '.join(inner.model_fields)}}} tables" if inner else "strings"
        return f"a list of {items}"
    if inner:
        return "a table"
    options = [option for option in get_args(annotation) if option is not type(None)]
    if get_origin(annotation) in (Union, types.UnionType):
        return _kind(options[0])
    if get_origin(annotation) is Literal:
        return "one of " + ", ".join(f'"{option}"' for option in options)
    names = {bool: "true or false", int: "a whole number", float: "a number", Path: "a path"}
    return names.get(annotation, "a string")


def _number(value: float | None) -> str:
    return "any" if value is None else str(int(value) if value == int(value) else value)
