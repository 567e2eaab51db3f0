"""Find the notes that have the query's identifiers, by what the keyword index matched.

The index knows every spelling of an identifier by its normal form (``content/query/normal_forms.py``), so
nothing is read here.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from vaultseek.base.text import fold
from vaultseek.content.query.dates import dates_of
from vaultseek.content.query.normal_forms import TELLING_DIGITS
from vaultseek.core.search.request import ParsedRequest
from vaultseek.store.keyword.answer import KeywordAnswer, MatchedTerm
from vaultseek.store.ledger import NoteRow

_OF_WHOLE = ("word", "whole")
"""Kinds of terms that stand for a word or an identifier itself, not for a part of one."""


@dataclass(frozen=True, slots=True)
class Identified:
    """The notes, by id, with one of the query's identifiers; if there are none, those with one ``near`` it.

    ``missing`` are the identifiers that no note has.
    """

    whole: frozenset[int]
    near: frozenset[int] = frozenset()
    missing: tuple[str, ...] = ()


def notes_with_identifier(
    parsed: ParsedRequest, keyword: KeywordAnswer | None, notes: Mapping[int, NoteRow]
) -> Identified | None:
    """Return which of the ``notes`` have one of the query's identifiers, or one like it.

    None if the query has other words, too, or was not searched by word. A missing identifier was looked up by
    those that begin as it does, such as ``E-4107`` for ``E-4199``.
    """
    if keyword is None or not parsed.profile.pure_identifier:
        return None
    required = {each: _words_of(each, keyword.terms) for each in parsed.profile.identifiers}
    if not any(required.values()):
        return None
    unknown = {term.word for term in keyword.terms if term.fuzzy or not term.df}
    matched = {note: set(keyword.matched(note)) for note in notes}
    whole: set[int] = set()
    near: set[int] = set()
    missing = []
    for identifier, words in required.items():
        having = {note for note, found in matched.items() if words and words <= found}
        if words and not words & unknown:
            whole |= having
        else:
            missing.append(identifier)
            near |= having
    if not whole:
        near |= _with_parts(parsed.profile.identifiers, keyword, matched)
    return Identified(
        frozenset(whole), frozenset() if whole else frozenset(near), tuple(missing) if whole else ()
    )


def _with_parts(
    identifiers: Collection[str], keyword: KeywordAnswer, matched: Mapping[int, Collection[str]]
) -> set[int]:
    """Return the notes with the long number of an identifier, or with all its words if it has no number."""
    parts = {term.word for term in keyword.terms if term.kind == "part"}
    if any(map(str.isdecimal, "".join(identifiers))):
        parts = {part for part in parts if part.isdecimal() and len(part) > 3 and not _YEAR.fullmatch(part)}
    return {note for note, words in matched.items() if parts and parts.issubset(words)}


def missing_beside_words(parsed: ParsedRequest, keyword: KeywordAnswer | None) -> tuple[str, ...]:
    """Return the identifiers with a digit, beside other words of a finished query, that no note has."""
    profile = parsed.profile
    if keyword is None or profile.pure_identifier or parsed.request.typing:
        return ()
    unknown = {term.word for term in keyword.terms if term.fuzzy or not term.df}
    return tuple(
        each for each in profile.identifiers if _is_code(each) and _words_of(each, keyword.terms) & unknown
    )


def _is_code(identifier: str) -> bool:
    """True for an identifier with a number that is no year, and for a long number that is no date."""
    numbers = re.findall("[0-9]+", identifier)
    if not numbers or all(map(_YEAR.fullmatch, numbers)) or dates_of(identifier):
        return False
    return any(map(str.isalpha, identifier)) or sum(map(len, numbers)) >= TELLING_DIGITS


_YEAR = re.compile("(?:19|20)[0-9]{2}")


def notes_with_date(
    dates: Collection[str], keyword: KeywordAnswer | None, notes: Collection[int]
) -> set[int]:
    """Return those of the notes in which the keyword index found one of the days or months, ISO."""
    if keyword is None:
        return set()
    words = {term.word for term in keyword.terms if not term.fuzzy and not set(dates).isdisjoint(term.terms)}
    return {note for note in notes if not words.isdisjoint(keyword.matched(note))}


def _words_of(identifier: str, terms: Collection[MatchedTerm]) -> frozenset[str]:
    """Return the words of the query that a note with the whole ``identifier`` has; none if unknown."""
    folded = fold(identifier)
    words = {term.word.rstrip("*"): term.word for term in terms if term.kind in _OF_WHOLE}
    if folded in words:
        return frozenset({words[folded]})
    inside = [word for word in words if word in folded]
    outermost = [word for word in inside if not any(word != other and word in other for other in inside)]
    return frozenset(words[word] for word in outermost)
