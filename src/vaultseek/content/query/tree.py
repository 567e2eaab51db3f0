"""Syntax trees of queries, and their conversion to a filter and to rank text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from vaultseek.content.query.fields import words_filter
from vaultseek.content.query.filters import Contains, Filter, Matches, all_of, any_of, negated


@dataclass(frozen=True, slots=True)
class Word:
    """A bare word in a query, or the value of an operator."""

    text: str


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words in quotes."""

    text: str


@dataclass(frozen=True, slots=True)
class Expression:
    """A regular expression between slashes."""

    text: str


@dataclass(frozen=True, slots=True)
class Condition:
    """A filter condition, made by an operator such as ``tag:``."""

    filter: Filter


@dataclass(frozen=True, slots=True)
class All:
    """A sequence of terms, all of which apply; an empty sequence is :data:`NOTHING`."""

    parts: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Any:
    """Alternatives that are separated by ``OR``."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Negated:
    """A term preceded by ``-``."""

    part: Node


Node = Word | Phrase | Expression | Condition | All | Any | Negated
Leaf = Callable[[Word | Phrase | Expression], Filter | None]

NOTHING = All()


def required_filter(node: Node) -> Filter | None:
    """Convert the tree to a filter. Bare words act as filters only in an OR that contains filters."""
    match node:
        case Word():
            return None
        case All(parts):
            return all_of(map(required_filter, parts))
        case Any(parts) if all(required_filter(part) is None for part in parts):
            return None
        case _:
            return to_filter(node, text_filter)


def to_filter(node: Node, leaf: Leaf) -> Filter | None:
    """Convert the tree to a filter, using ``leaf`` to convert words and phrases."""
    match node:
        case Word() | Phrase() | Expression():
            return leaf(node)
        case Condition(filter=condition):
            return condition
        case All(parts):
            return all_of(to_filter(part, leaf) for part in parts)
        case Any(parts):
            return any_of(to_filter(part, leaf) for part in parts)
        case Negated(part):
            inner = to_filter(part, leaf)
            return negated(inner) if inner else None


def text_filter(leaf: Word | Phrase | Expression) -> Filter:
    """Return the filter for a word, phrase or expression. With a final ``*``, a word is a prefix."""
    if isinstance(leaf, Expression):
        return Matches(leaf.text)
    return words_filter(leaf.text) if isinstance(leaf, Word) else Contains(leaf.text)


def required_leaves(node: Node) -> Iterator[Word | Phrase | Expression | Condition]:
    """Yield the leaves of the tree, in order, except those that are negated."""
    match node:
        case Word() | Phrase() | Expression() | Condition():
            yield node
        case All(parts) | Any(parts):
            for part in parts:
                yield from required_leaves(part)
