"""Parse filters and formulas: return a syntax tree, or raise an error with its position."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from vaultseek.base.limits import FORMULA_CHARS, FORMULA_DEPTH
from vaultseek.base.text import quote
from vaultseek.core.tables.values import Pattern


class BadExpression(Exception):
    """Raised for text that is not a valid, supported expression. The message states the reason."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant: null, a boolean, a number, a string or a regular expression."""

    value: object


@dataclass(frozen=True, slots=True)
class Name:
    """A name by itself: a property of the note, or a name that the context defines."""

    name: str


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a value: ``object.name``."""

    object: Node
    name: str


@dataclass(frozen=True, slots=True)
class Item:
    """An element of a value: ``object[key]``."""

    object: Node
    key: Node


@dataclass(frozen=True, slots=True)
class Call:
    """A function call, ``name(arguments)``, or a method call, which also has the ``object``."""

    object: Node | None
    name: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Unary:
    """An operator before its operand."""

    operator: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Binary:
    """An operator between its operands."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list such as ``[first, second]``."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class MappingOf:
    """A mapping such as ``{"name": value}``."""

    items: tuple[tuple[str, Node], ...]


Node = Literal | Name | Member | Item | Call | Unary | Binary | ListOf | MappingOf

IsName = Callable[[str], bool]
"""Function that returns True for the name of an existing property. It is needed to parse names with
hyphens."""


def parse_expression(text: str, is_name: IsName = lambda name: False) -> Node:
    """Return the syntax tree for one expression. Raises BadExpression."""
    parser = _Parser(text, is_name)
    node = parser.expression()
    parser.expect_end()
    return node


def split_expressions(text: str) -> list[str]:
    """Split ``text`` at commas that are outside brackets and quotes. Raises BadExpression."""
    parts, depth, start = [], 0, 0
    for token in _tokens(text, lambda name: False):
        if token.kind != "sign":
            continue
        depth += (token.text in "([{") - (token.text in ")]}")
        if token.text == "," and depth == 0:
            parts.append(text[start : token.start])
            start = token.start + 1
    return [part.strip() for part in (*parts, text[start:]) if part.strip()]


class _Token(NamedTuple):
    kind: str
    text: str
    start: int


NAME_PARTS = 8
"""Maximum number of parts, separated by hyphens, in a property name."""
_SPACE = re.compile(r"\s+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_WORD = re.compile(r"[^\W\d][\w$]*")
_HYPHENATED = re.compile(r"[^\W\d][\w$]*(?:-[\w$]+)+")
_STRING = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'", re.DOTALL)
_REGEXP = re.compile(r"/((?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)/([a-z]*)")
_SIGN = re.compile(r"===|!==|&&|\|\||==|!=|<=|>=|=>|\?\?|\?\.|\*\*|[-+*/%!<>()\[\]{},.:?=&|]")
_VALUE_ENDS = (")", "]", "}")


def _tokens(text: str, is_name: IsName) -> list[_Token]:
    tokens: list[_Token] = []
    position = 0
    while position < len(text):
        if match := _SPACE.match(text, position):
            position = match.end()
            continue
        token = _next_token(text, position, tokens[-1] if tokens else None, is_name)
        tokens.append(token)
        position = token.start + len(token.text)
    return tokens


def _next_token(text: str, start: int, last: _Token | None, is_name: IsName) -> _Token:
    after_value = last is not None and (last.kind != "sign" or last.text in _VALUE_ENDS)
    if match := _NUMBER.match(text, start):
        return _Token("number", match[0], start)
    if match := _HYPHENATED.match(text, start):
        whole = "-".join(match[0].split("-")[:NAME_PARTS])
        while "-" in whole:  # due-date may be a property, price-tax a difference: check the vault
            if is_name(whole):
                return _Token("word", whole, start)
            whole = whole.rpartition("-")[0]
    if match := _WORD.match(text, start):
        return _Token("word", match[0], start)
    if match := _STRING.match(text, start):
        return _Token("string", match[0], start)
    if not after_value and (match := _REGEXP.match(text, start)):
        return _Token("regexp", match[0], start)
    if match := _SIGN.match(text, start):
        return _Token("sign", match[0], start)
    if text[start] in "\"'":
        raise BadExpression(f"the quote at {quote(text[start : start + 20])} is not closed")
    raise BadExpression(f"{quote(text[start])} has no meaning in a formula; put text in quotes")


_LEVELS = {
    "||": 1, "&&": 2, "==": 3, "!=": 3, "<": 4, ">": 4, "<=": 4, ">=": 4, "+": 5, "-": 5, "*": 6, "/": 6,
    "%": 6,
}  # fmt: skip
_INSTEAD = {
    "===": "write ==", "!==": "write !=", "=": "write ==", "?": "write if(condition, then, else)",
    "??": "write if(value, value, other)", "?.": "write a dot", "**": "write a product", "&": "write &&",
    "|": "write ||", "=>": "write only the expression, with `value` for the element",
}  # fmt: skip
_CONSTANTS = {"true": True, "false": False, "null": None}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)


class _Parser:
    """Precedence parser, which limits the depth of syntax trees to ``FORMULA_DEPTH``."""

    def __init__(self, text: str, is_name: IsName) -> None:
        if len(text) > FORMULA_CHARS:
            raise BadExpression(f"the expression has {len(text):,} characters; use at most {FORMULA_CHARS:,}")
        self._tokens = _tokens(text, is_name)
        self._next = 0
        self._open = 0
        self._depths: dict[int, int] = {}
        self._made: list[Node] = []

    def expression(self, level: int = 1) -> Node:
        self._open += 1
        if self._open > FORMULA_DEPTH:
            raise BadExpression("the expression is nested too deeply; move a part into a formula")
        left = self._unary()
        while (binds := _LEVELS.get(self._sign(), 0)) >= level:
            operator = self._take()
            right = self.expression(binds + 1)
            left = self._node(Binary(operator, left, right), left, right)
        self._open -= 1
        return left

    def expect_end(self) -> None:
        if self._next < len(self._tokens):
            raise self._unexpected()

    def _unary(self) -> Node:
        signs: list[str] = []
        while self._sign() in ("!", "-", "+"):
            signs.append(self._take())
        node = self._postfix()
        for sign in reversed(signs):
            node = self._node(Unary(sign, node), node)
        return node

    def _postfix(self) -> Node:
        node = self._primary()
        while True:
            sign = self._sign()
            if sign == ".":
                self._take()
                if self._next >= len(self._tokens) or self._tokens[self._next].kind != "word":
                    raise BadExpression("a name is missing after the dot")
                name = self._take()
                node = self._call(node, name) if self._sign() == "(" else self._node(Member(node, name), node)
            elif sign == "[":
                self._take()
                key = self.expression()
                self._expect("]")
                node = self._node(Item(node, key), node, key)
            else:
                return node

    def _primary(self) -> Node:
        if self._next >= len(self._tokens):
            raise BadExpression("the expression ends where a value is expected")
        kind, text, _ = token = self._tokens[self._next]
        self._next += 1
        if kind == "number":
            return self._node(Literal(float(text) if re.search("[.eE]", text) else int(text[:300])))
        if kind == "string":
            return self._node(Literal(_unescaped(text[1:-1])))
        if kind == "regexp":
            source, _, flags = text[1:].rpartition("/")
            return self._node(Literal(Pattern(source, flags)))
        if kind == "word":
            if self._sign() == "(":
                return self._call(None, text)
            return self._node(Literal(_CONSTANTS[text]) if text in _CONSTANTS else Name(text))
        if text == "(":
            node = self.expression()
            self._expect(")")
            return node
        if text == "[":
            items = self._list("]")
            return self._node(ListOf(items), *items)
        if text == "{":
            return self._mapping()
        self._next -= 1
        raise self._unexpected(token)

    def _call(self, object: Node | None, name: str) -> Node:
        self._take()
        arguments = self._list(")")
        return self._node(Call(object, name, arguments), *arguments, *([object] if object else ()))

    def _list(self, end: str) -> tuple[Node, ...]:
        items: list[Node] = []
        while self._sign() != end:
            items.append(self.expression())
            if self._sign() != ",":
                break
            self._take()
        self._expect(end)
        return tuple(items)

    def _mapping(self) -> Node:
        items: list[tuple[str, Node]] = []
        while self._sign() != "}":
            kind, text, _ = self._tokens[self._next] if self._next < len(self._tokens) else _END
            if kind not in ("string", "word", "number"):
                raise self._unexpected()
            self._next += 1
            self._expect(":")
            items.append((_unescaped(text[1:-1]) if kind == "string" else text, self.expression()))
            if self._sign() != ",":
                break
            self._take()
        self._expect("}")
        return self._node(MappingOf(tuple(items)), *(node for _, node in items))

    def _node(self, node: Node, *parts: Node) -> Node:
        depth = 1 + max((self._depths[id(part)] for part in parts), default=0)
        if depth > FORMULA_DEPTH:
            raise BadExpression("the expression is too long; move a part into a formula")
        self._depths[id(node)] = depth
        self._made.append(node)  # an id() is unique only while its node exists
        return node

    def _sign(self) -> str:
        if self._next >= len(self._tokens):
            return ""
        token = self._tokens[self._next]
        return token.text if token.kind == "sign" else ""

    def _take(self) -> str:
        self._next += 1
        return self._tokens[self._next - 1].text

    def _expect(self, sign: str) -> None:
        if self._sign() != sign:
            if self._next >= len(self._tokens):
                raise BadExpression(f"a {sign} is missing at the end")
            raise self._unexpected()
        self._take()

    def _unexpected(self, token: _Token | None = None) -> BadExpression:
        token = token or (self._tokens[self._next] if self._next < len(self._tokens) else _END)
        if token.kind == "end":
            return BadExpression("the expression ends too early")
        advice = f"; {_INSTEAD[token.text]}" if token.kind == "sign" and token.text in _INSTEAD else ""
        return BadExpression(f"{quote(token.text, 30)} is not expected here{advice}")


_END = _Token("end", "", 0)


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_escaped, text) if "\\" in text else text


def _escaped(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code is None:
        return _ESCAPES.get(match[4], match[4])
    number = int(code, 16)
    return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
