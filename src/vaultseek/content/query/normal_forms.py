"""Normal forms: the single spelling under which the keyword index stores days and identifiers.

A day becomes its ISO date, whatever its spelling in a text or a query. An identifier becomes its letters and
digits: ``E-4107``, ``E4107`` and ``e 4107`` are all ``=e4107``. The index stores normal forms next to the
words as written, and a query looks them up, so no text is read to compare spellings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from vaultseek.base.limits import TERM_CHARS
from vaultseek.base.text import fold, fold_accents, normalize
from vaultseek.content.query.compare import contains
from vaultseek.content.query.dates import find_dates, matches_in_lines

MARK = "="
"""Character before the normal form of an identifier; no word begins with it."""
TELLING_DIGITS = 5
"""Minimum number of digits at which all separators in a number are ignored. In shorter numbers, only
thousands separators are ignored."""
THOUSANDS_DIGITS = 4
"""Minimum number of digits in a number with thousands separators."""
SPACED_LETTERS = 10
"""Maximum length of a word that forms an identifier with the number after it: ``WM 14``."""
UNIT_LETTERS = 4
"""Maximum length of a unit that forms an identifier with the number before it: ``10 mm``."""
MOST_DIGITS = 20
"""Maximum number of digits in one number. Longer sequences of digits and separators are rows of numbers."""
CACHED_TEXTS = 1024
"""Number of texts whose normal forms are cached. They are needed twice: for the ledger, and then for the
keyword index."""

_HAS_SIGN = re.compile(r"[0-9§]|\(\)|[^\W_][-‐‑][^\W_]|\w\.\w+\.\w")
_COMPOUND = re.compile(r"(?<![^\W_])[^\W_]++(?:[-‐‑–−./_:][^\W_]++)+")
_SPACED = re.compile(
    rf"(?<![^\W_])(?:(?=([^\W\d_]{{1,{SPACED_LETTERS}}}[ \xa0][0-9]+(?:[-.][0-9]+)*)(?![^\W_]))"
    rf"|(?=([0-9]+[ \xa0][^\W\d_]{{1,{UNIT_LETTERS}}})(?![^\W_])))"
)
_SPACED_DIGITS = re.compile(
    r"(?<![\w.,])[+(]{0,2}[A-Za-z]{0,3}[0-9]+(?:[ \xa0]?[-‐‑/().,'’ \xa0][ \xa0]?[0-9]+)+(?![\w])"
)
_THOUSANDS = re.compile(r"[0-9]{1,3}(?:[.,'’ \xa0][0-9]{3})+")
_DECIMAL = re.compile(r"([0-9]+)[.,]([0-9]{1,2})")
_AMOUNT = re.compile(r"([0-9]{1,3}(?:[.,'’ \xa0][0-9]{3})+)[.,]([0-9]{1,2})")
_GROUPS = re.compile(r"(?<![\w-])[A-Z]{1,3}[- ]?[0-9]+(?:[- ](?:[0-9]+|[A-Z]{1,2}))+(?![\w-])")
_DOTTED = re.compile(r"(?<![\w.])[^\W\d]\w*(?:\.\w+){2,5}(?![\w])")
_SIGNED = re.compile(r"(?<![\w.])([A-Za-z_][\w.]*\(\))|§[ \xa0]?([0-9][\w.\-]*)")
_JOINT = re.compile(r"[-‐‑–−./_:](?<=[^\W_].)(?=[^\W_])")
_DIGIT = re.compile("[0-9]")
_DOT = re.compile(r"\.(?<=\w.)(?=\w)")
_SIGN = re.compile(r"\(\)|§")
_GOES_ON = re.compile(r"[\w./:‐‑-]")
_VERSION = re.compile(r"[vV]([0-9]+(?:\.[0-9]+)+)")


class NormalForm(NamedTuple):
    """Index terms that represent the characters from ``start`` to ``end`` of a text.

    ``own`` is the term that is already a word in the text; "" if there is none.
    """

    terms: tuple[str, ...]
    start: int
    end: int
    own: str = ""

    @property
    def others(self) -> tuple[str, ...]:
        """Index terms that are not already a word in the text."""
        return tuple(term for term in self.terms if term != self.own) if self.own else self.terms


def normal_forms(text: str, day_first: bool | None = None) -> tuple[NormalForm, ...]:
    """Return the normal forms of the days, months and identifiers in ``text``, which is in NFKC.

    Words that are their own normal form are left out. A day also gives its month. ``day_first`` is the order
    of days and months in the text; if it is unknown, a date such as ``4/5/2026`` gives both possible days.
    """
    return _normal_forms(text, day_first) if _HAS_SIGN.search(text) else ()


@lru_cache(maxsize=CACHED_TEXTS)
def _normal_forms(text: str, day_first: bool | None) -> tuple[NormalForm, ...]:
    return tuple(_forms_in(text, day_first))


def _forms_in(text: str, day_first: bool | None) -> Iterator[NormalForm]:
    for written in find_dates(text):
        days, start, end = written.read(day_first), written.start, written.end
        is_word = not _GOES_ON.match(text[end : end + 1] or " ") and not _GOES_ON.match(
            text[start - 1 : start] or " "
        )
        own = text[start:end] if is_word and text[start:end] in (*days, days[0][:7]) else ""
        yield NormalForm(tuple(dict.fromkeys((*days, *(day[:7] for day in days)))), start, end, own)
    for match in matches_in_lines(_COMPOUND, _JOINT, text):
        compound = match[0]
        if (version := _VERSION.fullmatch(compound)) is not None:
            yield NormalForm((version[1],), *match.span())
        if form := identifier_form(compound):
            yield NormalForm((form,), *match.span())
    for pattern in (_SPACED, _SPACED_DIGITS, _GROUPS):
        for match in matches_in_lines(pattern, _DIGIT, text):
            group = match.lastindex or 0
            if form := identifier_form(match[group]):
                yield NormalForm((form,), *match.span(group))
    for match in matches_in_lines(_DOTTED, _DOT, text):
        if parts := tuple(_dotted_parts(match[0].lower())):
            yield NormalForm(parts, *match.span())
    for match in matches_in_lines(_SIGNED, _SIGN, text):
        yield NormalForm((MARK + (match[1] or f"§{match[2]}").lower(),), *match.span())


def _dotted_parts(name: str) -> Iterator[str]:
    """Yield the dotted names within a longer one: ``os.path`` and ``path.join`` within ``os.path.join``."""
    parts = name.split(".")
    for size in range(2, len(parts)):
        for at in range(len(parts) - size + 1):
            yield ".".join(parts[at : at + size])


def identifier_form(written: str) -> str:
    """Return the normal form of a compound, or of a number with separators; "" if it has none.

    ``os.path`` and ``and/or`` have no normal form, because their words are never written together.
    """
    plain = "".join(character for character in written if character.isalnum())
    if not plain or len(plain) > TERM_CHARS:
        return ""
    if plain.isdecimal():
        if amount := _AMOUNT.fullmatch(written) or _DECIMAL.fullmatch(written):
            whole = "".join(filter(str.isdecimal, amount[1]))
            return f"{MARK}{whole}.{amount[2]}" if len(whole) >= THOUSANDS_DIGITS else ""
        if len(plain) > MOST_DIGITS or (len(plain) < TELLING_DIGITS and not _THOUSANDS.fullmatch(written)):
            return ""
    elif plain.isalpha() and re.search(r"[^\w\-‐‑]|_", written):
        return ""
    return MARK + fold_accents(plain.lower())


# -- the same day or identifier in a query and in a text


class Spelled:
    """Text from a query, in which days and identifiers with a digit match in any spelling.

    A date that may mean two days matches only as it is written.
    """

    def __init__(self, text: str) -> None:
        self._terms: dict[str, str] = {}
        composed = normalize(text)
        words = (
            NormalForm((MARK + fold_accents(word[0].lower()),), *word.span())
            for word in _WORD.finditer(composed)
            if len(word[0]) >= THOUSANDS_DIGITS or not word[0].isdecimal()
        )
        end = 0
        parts: list[str] = []
        for form in sorted((*normal_forms(composed), *words), key=lambda form: (form.start, -form.end)):
            if form.start < end or not _is_spelled(form.terms[0]):
                continue
            days = [term for term in form.terms if len(term) == len("2026-03-15") and term[0] != MARK]
            word = (days or form.terms)[0].removeprefix(MARK)
            if len(days) < 2:
                self._terms[(days or form.terms)[0]] = word
                parts += (composed[end : form.start], word)
            else:
                parts.append(composed[end : form.end])
            end = form.end
        self._text = fold("".join((*parts, composed[end:])))
        self._may_occur = re.compile("|".join(map(_any_spelling, self._terms)))

    @property
    def terms(self) -> Mapping[str, str]:
        """Normal forms in the text, each with the word that replaces it."""
        return self._terms

    def respelled(self, text: str, day_first: bool | None = None) -> str | None:
        """Return ``text``, folded, with the query's days and identifiers replaced by single words.

        Returns None if the text contains none of them.
        """
        if not self._terms:
            return None
        composed = normalize(text)
        if not self._may_occur.search(fold_accents(composed.lower())):
            return None
        return self._respelled(composed, day_first)

    def is_in(self, text: str, day_first: bool | None = None) -> bool:
        """True if ``text`` contains the query's text in any spelling, as whole words."""
        respelled = self.respelled(text, day_first)
        return respelled is not None and contains(respelled, self._text)

    def is_part_of(self, text: str, day_first: bool | None = None) -> bool:
        """True if ``text`` contains the query's text in any spelling, even within a word."""
        respelled = self.respelled(text, day_first)
        return respelled is not None and self._text in respelled

    def equals(self, text: str, day_first: bool | None = None) -> bool:
        """True if ``text`` is the query's text in any spelling."""
        return self.respelled(text, day_first) == self._text

    def _respelled(self, text: str, day_first: bool | None = None) -> str:
        composed = normalize(text)
        parts: list[str] = []
        end = 0
        for form in sorted(normal_forms(composed, day_first), key=lambda form: (form.start, -form.end)):
            word = next((self._terms[term] for term in form.terms if term in self._terms), None)
            if word is not None and form.start >= end:
                parts += (composed[end : form.start], word)
                end = form.end
        return fold("".join((*parts, composed[end:])))


@lru_cache(maxsize=256)
def spelled(text: str) -> Spelled:
    """Return the days and identifiers in a query's text. Results are cached, because each query is compared
    with thousands of notes.
    """
    return Spelled(text)


def _any_spelling(term: str) -> str:
    """Return a pattern for the part that all spellings of a normal form share: the year of a day, or the
    characters of an identifier.
    """
    if not term.startswith(MARK):
        return re.escape(term[:4])
    return r"[\W_]{0,3}".join(map(re.escape, term[1:]))


def _is_spelled(term: str) -> bool:
    """True for a day, a month, and an identifier with a digit."""
    return is_code(term) or DAY_OR_MONTH.fullmatch(term) is not None


def is_code(term: str) -> bool:
    """True for the normal form of an identifier with a digit."""
    return term.startswith(MARK) and any(map(str.isdecimal, term))


DAY_OR_MONTH = re.compile(r"[0-9]{4}-[0-9]{2}(?:-[0-9]{2})?")


_WORD = re.compile(r"(?<![^\W_])(?=[^\W\d_]*[0-9])[^\W_]+(?![^\W_])")
"""Pattern for a word with a digit, which may be an identifier by itself."""
