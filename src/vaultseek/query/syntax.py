"""From the characters of a query to its tree."""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime
from difflib import get_close_matches

from vaultseek import limits
from vaultseek.errors import BadQuery
from vaultseek.query.filters import Extension
from vaultseek.query.operators import EXTENSIONS, OPERATORS, property_filter
from vaultseek.query.tree import NOTHING, All, Any, Condition, Negated, Node, Phrase, Word
from vaultseek.text import SHOWN_CHARS


def read_tree(text: str, now: datetime) -> tuple[Node, tuple[str, ...]]:
    """The tree of ``text`` and a sentence about each repair; BadQuery for parentheses nested too deep.

    ``text`` is free of control characters.
    """
    reader = _Reader(text, now)
    return reader.alternatives(), tuple(dict.fromkeys(reader.notes))


_OR = re.compile(r'OR(?=[\s("])\s*(?=[^\s)])')
_OPERATOR = re.compile(r"([A-Za-z]+(?:-[A-Za-z]+)?):(?!//)(?=[^\s)])")
_DOT_EXTENSION = re.compile(r"\.([A-Za-z][A-Za-z0-9]{1,9})(?=[\s)]|$)")
_QUOTED = re.compile(r'"((?:\\"|[^"])*+)("?)')
_BRACKETED = re.compile(r'\[((?:"[^"]*"|\[\[[^\[\]]*\]\]|[^\]])*+)(\]?)')


class _Reader:
    """Recursive descent; ``in_value`` is true inside ``name:(…)``, where there are no further operators."""

    def __init__(self, text: str, now: datetime) -> None:
        self.text = text
        self.now = now
        self.at = 0
        self.depth = 0
        self.in_value = False
        self.notes: list[str] = []

    def alternatives(self) -> Node:
        """Sequences with OR between them, up to the end or to the closing parenthesis."""
        found = [self._sequence()]
        while operator := _OR.match(self.text, self.at):
            self.at = operator.end()
            found.append(self._sequence())
        sides = tuple(side for side in found if side != NOTHING)
        return Any(sides) if len(sides) > 1 else sides[0] if sides else NOTHING

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while not self._is_over(has_terms=bool(parts)):
            part = self._term()
            if part != NOTHING:
                parts.append(part)
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def _is_over(self, *, has_terms: bool) -> bool:
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == ")" and not self.depth:
                self.notes.append("a closing parenthesis without an opening one was left out")
            elif not char.isspace():
                return char == ")" or (has_terms and _OR.match(self.text, self.at) is not None)
            self.at += 1
        return True

    def _term(self) -> Node:
        if self._negates():
            self.at += 1
            part = self._term()
            return NOTHING if part == NOTHING else Negated(part)
        match self.text[self.at]:
            case '"':
                return self._phrase()
            case "(":
                return self._group()
            case "[":
                return self._bracket()
        if self.in_value:
            return self._word()
        return self._dot_extension() or self._operation() or self._word()

    def _negates(self) -> bool:
        before, following = self.text[: self.at][-1:], self.text[self.at + 1 : self.at + 2]
        if self.text[self.at] != "-" or not (before in ("", "(") or before.isspace()):
            return False
        return following not in ("", "-", ")") and not following.isspace()

    def _phrase(self) -> Node:
        found = _QUOTED.match(self.text, self.at)
        assert found
        self.at = found.end()
        if not found[2]:
            self.notes.append("a quotation without an end was read to the end")
        words = found[1].replace('\\"', '"').split()
        return Phrase(" ".join(words)) if words else NOTHING

    def _group(self) -> Node:
        if self.depth == limits.QUERY_DEPTH:
            raise BadQuery(
                f"character {self.at}: parentheses nest deeper than {limits.QUERY_DEPTH}; leave some out"
            )
        self.at += 1
        self.depth += 1
        inside = self.alternatives()
        self.depth -= 1
        if self.at >= len(self.text):
            self.notes.append("a parenthesis without an end was read to the end")
        self.at += 1
        return inside

    def _bracket(self) -> Node:
        if self.text.startswith("[[", self.at):
            return self._link()
        found = _BRACKETED.match(self.text, self.at)
        assert found
        name, colon, _ = found[1].partition(":")
        is_markdown_link = self.text.startswith("(", found.end())
        is_property = _is_searchable(name) and bool(found[2] or colon)
        if self.in_value or is_markdown_link or not is_property:
            return self._word()
        self.at = found.end()
        if not found[2]:
            self.notes.append("a bracket without an end was read to the end")
        condition, misread = property_filter(found[1])
        self.notes += misread
        return Condition(condition)

    def _link(self) -> Node:
        end = self.text.find("]]", self.at)
        inside = self.text[self.at + 2 : end if end >= 0 else len(self.text)]
        self.at = end + 2 if end >= 0 else len(self.text)
        return _word(" ".join(inside.partition("|")[0].split()))

    def _dot_extension(self) -> Node | None:
        found = _DOT_EXTENSION.match(self.text, self.at)
        if not found or not any(known.startswith(found[1].lower()) for known in EXTENSIONS):
            return None
        self.at = found.end()
        return Condition(Extension(found[1]))

    def _operation(self) -> Node | None:
        found = _OPERATOR.match(self.text, self.at)
        operator = OPERATORS.get(found[1].lower()) if found else None
        if not found or not operator:
            self._suspect(found)
            return None
        start, self.at = self.at, found.end()
        condition = operator(self._value(), self.now)
        if condition is None:
            shown = self.text[start : self.at][:SHOWN_CHARS]
            self.notes.append(
                f"{shown} was taken as words; expected {_EXPECTED.get(found[1].lower(), _A_VALUE)}"
            )
            words = self.text[start : self.at].replace('"', " ").split()
            return All(tuple(map(Word, filter(_is_searchable, words))))
        return condition

    def _suspect(self, found: re.Match[str] | None) -> None:
        """Say of ``name:`` that it is a word, where something else was clearly meant."""
        if not found:
            return
        shown = self.text[self.at :].split(maxsplit=1)[0][:SHOWN_CHARS]
        near = get_close_matches(found[1].lower(), OPERATORS, 1, _NEAR)
        if near:
            self.notes.append(f"{shown} was taken as a word; did you mean {near[0]}: ?")
        elif self.text.startswith(("<", ">"), found.end()):
            self.notes.append(f"{shown} was taken as a word; a property is asked for as [{shown}]")

    def _value(self) -> Node:
        if self.text[self.at] == '"':
            return self._phrase()
        if self.text.startswith("[[", self.at):
            return self._link()
        if self.text[self.at] != "(":
            return self._word()
        outer, self.in_value = self.in_value, True
        inside = self._group()
        self.in_value = outer
        return inside

    def _word(self) -> Node:
        """Up to white space or a parenthesis that closes what the word did not open."""
        start, opened = self.at, 0
        while self.at < len(self.text):
            char = self.text[self.at]
            opened += (char == "(") - (char == ")")
            if char.isspace() or opened < 0:
                break
            self.at += 1
        return _word(self.text[start : self.at])


_NEAR = 0.75
_A_VALUE = "something to look for after the colon"
_EXPECTED = dict.fromkeys(
    ("before", "after", "created", "modified"), "a date such as 2026-01-31, 2026-01, 7d or 'last week'"
)


def _word(text: str) -> Node:
    return Word(text) if _is_searchable(text) else NOTHING


def _is_searchable(text: str) -> bool:
    """Letters, digits and signs such as emoji can be looked for, punctuation cannot."""
    return any(
        char.isalnum() or (not char.isascii() and unicodedata.category(char)[0] in "SM") for char in text
    )
