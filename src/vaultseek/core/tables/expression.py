"""Compile expressions to Python functions: each node of the syntax tree becomes a function of a scope.

An expression is compiled once for all rows of a table.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from typing import NoReturn

from vaultseek.base.text import quote
from vaultseek.core.tables import operators, patterns
from vaultseek.core.tables.functions import DRAWN, FUNCTIONS, MOST_ARGUMENTS, arguments_of, with_scope
from vaultseek.core.tables.methods import EVERY_METHOD, FILE_FIELDS, item, method
from vaultseek.core.tables.methods import field as field_of
from vaultseek.core.tables.scope import PATTERN_STEPS, Compiled, Scope
from vaultseek.core.tables.syntax import (
    BadExpression,
    Binary,
    Call,
    IsName,
    Item,
    ListOf,
    Literal,
    MappingOf,
    Member,
    Name,
    Node,
    Unary,
    parse_expression,
)
from vaultseek.core.tables.values import FormulaError, Pattern, Value, collected, is_truthy, kind_of, sized

_OF_ELEMENTS = {"filter": 1, "map": 1, "reduce": 2}
"""List functions whose first argument is an expression, each with its number of arguments."""


@dataclass(slots=True)
class Language:
    """Compiler with the names to which an expression may refer. It collects remarks on parts that are not
    rendered.
    """

    formulas: Collection[str] = ()
    is_name: IsName = lambda name: False
    remarks: dict[str, None] = field(default_factory=dict)

    def compiled(self, text: str, locals: frozenset[str] = frozenset()) -> Compiled:
        """Compile an expression to a function. Raises BadExpression if the expression is invalid or not
        supported.
        """
        return self.function(parse_expression(text, self.is_name), locals)

    def function(self, node: Node, locals: frozenset[str] = frozenset()) -> Compiled:
        """Compile a syntax tree to a function. ``locals`` are the local names that the tree may use."""
        match node:
            case Literal(value):
                return _constant(value)
            case Name(name):
                return self._named(name, locals)
            case Member(object, name):
                return self._member(object, name, locals)
            case Item(object, key):
                return self._item(object, key, locals)
            case Call(object, name, arguments):
                if object is None:
                    return self._called(name, arguments, locals)
                return self._method(object, name, arguments, locals)
            case Unary(operator, operand):
                return _UNARY[operator](self.function(operand, locals))
            case Binary(operator, left, right):
                return _BINARY[operator](self.function(left, locals), self.function(right, locals))
            case ListOf(items):
                parts = [self.function(each, locals) for each in items]
                return lambda scope: collected(part(scope) for part in parts)
            case MappingOf(items):
                names = [name for name, _ in items]
                made = [self.function(each, locals) for _, each in items]
                return lambda scope: dict(zip(names, collected(part(scope) for part in made), strict=True))

    def _named(self, name: str, locals: frozenset[str]) -> Compiled:
        if name in locals:
            return lambda scope: scope.locals[name]
        if name in _PLACES:
            return _PLACES[name]
        return lambda scope: scope.file.properties.get(name)

    def _member(self, object: Node, name: str, locals: frozenset[str]) -> Compiled:
        if isinstance(object, Name) and object.name not in locals:
            if object.name == "formula":
                if name not in self.formulas:
                    _unknown(name, self.formulas, "formula")
                return lambda scope: scope.formula(name)
            if object.name == "this":
                return _of_this(name)
            if object.name == "file" and name not in FILE_FIELDS:
                _unknown(f"file.{name}", [f"file.{each}" for each in FILE_FIELDS], "property")
        of = self.function(object, locals)
        return lambda scope: field_of(of(scope), name)

    def _item(self, object: Node, key: Node, locals: frozenset[str]) -> Compiled:
        if isinstance(object, Name) and isinstance(key, Literal) and isinstance(key.value, str):
            return self._member(object, key.value, locals)
        of, at = self.function(object, locals), self.function(key, locals)
        return lambda scope: item(of(scope), at(scope))

    def _called(self, name: str, arguments: Sequence[Node], locals: frozenset[str]) -> Compiled:
        if name == "if":
            return self._if(arguments, locals)
        function = FUNCTIONS.get(name)
        if function is None:
            _unknown(f"{name}()", [f"{each}()" for each in (*FUNCTIONS, "if")], "function")
        _check_number(name, len(arguments), *arguments_of(function, 0))
        if name in DRAWN:
            self.remarks[f"{name}() is shown as text"] = None
        parts = [self.function(each, locals) for each in arguments]
        run = with_scope(function)
        return lambda scope: sized(run(scope, *collected(part(scope) for part in parts)))

    def _if(self, arguments: Sequence[Node], locals: frozenset[str]) -> Compiled:
        _check_number("if", len(arguments), 2, 3)
        condition, then, *rest = (self.function(each, locals) for each in arguments)
        otherwise = rest[0] if rest else _constant(None)
        return lambda scope: then(scope) if is_truthy(condition(scope)) else otherwise(scope)

    def _method(self, object: Node, name: str, arguments: Sequence[Node], locals: frozenset[str]) -> Compiled:
        of = self.function(object, locals)
        if name in _OF_ELEMENTS:
            return self._of_elements(of, name, arguments, locals)
        if name not in EVERY_METHOD:
            known = [f"{each}()" for each in (*EVERY_METHOD, *_OF_ELEMENTS)]
            _unknown(f"{name}()", known, "function")
        parts = [self.function(each, locals) for each in arguments]
        return _call_of(of, name, parts)

    def _of_elements(
        self, of: Compiled, name: str, arguments: Sequence[Node], locals: frozenset[str]
    ) -> Compiled:
        _check_number(name, len(arguments), _OF_ELEMENTS[name], _OF_ELEMENTS[name])
        own = {"value", "index", *(["acc"] if name == "reduce" else [])}
        each = self.function(arguments[0], locals | own)
        first = self.function(arguments[1], locals) if name == "reduce" else _constant(None)
        run = _RUNS[name]

        def call(scope: Scope) -> Value:
            value = of(scope)
            if value is None:
                return None
            if not isinstance(value, list):
                raise FormulaError(f"{name}() works on lists, not on {kind_of(value)}; use list()")
            acc, outer = first(scope), scope.locals
            scope.locals = dict(outer)
            try:
                return run(scope, value, each, acc)
            finally:
                scope.locals = outer

        return call


def _reduce(scope: Scope, values: list[Value], combined: Compiled, acc: Value) -> Value:
    scope.locals["acc"] = acc
    for _ in _elements(scope, values):
        scope.locals["acc"] = combined(scope)
    return scope.locals["acc"]


def _elements(scope: Scope, values: list[Value]) -> Iterator[Value]:
    """Yield the elements of a list, assigning each one to the local name ``value`` first."""
    for index, value in enumerate(values):
        scope.around.budget.spend()
        scope.locals["value"], scope.locals["index"] = value, index
        yield value


_RUNS: Mapping[str, Callable[[Scope, list[Value], Compiled, Value], Value]] = {
    "filter": lambda scope, values, keeps, acc: [
        value for value in _elements(scope, values) if is_truthy(keeps(scope))
    ],
    "map": lambda scope, values, made, acc: collected(made(scope) for _ in _elements(scope, values)),
    "reduce": _reduce,
}


def _constant(value: Value) -> Compiled:
    return _pattern(value) if isinstance(value, Pattern) else lambda scope: value


def _pattern(value: Pattern) -> Compiled:
    if problem := patterns.pattern_error(value):
        raise BadExpression(f"/{value.source}/ is not a regular expression: {problem}")

    def read(scope: Scope) -> Value:
        scope.around.budget.spend(PATTERN_STEPS)
        return value

    return read


def _of_this(name: str) -> Compiled:
    """Return a function that returns a property of the note containing the table, or that note as a file."""

    def read(scope: Scope) -> Value:
        this = scope.around.this
        if this is None or name == "file":
            return this
        return this.properties if name == "note" else this.properties.get(name)

    return read


def _call_of(of: Compiled, name: str, parts: Sequence[Compiled]) -> Compiled:
    def call(scope: Scope) -> Value:
        value = of(scope)
        if value is None and name not in _OF_NULL:
            return None
        function = method(value, name)
        if function is None:
            raise FormulaError(f"a {kind_of(value)} has no {name}()")
        try:
            _check_number(name, len(parts), *arguments_of(function, 1))
        except BadExpression as error:
            raise FormulaError(str(error)) from None
        return sized(with_scope(function)(scope, value, *collected(part(scope) for part in parts)))

    return call


_OF_NULL = frozenset({"isEmpty", "isTruthy", "isType", "toString"})
"""Functions that can be called on null. Every other function called on null returns null."""
_PLACES: Mapping[str, Compiled] = {
    "file": lambda scope: scope.file,
    "note": lambda scope: scope.file.properties,
    "this": lambda scope: scope.around.this,
}


def _check_number(name: str, number: int, least: int, most: int) -> None:
    if not least <= number <= most:
        takes = str(least) if least == most else f"{least} to {most}"
        takes = f"{least} or more" if most == MOST_ARGUMENTS else takes
        raise BadExpression(f"{name}() takes {takes} argument{'s' * (takes != '1')}, not {number}")


def _unknown(name: str, known: Collection[str], what: str) -> NoReturn:
    near = get_close_matches(name, list(known), 1)
    advice = f"; did you mean {near[0]}?" if near else ""
    raise BadExpression(f"unknown {what} {quote(name, 40)}{advice}")


# -- operators


def _both(operator: Callable[[Value, Value], Value]) -> Callable[[Compiled, Compiled], Compiled]:
    return lambda left, right: lambda scope: operator(left(scope), right(scope))


def _comparing(holds: Callable[[int], bool]) -> Callable[[Compiled, Compiled], Compiled]:
    def between(left: Value, right: Value) -> bool:
        compared = operators.compare(left, right)
        return compared is not None and holds(compared)

    return _both(between)


_BINARY: Mapping[str, Callable[[Compiled, Compiled], Compiled]] = {
    "&&": lambda left, right: lambda scope: is_truthy(left(scope)) and is_truthy(right(scope)),
    "||": lambda left, right: lambda scope: is_truthy(left(scope)) or is_truthy(right(scope)),
    "==": _both(operators.equal),
    "!=": _both(lambda left, right: not operators.equal(left, right)),
    "<": _comparing(lambda sign: sign < 0),
    ">": _comparing(lambda sign: sign > 0),
    "<=": _comparing(lambda sign: sign <= 0),
    ">=": _comparing(lambda sign: sign >= 0),
    "+": _both(lambda left, right: sized(operators.add(left, right))),
    "-": _both(operators.subtract),
    "*": _both(operators.multiply),
    "/": _both(operators.divide),
    "%": _both(partial(operators.arithmetic, "%")),
}
_UNARY: Mapping[str, Callable[[Compiled], Compiled]] = {
    "!": lambda operand: lambda scope: not is_truthy(operand(scope)),
    "-": lambda operand: lambda scope: operators.negative(operand(scope)),
    "+": lambda operand: lambda scope: operators.add(operand(scope), 0),
}
