"""From the parameters of a request to the arguments of a function, checked against its annotations."""

from __future__ import annotations

import difflib
import inspect
import types
import typing
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from vaultseek.errors import UsageError
from vaultseek.model import JSON
from vaultseek.wire.context import Handler, RequestContext
from vaultseek.wire.protocol import shown

_WORDS: Mapping[Any, str] = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
    list: "a list",
    dict: "an object",
}


@dataclass(frozen=True, slots=True)
class _Parameter:
    name: str
    hint: Any
    required: bool


def bound(function: Callable[..., Awaitable[Any]]) -> Handler:
    """A handler that calls ``function(context, **params)``.

    The function takes the context by position and its parameters by keyword, annotated with what JSON has:
    ``str``, ``int``, ``float``, ``bool``, ``None``, ``list[X]``, ``dict``, ``Literal`` and unions of them.
    Parameters that are missing, unknown or of another type raise UsageError, which names them.
    """
    parameters = _parameters(function)

    async def handler(params: JSON, context: RequestContext) -> Any:
        check(params, parameters)
        return await function(context, **params)

    return handler


def check(params: JSON, parameters: Mapping[str, _Parameter]) -> None:
    """Raise UsageError for the first thing in ``params`` that does not suit ``parameters``."""
    for name in params:
        if name not in parameters:
            raise UsageError(f"there is no parameter {shown(name)}{_suggestion(name, parameters)}")
    for parameter in parameters.values():
        if parameter.name in params:
            if not _fits(params[parameter.name], parameter.hint):
                raise UsageError(f"'{parameter.name}' must be {_expected(parameter.hint)}")
        elif parameter.required:
            raise UsageError(f"the parameter '{parameter.name}' is missing")


def _parameters(function: Callable[..., Awaitable[Any]]) -> dict[str, _Parameter]:
    hints = typing.get_type_hints(function)
    return {
        name: _Parameter(name, hints.get(name, Any), parameter.default is inspect.Parameter.empty)
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }


def _suggestion(name: str, known: Mapping[str, object]) -> str:
    close = difflib.get_close_matches(name[:40], list(known), 1)
    return f"; did you mean '{close[0]}'?" if close else ""


def _fits(value: object, hint: Any) -> bool:
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or hint is object:
        return True
    if origin in (types.UnionType, typing.Union):
        return any(_fits(value, option) for option in args)
    if origin is typing.Literal:
        return any(type(value) is type(option) and value == option for option in args)
    if origin is list:
        return isinstance(value, list) and all(_fits(item, args[0]) for item in value)
    if origin is dict:
        return isinstance(value, dict) and all(_fits(item, args[1]) for item in value.values())
    if isinstance(value, bool):
        return hint is bool
    if hint is float:
        return isinstance(value, int | float)
    return isinstance(value, type(None) if hint is None else hint)


def _expected(hint: Any) -> str:
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return " or ".join(_expected(option) for option in args)
    if origin is typing.Literal:
        return " or ".join(repr(option) for option in args)
    if origin is list and args[0] in _WORDS:
        return f"a list, each item {_WORDS[args[0]]}"
    return _WORDS.get(origin or hint, "something else")
