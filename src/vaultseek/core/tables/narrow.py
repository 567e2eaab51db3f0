"""Derive SQL conditions from a filter. They select every file that could pass the filter, and few others.

The ledger then reads a few rows instead of all; the filter is still evaluated for each row that is read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from vaultseek.base.text import fold
from vaultseek.core.tables.base import Condition
from vaultseek.core.tables.syntax import (
    BadExpression,
    Binary,
    Call,
    IsName,
    Literal,
    Member,
    Name,
    Node,
    parse_expression,
)

MOST_CONDITIONS = 20
"""Maximum number of conditions and of tags in one SQL statement; SQLite limits the depth of an expression."""
_OTHER_NAMES = frozenset({"file", "note", "this", "formula"})
_FALSE_OF_NOTHING = frozenset({"contains", "containsAll", "containsAny", "startsWith", "endsWith", "matches"})
"""Functions that are never true when called on null or an empty list."""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """An SQL condition on the columns of ``notes``. If ``notes_only`` is true, only notes can pass the
    filter.
    """

    sql: str
    values: tuple[str, ...]
    notes_only: bool = True


def narrowings(condition: Condition | None, is_name: IsName) -> list[Narrowing]:
    """Return SQL conditions that every file satisfies if it passes ``condition``."""
    if isinstance(condition, str):
        try:
            return list(_of_node(parse_expression(condition, is_name)))
        except BadExpression:
            return []
    if condition is None or condition.holds != "and":
        return []
    every = (each for part in condition.parts for each in narrowings(part, is_name))
    return list(islice(every, MOST_CONDITIONS))


def _of_node(node: Node) -> Iterator[Narrowing]:
    match node:
        case Binary("&&", left, right):
            yield from _of_node(left)
            yield from _of_node(right)
        case Call(Name("file"), "hasTag", arguments):
            yield from _with_tags(arguments)
        case Call(Name("file"), "inFolder", (Literal(str(folder)),)) if folder.strip("/"):
            folder = folder.strip("/")
            yield Narrowing("path >= ? AND path < ?", (f"{folder}/", f"{folder}0"), notes_only=False)
        case Binary("==" | "<" | ">" | "<=" | ">=", left, Literal(value)) if value is not None:
            yield from _with_property(left)
        case Binary("==" | "<" | ">" | "<=" | ">=", Literal(value), right) if value is not None:
            yield from _with_property(right)
        case Call(object, name, arguments) if object is not None and name in _FALSE_OF_NOTHING and arguments:
            yield from _with_property(_listed(object))


def _with_tags(arguments: Sequence[Node]) -> Iterator[Narrowing]:
    names = [each.value for each in arguments if isinstance(each, Literal) and isinstance(each.value, str)]
    tags = [fold(name).lstrip("#").strip("/") for name in names]
    if tags and all(tags) and len(tags) == len(arguments) <= MOST_CONDITIONS:
        # "0" follows "/", so the range holds everything nested under the tag.
        one = "tag = ? OR (tag >= ? AND tag < ?)"
        sql = f"id IN (SELECT note FROM tags WHERE {' OR '.join([one] * len(tags))})"
        yield Narrowing(sql, tuple(part for tag in tags for part in (tag, f"{tag}/", f"{tag}0")))


def _listed(node: Node) -> Node:
    """Return the argument if the node is a call of ``list()``, otherwise the node itself."""
    return node.arguments[0] if isinstance(node, Call) and node.name == "list" and node.arguments else node


def _with_property(node: Node) -> Iterator[Narrowing]:
    match node:
        case Member(Name("note"), name) | Name(name) if name not in _OTHER_NAMES and name.isascii():
            # LIKE ignores the case of ASCII letters, as property names do.
            escaped = name.replace("_", "\\_")
            yield Narrowing("properties LIKE ? ESCAPE '\\'", (f'%"{escaped}":%',))
