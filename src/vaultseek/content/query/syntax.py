"""Parse queries: from characters to a syntax tree."""

import re
import unicodedata
from collections.abc import Collection
from difflib import get_close_matches
from typing import NamedTuple

from vaultseek.base import limits
from vaultseek.base.matching import pattern_error
from vaultseek.base.patterns import PatternTooLarge
from vaultseek.base.text import SHOWN_CHARS, fold
from vaultseek.content.kinds import KINDS
from vaultseek.content.languages.stopwords import STOP_WORDS
from vaultseek.content.query.expression import FLAGS
from vaultseek.content.query.filters import Filter, HasName, Matches
from vaultseek.content.query.operators import (
    EXPRESSION_OPERATORS,
    EXTENSIONS,
    OPERATORS,
    Reading,
    property_filter,
)
from vaultseek.content.query.tree import NOTHING, All, Any, Condition, Expression, Negated, Node, Phrase, Word
from vaultseek.errors import BadQuery


class Tree(NamedTuple):
    """Syntax tree of a query, and a remark about each repair.

    ``doubtful`` are terms such as ``[name]``, ``.csv`` and ``-xzf``, which may come from pasted text. Each
    comes with a condition: the one that it was read as or, for ``-xzf`` after ``tar``, one for notes that
    contain ``tar -xzf``.
    """

    root: Node
    notes: tuple[str, ...]
    doubtful: tuple[tuple[str, Filter], ...]
    reads_time: bool


def parse_tree(text: str, reading: Reading, words: Collection[str] = ()) -> Tree:
    """Parse ``text``, which has no control characters. Raises BadQuery if parentheses are nested too deeply.

    Terms such as ``[name]``, ``.csv`` and ``-xzf`` that are in ``words`` are read as ordinary words, not as
    conditions.
    """
    parser = _Parser(text, reading, words)
    root = parser.alternatives()
    return Tree(root, tuple(dict.fromkeys(parser.notes)), tuple(parser.doubtful), parser.reads_time)


def may_have_expressions(text: str) -> bool:
    """True if parsing ``text`` may compile regular expressions, which can be slow."""
    return _TWO_SLASHES.search(text) is not None


_QUOTES = dict.fromkeys(map(ord, "“”„‟"), '"')
_OR = re.compile(r'OR(?=[\s("])\s*(?=[^\s)])')
_OPERATOR = re.compile(r"([A-Za-z]+(?:-[A-Za-z]+)?):(?!//)(?=[^\s)])")
_NO_VALUE = re.compile(r"([A-Za-z]+(?:-[A-Za-z]+)?):(?=\s+\S|\s*$)")
_DOT_EXTENSION = re.compile(r"\.([A-Za-z][A-Za-z0-9]{1,9})(?=[\s)]|$)")
_SHORT_PREFIX = re.compile(r"[^\W_]\*")
_QUOTED = re.compile(r'"((?:\\"|[^"])*+)("?)')
_EXPRESSION = re.compile(r"/((?![\s/])(?:\\.|[^/\\])+)/(?=[\s)]|$)")
_DASHED = re.compile(r"(?<!\S)-([^\W_][^\s()\"\[\]]*)(?=[\s)]|$)")
_NEGATIVE_NUMBER = re.compile(r"-[0-9]{1,3}(?:[.,][0-9]+)?[°%]?[^\W\d_]{0,3}")
"""A number such as ``-5`` or ``-12.5°C``; longer ones are years and other codes to exclude."""
_OPTION_SHAPE = re.compile("[A-Z0-9=:]")
_COMMAND = re.compile(r"(?:\$\s+)?[\w./][\w./-]*(?=\s)(?=.*\s-(?:-[^\W_]\S*|[^\W_])(?!\S))", re.DOTALL)
"""Pattern for a pasted command line: a word, and an option such as ``-m`` or ``--delete``."""
_TWO_SLASHES = re.compile(r"/[^/]+/")
# A regular expression in brackets may itself contain brackets.
_BRACKETED = re.compile(
    r'\[((?:"(?:\\"|[^"])*+"|\[\[[^\[\]]*\]\]|(?<=[:\s(])/(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\[\]])+/(?=[\s)\]])|[^\]])*+)(\]?)'
)


class _Parser:
    """Recursive descent parser for queries.

    ``in_value`` is true inside ``name:(…)``, where operators are words. ``in_text`` is true where a word
    stands for text, so that a regular expression may replace it. ``text`` has straight quotes; ``written``
    has the original ones, which regular expressions need.
    """

    def __init__(self, text: str, reading: Reading, words: Collection[str]) -> None:
        self.text = text.translate(_QUOTES)
        self.written = text
        self.reading = reading
        self.position = 0
        self.depth = 0
        self.in_value = False
        self.in_text = True
        self.notes: list[str] = []
        self.words = words
        self.reads_time = True
        self.doubtful: list[tuple[str, Filter]] = []

    def alternatives(self) -> Node:
        sequences = [self._sequence()]
        while operator := _OR.match(self.text, self.position):
            self.position = operator.end()
            sequences.append(self._sequence())
        sides = tuple(side for side in sequences if side != NOTHING)
        return Any(sides) if len(sides) > 1 else sides[0] if sides else NOTHING

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while not self._is_over(has_terms=bool(parts)):
            part = self._term()
            if part != NOTHING:
                parts.append(part)
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def _is_over(self, *, has_terms: bool) -> bool:
        while self.position < len(self.text):
            char = self.text[self.position]
            if char == ")" and not self.depth:
                self.notes.append("an unmatched closing parenthesis was ignored")
            elif not char.isspace():
                return char == ")" or (has_terms and _OR.match(self.text, self.position) is not None)
            self.position += 1
        return True

    def _term(self) -> Node:
        if self._negates():
            self.position += 1
            part = self._term()
            return NOTHING if part == NOTHING else Negated(part)
        match self.text[self.position]:
            case '"':
                return self._phrase()
            case "(":
                return self._group()
            case "[":
                return self._bracket()
        if expression := self._expression():
            return expression
        if self.in_value:
            return self._word()
        return self._dot_extension() or self._operation() or self._bare_word()

    def _negates(self) -> bool:
        before, following = self.text[: self.position][-1:], self.text[self.position + 1 : self.position + 2]
        if self.text[self.position] != "-" or not (before in ("", "(") or before.isspace()):
            return False
        if following in ("", "-", ")") or following.isspace():
            return False
        return not self._is_option()

    def _is_option(self) -> bool:
        """True if the ``-`` begins an option of a pasted command, such as ``-m`` or ``-avz``."""
        match = None if self.in_value else _DASHED.match(self.text, self.position)
        if match is None or (":" in match[1] and match[1].partition(":")[0].lower() in OPERATORS):
            return False
        is_number = _NEGATIVE_NUMBER.fullmatch(match[0])
        if is_number or _COMMAND.match(self.text) or match[0] in self.words:
            self.notes.append(f'{match[0]} was treated as a word; write -"{match[1]}" to exclude it')
            return True
        before = self.text[: self.position].split()[-1:]
        if _OPTION_SHAPE.search(match[1]):
            self.doubtful.append((match[0], Matches(rf"(?<![\w-]){re.escape(match[0])}(?!\w)")))
        elif before:
            option = rf"{re.escape(before[0])}\s+{re.escape(match[0])}"
            self.doubtful.append((match[0], Matches(rf"(?<!\w){option}(?!\w)")))
        return False

    def _phrase(self) -> Node:
        match = _QUOTED.match(self.text, self.position)
        assert match
        self.position = match.end()
        if not match[2]:
            self.notes.append("a quotation mark is not closed: the rest was read as one phrase")
        words = match[1].replace('\\"', '"').split()
        return Phrase(" ".join(words)) if words else NOTHING

    def _expression(self) -> Node | None:
        match = _EXPRESSION.match(self.text, self.position) if self.in_text else None
        if match is None:
            return None
        pattern = self.written[match.start(1) : match.end(1)].replace("\\/", "/")
        try:
            problem = pattern_error(pattern, FLAGS)
        except PatternTooLarge as error:
            raise BadQuery(
                f"character {self.position}: the regular expression cannot be used; {error}"
            ) from None
        if problem:
            term = match[0][:SHOWN_CHARS]
            self.notes.append(f"{term} was treated as words; it is not a valid regular expression: {problem}")
            return None
        self.position = match.end()
        return Expression(pattern)

    def _problem(self, pattern: str) -> str | None:
        """Return the error in a regular expression. Raises BadQuery if the expression is too large."""
        try:
            return pattern_error(pattern, FLAGS)
        except PatternTooLarge as error:
            raise BadQuery(
                f"character {self.position}: the regular expression is too large; {error}"
            ) from None

    def _group(self) -> Node:
        if self.depth == limits.QUERY_DEPTH:
            deepest = limits.QUERY_DEPTH
            raise BadQuery(
                f"character {self.position}: parentheses are nested deeper than {deepest}; remove some"
            )
        self.position += 1
        self.depth += 1
        inside = self.alternatives()
        self.depth -= 1
        if self.position >= len(self.text):
            self.notes.append("a parenthesis is not closed: everything after it was read as its content")
        self.position += 1
        return inside

    def _bracket(self) -> Node:
        if self.text.startswith("[[", self.position):
            return self._link()
        match = _BRACKETED.match(self.text, self.position)
        assert match
        name, colon, _ = match[1].partition(":")
        is_markdown_link = self.text.startswith("(", match.end())
        is_property = _is_searchable(name) and bool(match[2] or colon)
        if self.in_value or is_markdown_link or not is_property:
            return self._word()
        self.position = match.end()
        if not match[2]:
            self.notes.append("a bracket is not closed: everything after it was read as its content")
        if match[0] in self.words:
            self.notes.append(f"{match[0][:SHOWN_CHARS]} was treated as words; no note has such a property")
            words = match[1].replace('"', " ").split()
            return All(tuple(map(Word, filter(_is_searchable, words))))
        condition, notes = property_filter(match[1], self._problem)
        self.notes += notes
        self.doubtful.append((match[0], condition))
        return Condition(condition)

    def _link(self) -> Node:
        end = self.text.find("]]", self.position)
        inside = self.text[self.position + 2 : end if end >= 0 else len(self.text)]
        self.position = end + 2 if end >= 0 else len(self.text)
        return _word(" ".join(inside.partition("|")[0].split()))

    def _dot_extension(self) -> Node | None:
        match = _DOT_EXTENSION.match(self.text, self.position)
        if not match or not any(known.startswith(match[1].lower()) for known in EXTENSIONS):
            return None
        if match[0] in self.words:
            self.notes.append(f"{match[0]} was treated as a word; no file has this extension")
            return None
        if self._is_in_sentence(match):
            self.notes.append(f"{match[0]} was treated as a word; write ext:{match[1]} to filter by it")
            return None
        self.position = match.end()
        condition = HasName("extension", match[1])
        self.doubtful.append((match[0], condition))
        return Condition(condition)

    def _is_in_sentence(self, match: re.Match[str]) -> bool:
        """True if the words around a file extension show that it is part of a sentence, as in *a .csv
        file*.
        """
        before = self.text[: match.start()].split()[-1:]
        after = self.text[match.end() :].split()[:1]
        near = {fold(word).strip(_ENDS) for word in (*before, *after)}
        return not near.isdisjoint(STOP_WORDS) or not _FILES.isdisjoint(
            fold(word).strip(_ENDS) for word in after
        )

    def _operation(self) -> Node | None:
        match = _OPERATOR.match(self.text, self.position)
        operator = OPERATORS.get(match[1].lower()) if match else None
        if not match or not operator:
            self._note_unknown_operator(match)
            return None
        start, self.position = self.position, match.end()
        outer, self.in_text = self.in_text, match[1].lower() in EXPRESSION_OPERATORS
        value = self._value()
        condition = operator(value, self.reading)
        self.in_text = outer
        if match[1].lower() == "when" and value == Word("any"):
            self.reads_time = False
            return NOTHING
        if condition is None:
            expected = _EXPECTED.get(match[1].lower(), _A_VALUE)
            term = self.text[start : self.position][:SHOWN_CHARS]
            self.notes.append(f"{term} was treated as words; expected {expected}")
            words = self.text[start : self.position].replace('"', " ").split()
            return All(tuple(map(Word, filter(_is_searchable, words))))
        return condition

    def _note_unknown_operator(self, match: re.Match[str] | None) -> None:
        """Add a remark that ``name:`` is read as a word, if it nearly matches an operator."""
        if not match:
            self._note_space_after_operator()
            return
        term = self.text[self.position :].split(maxsplit=1)[0][:SHOWN_CHARS]
        if match[1].lower() in _OF_CASE:
            self.notes.append(f"{term} was treated as a word; searches always ignore case")
            return
        close = get_close_matches(match[1].lower(), OPERATORS, 1, _SIMILARITY)
        if close:
            meant = f"{close[0]}:{term.partition(':')[2]}"
            self.notes.append(f"{term} was treated as a word; did you mean {meant}?")
        elif self.text.startswith(("<", ">"), match.end()):
            self.notes.append(f"{term} was treated as a word; write a property filter as [{term}]")

    def _note_space_after_operator(self) -> None:
        match = _NO_VALUE.match(self.text, self.position)
        if match and match[1].lower() in OPERATORS:
            self.notes.append(
                f"{match[0]} was treated as a word; write the value directly after the colon, without a space"
            )

    def _value(self) -> Node:
        if self.text[self.position] == '"':
            return self._phrase()
        if self.text.startswith("[[", self.position):
            return self._link()
        if self.text[self.position] != "(":
            return self._expression() or self._word()
        outer, self.in_value = self.in_value, True
        inside = self._group()
        self.in_value = outer
        return inside

    def _bare_word(self) -> Node:
        start = self.position
        word = self._word()
        text = self.text[start : self.position]
        if text == "OR" and self.text.strip() != text:
            self.notes.append("OR was treated as a word; put it between two terms")
        # In a query in capitals, NOT is an ordinary word rather than another search engine's operator.
        elif text == "NOT" and not self.text.isupper() and self.text[self.position :].strip(" )"):
            self.notes.append("NOT was treated as a word; write - before a term to exclude it")
        elif _SHORT_PREFIX.fullmatch(text):
            self.notes.append(
                f'"{text}" was treated as the word "{text[0]}"; a prefix needs at least two letters'
            )
        return word

    def _word(self) -> Node:
        """Parse a word, up to white space or an unmatched closing parenthesis."""
        start, open_parentheses = self.position, 0
        while self.position < len(self.text):
            char = self.text[self.position]
            open_parentheses += (char == "(") - (char == ")")
            if char.isspace() or open_parentheses < 0:
                break
            self.position += 1
        return _word(self.text[start : self.position])


_SIMILARITY = 0.66
_FILES = frozenset(
    {
        "file",
        "files",
        "format",
        "extension",
        "document",
        "documents",
        "datei",
        "dateien",
        "fichier",
        "archivo",
    }
)
_ENDS = ".,;:!?"
_OF_CASE = ("match-case", "ignore-case")  # operators in Obsidian
_A_VALUE = "a value after the colon"
_EXPECTED = dict.fromkeys(
    ("before", "after", "created", "modified"), "a date such as 2026-01-31, 2026-01, 7d or 'last week'"
) | {
    "kind": f"one of {', '.join(KINDS)}",
    "is": "current, superseded or stale",
    "when": "any, to ignore times in the query",
}


def _word(text: str) -> Node:
    return Word(text) if _is_searchable(text) else NOTHING


def _is_searchable(text: str) -> bool:
    """True for text with letters, digits or symbols such as emoji; False for punctuation alone."""
    return any(
        char.isalnum() or (not char.isascii() and unicodedata.category(char)[0] in "SM") for char in text
    )
