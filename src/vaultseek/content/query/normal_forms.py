"""Normal forms: the single spelling under which the keyword index stores days and identifiers.

A day becomes its ISO date, whatever its spelling in a text or a query. An identifier becomes its letters and
digits: ``E-4107``, ``E4107`` and ``e 4107`` are all ``=e4107``. The index stores normal forms next to the
words as written, and a query looks them up, so no text is read to compare spellings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from vaultseek.base.limits import TERM_CHARS
from vaultseek.base.text import fold_accents
from vaultseek.content.query.dates import find_dates

MARK = "="
"""The sign before the normal form of an identifier; no word begins with it."""
TELLING_DIGITS = 5
"""Number of digits at which any separators are ignored; shorter numbers may only have thousands
separators."""
THOUSANDS_DIGITS = 4
"""Minimum number of digits in a number with thousands separators."""
SPACED_LETTERS = 10
"""Maximum length of a word that forms one identifier with the number after it: ``WM 14``."""
UNIT_LETTERS = 4
"""Maximum length of a unit that forms one identifier with the number before it: ``10 mm``."""
MOST_DIGITS = 20
"""Maximum number of digits and separators in a number; a longer run is a row of several numbers."""

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
_GOES_ON = re.compile(r"[\w./:‐‑-]")
_VERSION = re.compile(r"[vV]([0-9]+(?:\.[0-9]+)+)")


class NormalForm(NamedTuple):
    """Index terms that represent the characters ``start`` to ``end`` of a text."""

    terms: tuple[str, ...]
    start: int
    end: int


def normal_forms(text: str) -> Iterator[NormalForm]:
    """Yield the normal forms of the days, months and identifiers in ``text``, which is in NFKC.

    Words that are their own normal form are left out. A day also gives its month.
    """
    if not _HAS_SIGN.search(text):
        return
    for days, start, end in find_dates(text):
        months = (day[:7] for day in days)
        terms = dict.fromkeys((*days, *months))
        if not _GOES_ON.match(text[end : end + 1] or " ") and not _GOES_ON.match(
            text[start - 1 : start] or " "
        ):
            terms.pop(text[start:end], None)  # already a word of the text
        if terms:
            yield NormalForm(tuple(terms), start, end)
    for match in _COMPOUND.finditer(text):
        written = match[0]
        if (version := _VERSION.fullmatch(written)) is not None:
            yield NormalForm((version[1],), *match.span())
        if form := identifier_form(written):
            yield NormalForm((form,), *match.span())
    for pattern in (_SPACED, _SPACED_DIGITS, _GROUPS):
        for match in pattern.finditer(text):
            group = match.lastindex or 0
            if form := identifier_form(match[group]):
                yield NormalForm((form,), *match.span(group))
    for match in _DOTTED.finditer(text):
        if parts := tuple(_dotted_parts(match[0].lower())):
            yield NormalForm(parts, *match.span())
    for match in _SIGNED.finditer(text):
        yield NormalForm((MARK + (match[1] or f"§{match[2]}").lower(),), *match.span())


def _dotted_parts(name: str) -> Iterator[str]:
    """Yield the dotted names within a longer one: ``os.path`` and ``path.join`` from ``os.path.join``."""
    parts = name.split(".")
    for size in range(2, len(parts)):
        for at in range(len(parts) - size + 1):
            yield ".".join(parts[at : at + size])


def identifier_form(written: str) -> str:
    """Return the normal form of a compound or a number with separators; "" if it has none.

    ``os.path`` and ``and/or`` have none, because no other spelling of them joins their words.
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
