"""A query between text and meaning: its terms and how they hang together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from vaultseek.query.fields import words_filter
from vaultseek.query.filters import Contains, Filter, all_of, any_of, negated


@dataclass(frozen=True, slots=True)
class Word:
    """A bare word, or the value of an operator."""

    text: str


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words in quotes."""

    text: str


@dataclass(frozen=True, slots=True)
class Condition:
    """A filter, and the words that it lends to the rank text where it is not negated."""

    filter: Filter
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class All:
    """Terms one after the other; none of them is nothing at all."""

    parts: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Any:
    """Terms with OR between them."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Negated:
    """A term with ``-`` before it."""

    part: Node


Node = Word | Phrase | Condition | All | Any | Negated
Leaf = Callable[[Word | Phrase], Filter | None]

NOTHING = All()


def required(node: Node) -> Filter | None:
    """The tree as a filter, in which bare words require nothing outside of an OR that has filters."""
    match node:
        case Word():
            return None
        case All(parts):
            return all_of(map(required, parts))
        case Any(parts) if all(required(part) is None for part in parts):
            return None
        case _:
            return converted(node, text_filter)


def converted(node: Node, leaf: Leaf) -> Filter | None:
    """The tree as a filter, each word and phrase made one by ``leaf``."""
    match node:
        case Word() | Phrase():
            return leaf(node)
        case Condition(filter=condition):
            return condition
        case All(parts):
            return all_of(converted(part, leaf) for part in parts)
        case Any(parts):
            return any_of(converted(part, leaf) for part in parts)
        case Negated(part):
            inner = converted(part, leaf)
            return negated(inner) if inner else None


def text_filter(leaf: Word | Phrase) -> Filter:
    """The filter that asks for a word or phrase in the text; a word that ends in ``*`` may go on."""
    return words_filter(leaf.text) if isinstance(leaf, Word) else Contains(leaf.text)


def rank_words(node: Node) -> Iterator[str]:
    """What a positive part of the tree lends to the rank text, in order."""
    match node:
        case Word(text) | Phrase(text):
            yield text
        case Condition(words=words):
            yield from words
        case All(parts) | Any(parts):
            for part in parts:
                yield from rank_words(part)


def phrases(node: Node) -> Iterator[str]:
    """The quoted phrases that are neither negated nor the value of an operator."""
    match node:
        case Phrase(text):
            yield text
        case All(parts) | Any(parts):
            for part in parts:
                yield from phrases(part)
