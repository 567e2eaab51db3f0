"""Normal forms: the single spelling under which the keyword index stores days and identifiers.

A day becomes its ISO date, whatever its spelling in a text or a query. An identifier becomes its letters and
digits: ``E-4107`` and ``e 4107`` are ``=e4107``. A border between two numbers is kept, because ``A-1-12``,
which is ``=a1-12``, is not ``A-11-2``. Nobody knows the borders of ``A112``, so it is the same as both: they
also have the closed form ``=~a112``, which only a closed spelling looks up. The index stores normal forms
next to the words as written, and a query looks them up, so no text is read to compare spellings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from vaultseek.base.limits import TERM_CHARS
from vaultseek.base.text import fold, fold_accents, normalize
from vaultseek.content.query.compare import contains
from vaultseek.content.query.dates import ARTICLE, find_dates, lines_with

MARK = "="
"""Character before the normal form of an identifier; no word begins with it."""
_CLOSED = "=~"
"""Characters before the closed form of an identifier with borders between numbers."""
TELLING_DIGITS = 5
"""Minimum number of digits in a number with separators that are not thousands separators."""
GROUPED_DIGITS = 10
"""Minimum number of digits, as in an ISBN, at which separators are ignored, wherever they are. Those of
thousands and of telephone numbers always are."""
THOUSANDS_DIGITS = 4
"""Minimum number of digits in a number with thousands separators."""
SPACED_LETTERS = 10
"""Maximum length of a word that forms an identifier with the number after it: ``WM 14``."""
UNIT_LETTERS = 4
"""Maximum length of a unit that forms one identifier with the number before it: ``10 mm``."""
CHAIN_LINKS = 4
"""Maximum number of words from the first number in a code to the end of a shorter code in it, such as
``GTX 1080`` in ``GTX 1080 Ti``."""
MOST_DIGITS = 20
"""Maximum number of digits in one number. Longer sequences of digits and separators are rows of numbers."""
CACHED_TEXTS = 4096
"""Number of texts whose normal forms are cached. The forms are needed twice: for the ledger and then, after a
batch of notes, for the keyword index."""

_HAS_SIGN = re.compile(
    r"[0-9§(‐‑×.-](?:(?<=[0-9§])|(?<=[^\W_][‐‑×-])(?=[^\W_])|(?<=\()(?=\))|(?<=\w\.)(?=\w+\.\w))"
)
"""Pattern for the signs without which a line has no normal form."""
_COMPOUND = re.compile(r"(?<![^\W_])[^\W_]++(?:[-‐‑–−./_:#×][^\W_]++)+")
_SPACE_BEFORE_NUMBER = re.compile(r"[ \xa0]#?[0-9]+(?:[-‐‑–−.][0-9]+)*(?![^\W_])")
_WORD_BEFORE = re.compile(rf"(?<![^\W_])[^\W\d_]{{1,{SPACED_LETTERS}}}\Z")
_THOUSANDS = re.compile(r"[1-9][0-9]{0,2}(?:[.,'’ \xa0][0-9]{3})+")
_UNIT = rf"(?:°?[^\W\d_]{{1,{UNIT_LETTERS}}}[23]?(?![^\W_])|[%‰€£$])"
_WITH_UNIT = re.compile(
    r"[0-9](?<![^\W_][0-9])(?<![0-9][.,'’][0-9])(?:[0-9]{0,2}(?:[.,'’ \xa0][0-9]{3}(?![0-9]))+|[0-9]*)"
    rf"(?:[.,][0-9]+[ \xa0]?|[ \xa0]|(?=[°%‰€£$μ])){_UNIT}"
)
_QUANTITY = re.compile(rf"({_THOUSANDS.pattern}|[0-9]+)(?:[.,]([0-9]+))?[ \xa0]?({_UNIT})")
_SPACED_DIGITS = re.compile(
    r"(?<![\w.,])[+(]{0,2}[A-Za-z]{0,3}[0-9]+(?:[ \xa0]?[-‐‑/().,'’ \xa0][ \xa0]?[0-9]+)+(?![-‐‑]?\w)"
)
_DECIMAL = re.compile(r"([0-9]+)[.,]([0-9]{1,2})")
_AMOUNT = re.compile(r"([0-9]{1,3}(?:[.,'’ \xa0][0-9]{3})+)[.,]([0-9]{1,2})")
_NUMBERED = r"(?:[A-Z]{1,8}[-/]?)?[0-9][A-Z0-9]*(?:[-/][A-Z0-9]+|\.[0-9]+)*"
_CHAIN = re.compile(
    rf"(?<![\w-])(?<![0-9][.,])(?:[A-Z]{{1,8}}(?:[-/][A-Z]{{1,8}}){{0,2}}[ \xa0]){{0,2}}{_NUMBERED}"
    rf"(?:[ \xa0](?:{_NUMBERED}|[A-Z]{{1,3}}|[A-Z][a-z]|[x×]))*(?![\w-]|[.,][0-9])"
)
"""Pattern for a code in several words: ``GTX 1080 Ti``, ``3M 8210``, ``M-AB 1234``, ``M8 x 40``."""
_DIMENSIONS = re.compile(
    rf"[0-9](?<![\w.,].)[0-9]*(?:[.,][0-9]+)?(?:[ \xa0]?[x×][ \xa0]?[0-9]+(?:[.,][0-9]+)?)+[ \xa0]?{_UNIT}"
)
"""Pattern for dimensions: ``40 × 60 cm``, ``40x60 cm``."""
_SPACED_CODE = re.compile(r"[A-Z0-9][ \xa0](?=[A-Z0-9x×])")
_OTHER_NAMES = re.compile(r"/(?<=[A-Z].)[A-Z]+(?:/[A-Z]+)*(?=[ \xa0]?[0-9])")
"""Pattern for further names before a number: ``ISO/IEC 27001`` is also ``ISO 27001``."""
_LINK = re.compile("[^ \xa0]+")
_LETTER = re.compile(r"[^\W\d_]|×")
_DOTTED = re.compile(r"(?<![\w.])[^\W\d]\w*(?:\.[^\W\d]\w*){2,5}(?![\w])")
_SIGNED = re.compile(r"(?<![\w.])([A-Za-z_][\w.]*\(\))|§[ \xa0]?([0-9][\w.\-]*)")
_JOINT = re.compile(r"[-‐‑–−./_:#×](?<=[^\W_].)(?=[^\W_])")
_DIGIT = re.compile("[0-9]")
_NEXT_DIGIT = re.compile(r"[0-9](?=[-‐‑/().,'’ \xa0]{1,3}[0-9])")
_TIMES = re.compile(r"[0-9](?=[ \xa0]?[x×])")
_TWO_DOTS = re.compile(r"\.(?<=\w\.)[^\W\d]\w*+\.(?=[^\W\d])")
"""Patterns for the signs without which a line has no spaced digits, no dimensions or no dotted name. Trying
them first is several times as fast."""
_GOES_ON = re.compile(r"[\w./:‐‑-]")
_LEVELS = re.compile(r"[0-9]\.[0-9]")
_BORDER = re.compile(r"(?<=[0-9])[\W_]+(?=[0-9])")
_BORDER_OF_LEVELS = re.compile(r"(?<=[0-9])(?:[^\w.]|_)+(?=[0-9])")
_NO_BORDER = re.compile(r"[\W_]++(?![0-9])|(?<![0-9\W_])[\W_]++|\A[\W_]++")
_LONG_GROUP = re.compile(r"\.[0-9]{4}")
"""Pattern for a level with too many digits. Dots are kept between the levels of versions, sections and
network addresses, which have at most three digits: ``4.1.12`` is not ``4.11.2``."""
VERSION_WORD = r"v(?:er|ersi\w{1,3}|ersão)?[ \xa0]?"
"""Pattern for the word or letter before a version: ``v2.14``, ``version 2.14``, ``versión 2.14``."""
_VERSION = re.compile(rf"{VERSION_WORD}([0-9]+(?:\.[0-9]+)+)", re.IGNORECASE)
_UNIT_SIGNS = str.maketrans({"°": None, "μ": "u"})
_DOTTED_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)+")


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


def changed_words(text: str) -> Iterator[str]:
    """Yield the normal forms of the words in ``text`` that differ in NFKC, such as ``16mm²``."""
    composed = normalize(text)
    if composed != text:
        words = {*_WORDS.findall(fold_accents(composed.lower()))}
        yield from (MARK + word for word in words.difference(_WORDS.findall(fold_accents(text.lower()))))


def _forms_in(text: str, day_first: bool | None) -> Iterator[NormalForm]:
    for written in find_dates(text):
        days, start, end = written.read(day_first), written.start, written.end
        is_word = not _GOES_ON.match(text[end : end + 1] or " ") and not _GOES_ON.match(
            text[start - 1 : start] or " "
        )
        own = text[start:end] if is_word and text[start:end] in (*days, days[0][:7]) else ""
        yield NormalForm(tuple(dict.fromkeys((*days, *(day[:7] for day in days)))), start, end, own)
    for start, end in lines_with(_HAS_SIGN, text):
        yield from _identifiers_in(text, start, end)


def _identifiers_in(text: str, line: int, line_end: int) -> Iterator[NormalForm]:
    """Yield the normal forms of the identifiers in the line from ``line`` to ``line_end``."""
    for start, end in dict.fromkeys(_places_of_codes(text, line, line_end)):
        if form := identifier_form(text[start:end]):
            terms: tuple[str, ...] = (form, _CLOSED + form[1:].replace("-", "")) if "-" in form else (form,)
            if names := _OTHER_NAMES.search(text, start, end):
                terms += (identifier_form(text[start : names.start()] + text[names.end() : end]),)
            yield NormalForm(terms, start, end)
    if _TWO_DOTS.search(text, line, line_end):
        for match in _DOTTED.finditer(text, line, line_end):
            if parts := tuple(_dotted_parts(match[0].lower())):
                yield NormalForm(parts, *match.span())
    if text.find("()", line, line_end) >= 0 or text.find("§", line, line_end) >= 0:
        for match in _SIGNED.finditer(text, line, line_end):
            yield NormalForm((MARK + (match[1] or f"§{match[2]}").lower(),), *match.span())


def _places_of_codes(text: str, line: int, line_end: int) -> list[tuple[int, int]]:
    """Return the character ranges of possible identifiers in lines, some of them twice."""
    places: list[tuple[int, int]] = []
    if _JOINT.search(text, line, line_end):
        places += map(re.Match.span, _COMPOUND.finditer(text, line, line_end))
    if not _DIGIT.search(text, line, line_end):
        return places
    places += map(re.Match.span, _WITH_UNIT.finditer(text, line, line_end))
    if _NEXT_DIGIT.search(text, line, line_end):
        places += map(re.Match.span, _SPACED_DIGITS.finditer(text, line, line_end))
    if _TIMES.search(text, line, line_end):
        places += map(re.Match.span, _DIMENSIONS.finditer(text, line, line_end))
    for match in _SPACE_BEFORE_NUMBER.finditer(text, line, line_end):
        start, end = match.span()
        if word := _WORD_BEFORE.search(text, max(line, start - SPACED_LETTERS - 1), start):
            places.append((word.start(), end))
    if _SPACED_CODE.search(text, line, line_end):
        for match in _CHAIN.finditer(text, line, line_end):
            places += _codes_in_chain(text, match)
    return places


def _codes_in_chain(text: str, chain: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the codes in a chain of words, and the whole chain."""
    links = [link.span() for link in _LINK.finditer(text, *chain.span())]
    if len(links) < 2 or not _LETTER.search(chain[0]):
        return
    number = next(at for at, link in enumerate(links) if any(map(str.isdecimal, text[slice(*link)])))
    for first in range(number + 1):
        for _, end in links[max(number, first + 1) : number + CHAIN_LINKS]:
            if _LETTER.search(text, links[first][0], end):
                yield links[first][0], end
    yield chain.span()


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
    written = written if written.isascii() else written.replace("×", "x")
    plain = "".join(filter(str.isalnum, written))
    if not plain or len(plain) > TERM_CHARS:
        return ""
    if plain[0].isdecimal() and (quantity := _QUANTITY.fullmatch(written)):
        whole, fraction, unit = quantity.groups()
        number = "".join(filter(str.isdecimal, whole)) + (f".{fraction}" if fraction else "")
        return MARK + number + fold_accents(unit.lower()).translate(_UNIT_SIGNS)
    if plain[0] in "vV" and (version := _VERSION.fullmatch(written)):
        return MARK + version[1]
    if plain.isdecimal():
        if amount := _AMOUNT.fullmatch(written) or _DECIMAL.fullmatch(written):
            whole = "".join(filter(str.isdecimal, amount[1]))
            return f"{MARK}{whole}.{amount[2]}" if len(whole) >= THOUSANDS_DIGITS else ""
        if len(plain) > MOST_DIGITS or (len(plain) < TELLING_DIGITS and not _THOUSANDS.fullmatch(written)):
            return ""
    elif plain.isalpha() and re.search(r"[^\w\-‐‑]|_", written):
        return ""
    if _BORDER.search(written) and not _THOUSANDS.fullmatch(written):
        has_levels = _LEVELS.search(written) and not _LONG_GROUP.search(written)
        is_grouped = plain.isdecimal() and (
            plain[0] == "0" or not written[0].isdecimal() or len(plain) >= GROUPED_DIGITS
        )
        if has_levels or not is_grouped:
            bordered = _NO_BORDER.sub("", written)
            plain = (_BORDER_OF_LEVELS if has_levels else _BORDER).sub("-", bordered)
    return MARK + fold_accents(plain.lower())


def word_form(word: str) -> str:
    """Return the normal form of a word in a query, even of a word that is its own normal form in a text."""
    if (form := identifier_form(word)) or not word.isalnum():
        return form or (MARK + word if _DOTTED_NUMBER.fullmatch(word) else "")
    return MARK + fold_accents(word.lower()) if len(word) >= THOUSANDS_DIGITS or not word.isdecimal() else ""


def spellings(form: str, written: str) -> tuple[str, ...]:
    """Return the index terms that are other spellings of an identifier, given its normal form and its
    spelling."""
    closed = form.removeprefix(MARK).replace("-", "")
    return (form, _CLOSED + closed, closed) if written.isalnum() else (form, closed)


# -- the same day or identifier in a query and in a text


class Spelled:
    """Text from a query, in which days and identifiers with a digit match in any spelling.

    A date that may mean two days matches only as it is written.
    """

    def __init__(self, text: str) -> None:
        self._terms: dict[str, str] = {}
        composed = normalize(text)
        words = (
            NormalForm((alone,), *word.span())
            for word in _WORD.finditer(composed)
            if (alone := word_form(word[0]))
        )
        end = 0
        parts: list[str] = []
        # A day takes precedence over the row of digits that begins with the day: ``27/03/2021 10``.
        for form in sorted(
            _without_codes_over_days((*normal_forms(composed), *words), composed),
            key=lambda form: (form.start, form.terms[0].startswith(MARK), -form.end),
        ):
            if form.start < end or not _is_spelled(form.terms[0]):
                continue
            days = _days(form)
            term = (days or form.terms)[0]
            if len(days) < 2:
                word = self._add(term, composed[form.start : form.end])
                parts += (_before(form, composed, end), word)
            else:
                parts.append(composed[end : form.end])
            end = _end_of(form, composed, parts)
        self._texts = {fold("".join((*parts, composed[end:])))}
        if closed := _closed(composed):
            self._texts.add(self._add(closed, composed))
        self._letters = tuple(f"{MARK}{fold_accents(word)}" for word in _LETTERS.findall(fold(composed)))
        self._may_occur = re.compile("|".join(dict.fromkeys(map(_any_spelling, self._terms))))

    def _add(self, term: str, written: str) -> str:
        """Add the terms of a day or an identifier, and return the word that replaces it."""
        if not term.startswith(MARK):
            return self._terms.setdefault(term, term)
        word = term.removeprefix(MARK).replace("-", "")
        forms = (form for form in spellings(term, written) if form.startswith(MARK))
        self._terms |= dict.fromkeys(forms, word)
        return word

    @property
    def terms(self) -> tuple[str, ...]:
        """Normal forms of the words in the text. Every note that has the text in another spelling has one of
        them, or contains a part of the text."""
        return (*self._terms, *self._letters)

    def respelled(self, text: str, day_first: bool | None = None) -> str | None:
        """Return ``text``, folded and in NFKC, with single words for the query's days and identifiers.

        Returns None if the text has none of them or, if the query has none either, if NFKC changes nothing.
        """
        composed = normalize(text)
        if not self._terms and composed == text:
            return None
        if not self._may_occur.search(fold_accents(composed.lower())):
            return None
        return self._respelled(composed, day_first)

    def is_in(self, text: str, day_first: bool | None = None) -> bool:
        """True if ``text`` contains the query's text in any spelling, as whole words."""
        respelled = self.respelled(text, day_first)
        return respelled is not None and any(contains(respelled, each) for each in self._texts)

    def is_part_of(self, text: str, day_first: bool | None = None) -> bool:
        """True if ``text`` contains the query's text in any spelling, even within a word."""
        respelled = self.respelled(text, day_first)
        return respelled is not None and any(each in respelled for each in self._texts)

    def equals(self, text: str, day_first: bool | None = None) -> bool:
        """True if ``text`` is the query's text in any spelling."""
        return self.respelled(text, day_first) in self._texts

    def _respelled(self, text: str, day_first: bool | None = None) -> str:
        composed = normalize(text)
        parts: list[str] = []
        end = 0
        for form in sorted(normal_forms(composed, day_first), key=lambda form: (form.start, -form.end)):
            word = next((self._terms[term] for term in form.terms if term in self._terms), None)
            if word is not None and form.start >= end:
                parts += (_before(form, composed, end), word)
                end = _end_of(form, composed, parts)
        return fold("".join((*parts, composed[end:])))


@lru_cache(maxsize=256)
def spelled(text: str) -> Spelled:
    """Return the days and identifiers in a query's text. Results are cached, because each query is compared
    with thousands of notes.
    """
    return Spelled(text)


def _closed(text: str) -> str:
    """Return the normal form of ``text`` if it has a few words and may be a single identifier; otherwise
    "".
    """
    words = _WORDS.findall(text)
    form = identifier_form(text) if 1 < len(words) <= CHAIN_LINKS else ""
    return form if is_code(form) and not form[1:].isdecimal() else ""


_WORDS = re.compile(r"[^\W_]+")


def _days(form: NormalForm) -> list[str]:
    """Return the days that a form may mean."""
    return [term for term in form.terms if len(term) == len("2026-03-15") and term[0] != MARK]


def _without_codes_over_days(forms: Sequence[NormalForm], text: str) -> Iterator[NormalForm]:
    """Yield ``forms`` without the identifiers that are a word and a part of a day: ``on 8`` in ``on 8 June
    2023``. An identifier that contains a date, such as ``INV-2023-06-0045``, is kept.
    """
    days = [
        form
        for form in forms
        if not form.terms[0].startswith(MARK)
        and len(_days(form)) < 2
        and not _GOES_ON.match(text[form.start - 1 : form.start])
        and not _IS_LONGER.match(text, form.end)
    ]
    for form in forms:
        if not form.terms[0].startswith(MARK) or all(
            form.end <= day.start or day.end <= form.start for day in days
        ):
            yield form


_IS_LONGER = re.compile(r"(?![Tt][0-9])[./:‐‑-]*\w")


def _before(form: NormalForm, text: str, start: int) -> str:
    """Return the text from ``start`` to a form, without the article of a day."""
    before = text[start : form.start]
    return before if form.terms[0].startswith(MARK) else _ARTICLE_AT_END.sub("", before)


_ARTICLE_AT_END = re.compile(rf"(?<![\w'’]){ARTICLE}\Z", re.IGNORECASE)


def _end_of(form: NormalForm, text: str, parts: list[str]) -> int:
    """Return the position at which a form ends. A ``T`` between a day and a time is skipped, and a space is
    added to ``parts`` in its place.
    """
    if form.terms[0].startswith(MARK) or not _T_BEFORE_TIME.match(text, form.end):
        return form.end
    parts.append(" ")
    return form.end + 1


_T_BEFORE_TIME = re.compile("[Tt](?=[0-9])")


def _any_spelling(term: str) -> str:
    """Return a pattern for the part that all spellings of a normal form share: the last two digits of a
    day's year, or the characters of an identifier.
    """
    if not term.startswith(MARK):
        return re.escape(term[2:4])
    code = _END_OF_NAME.sub("/", "".join(filter(str.isalnum, term)))
    return r"[\W_]{0,3}".join(code).translate(_OTHER_SIGNS)


_END_OF_NAME = re.compile(r"(?<=[^\W\d_])(?=[0-9])")
_OTHER_SIGNS = str.maketrans({"x": "[x×]", "u": "[uμ]", "/": "(?:/[a-z]+)*"})


def _is_spelled(term: str) -> bool:
    """True for a day, a month, and an identifier with a digit."""
    return is_code(term) or DAY_OR_MONTH.fullmatch(term) is not None


def is_code(term: str) -> bool:
    """True for the normal form of an identifier with a digit."""
    return term.startswith(MARK) and any(map(str.isdecimal, term))


DAY_OR_MONTH = re.compile(r"[0-9]{4}-[0-9]{2}(?:-[0-9]{2})?")


_WORD = re.compile(r"(?<![\w.])(?:[0-9]+(?:\.[0-9]+)+|(?=[^\W\d_]*[0-9])[^\W_]+)(?!\w|\.[0-9])")
"""Pattern for a word with a digit, which may be an identifier by itself."""
_LETTERS = re.compile(r"(?<![\w-])[^\W\d_]+(?:-[^\W\d_]+)*(?![\w-])")
