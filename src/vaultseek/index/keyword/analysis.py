"""Text into terms: what the keyword index writes and what a query looks up, by the same rules.

A text is cut into *surfaces* by one regular expression. Every distinct surface is analysed once into an
``Entry``: its terms, each at an offset from the surface's position, and how many positions it takes up.

* A plain word gives one term: lower case, accents folded, stemmed.
* A compound (``snake_case``, ``camelCase``, ``kebab-case``, ``dotted.name``, ``a/path``, ``E-4107``,
  ``1.2.3``) gives itself whole at the position of its first part, and its parts one after the other, so that
  a phrase finds ``user id`` in ``user_id`` and the words around it stay where they are. Letters and digits
  that stand together (``D40``, ``sha256``) are one word and are never taken apart.
* Scripts that put no spaces between words (Chinese, Japanese, Korean, Thai and their neighbours) give every
  character and every pair of neighbours, which takes the place of a dictionary.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

from vaultseek.limits import COMPOUND_PARTS, SURFACE_CHARS, TERM_CHARS
from vaultseek.text import UNSPACED, fold_accents

STEMS = 20_000

ANALYSIS = 1
"""Raise it whenever the same text gives other terms: indexes made before are then filled again."""

Role = Literal["word", "whole", "part", "character"]
Stem = Callable[[str], str]

LANGUAGES = {
    "da": "danish", "de": "german", "en": "english", "es": "spanish", "fi": "finnish", "fr": "french",
    "hu": "hungarian", "it": "italian", "nl": "dutch", "no": "norwegian", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sv": "swedish",
}  # fmt: skip
"""Languages with a stemmer, by their two-letter code."""

_HAS_UNSPACED = re.compile(f"[{UNSPACED}]")
_NEIGHBOURS = re.compile(f"([{UNSPACED}])(?=([{UNSPACED}]))")
CASE_CHANGE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")
SEPARATORS = tuple(re.compile(pattern) for pattern in (r"/", r"::|:", r"\.", r"[-‐]", r"_"))
ELIDED = frozenset({"s", "t", "d", "m", "ll", "re", "ve"})
_LEAST_STOP_WORDS = 3
_PREFIX = re.compile(r"([^\W_]{2,})\*(?!\w)")


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a surface, ``offset`` positions after the surface's own.

    ``word`` is what a person would write: folded, but not stemmed.
    """

    text: str
    offset: int
    role: Role
    word: str


@dataclass(frozen=True, slots=True)
class Entry:
    """All terms of a surface, by offset, and the number of positions it takes up.

    ``identifier`` says that the parts of the compound are no words of their own accord, as they are in
    ``long-term``: a name, a number, a path.
    """

    advance: int
    terms: tuple[Term, ...]
    identifier: bool = False


def puts_no_spaces(word: str) -> bool:
    """Whether the word is of a script without spaces, whose terms are pairs of characters."""
    return _HAS_UNSPACED.match(word) is not None


class Analysis:
    """The rules for one language; ``language=None`` leaves words unstemmed.

    An unknown language raises ``ValueError``.
    """

    def __init__(self, language: str | None = "en") -> None:
        if language is not None and language not in LANGUAGES:
            raise ValueError(f"no stemmer for {language!r}; use one of {', '.join(LANGUAGES)}, or None")
        self.language = language
        self.recipe = f"{ANALYSIS}:{language or '-'}"
        """Two indexes with the same recipe have the same terms for the same text."""
        self._stem: Stem = _stemmer(language)

    @property
    def stop_words(self) -> frozenset[str]:
        """The language's words that say little, folded."""
        return _folded_stop_words(self.language) if self.language else frozenset()

    def surfaces(self, text: str) -> list[str]:
        """The text cut into surfaces, in order."""
        if text.isascii():
            return _ascii_pattern().findall(text)
        text = unicodedata.normalize("NFKC", text)
        if _HAS_UNSPACED.search(text):
            text = _NEIGHBOURS.sub(r"\1\2 ", text)
        return _unicode_pattern().findall(text)

    def entry(self, surface: str) -> Entry:
        """The terms of one surface."""
        if _HAS_UNSPACED.match(surface):
            return _characters(surface)
        if surface.isalpha() and (surface.islower() or surface[1:].islower() or surface.isupper()):
            return Entry(1, self._word(surface[:TERM_CHARS], 0, "word"))
        terms: list[Term] = []
        if surface[0] == "#":
            terms.append(Term(surface[:TERM_CHARS], 0, "whole", surface[:TERM_CHARS]))
        surface = surface[:SURFACE_CHARS].strip("_#") if surface[-1] != "#" else surface
        advance = self._compound(surface, 0, 0, terms)
        return Entry(advance, _distinct(terms), _is_identifier(surface, terms))

    def terms(self, text: str) -> Iterator[tuple[int, Term]]:
        """Every term of the text with its position."""
        position = 0
        for surface in self.surfaces(text):
            entry = self.entry(surface)
            for term in entry.terms:
                yield position + term.offset, term
            position += entry.advance

    def _compound(self, token: str, level: int, offset: int, out: list[Term]) -> int:
        """Add the terms of ``token``, which stands at ``offset``; returns the positions that it takes up."""
        for deeper in range(level, len(SEPARATORS)):
            parts = [part for part in SEPARATORS[deeper].split(token) if part][:COMPOUND_PARTS]
            if len(parts) > 1:
                return self._parts(token, parts, deeper + 1, offset, out)
        return self._leaf(token.strip("-‐_./:"), offset, out)

    def _parts(self, token: str, parts: list[str], level: int, offset: int, out: list[Term]) -> int:
        if len(token) <= TERM_CHARS:
            whole = compound_term(token)
            out.append(Term(whole, offset, "whole", whole))
        at = offset
        for part in parts:
            at += self._compound(part, level, at, out)
        return at - offset

    def _leaf(self, token: str, offset: int, out: list[Term]) -> int:
        if not token:
            return 0
        words = _without_elision(token)
        if len(words) > 1:
            return self._sequence(words, offset, out)
        humps = CASE_CHANGE.split(words[0])
        role: Role = "part" if out else "word"
        if not 1 < len(humps) <= COMPOUND_PARTS or len(words[0]) > TERM_CHARS:
            out.extend(self._word(words[0][:TERM_CHARS], offset, role))
            return 1
        out.extend(self._word(words[0], offset, "whole"))
        return self._sequence(humps, offset, out)

    def _sequence(self, words: list[str], offset: int, out: list[Term]) -> int:
        for at, word in enumerate(words, offset):
            out.extend(self._word(word[:TERM_CHARS], at, "part"))
        return len(words)

    def _word(self, word: str, offset: int, role: Role) -> tuple[Term, ...]:
        """The term of a word, and a second one if it would be another without its accents.

        Suffixes carry accents in many languages; who types without them is to find the word as well.
        """
        lower = word.lower()
        if not lower.isalpha():
            plain = fold_accents(lower)
            return (Term(plain, offset, role, plain),) if plain else ()
        if lower.isascii():
            return (Term(self._stem(lower) or lower, offset, role, lower),)
        plain = fold_accents(lower)
        accented = fold_accents(self._stem(lower)) or plain
        bare = self._stem(plain) or plain
        first = Term(accented, offset, role, plain)
        return (first,) if bare == accented else (first, Term(bare, offset, role, plain))


def prefixes(text: str) -> tuple[str, list[str]]:
    """The text without its ``word*`` searches, and the folded beginnings asked for."""
    if "*" not in text:
        return text, []
    found = [fold_accents(unicodedata.normalize("NFKC", word).lower()) for word in _PREFIX.findall(text)]
    return _PREFIX.sub(" ", text), found


def detect_language(sample: str) -> str:
    """The language of the sample by its stop words; ``"en"`` if it cannot be told."""
    words = re.findall(r"[^\W\d_]+", sample.lower())
    counts = {code: sum(map(stopwords.__contains__, words)) for code, stopwords in _stop_words().items()}
    best = max(counts, key=lambda code: (counts[code], code == "en"))
    return best if counts[best] >= _LEAST_STOP_WORDS and counts[best] * 20 > len(words) else "en"


def _stemmer(language: str | None) -> Stem:
    if language is None:
        return str
    from whoosh.lang import stemmer_for_language

    stem: Stem = lru_cache(STEMS)(stemmer_for_language(language))
    return stem


@cache
def _stop_words() -> dict[str, frozenset[str]]:
    from whoosh.lang import stopwords_for_language

    return {code: frozenset(stopwords_for_language(code)) for code in LANGUAGES if code != "ro"}


@cache
def _folded_stop_words(language: str) -> frozenset[str]:
    return frozenset(map(fold_accents, _stop_words().get(language, ())))


def compound_term(compound: str) -> str:
    """Return the term of a compound as a whole, which is not stemmed."""
    return fold_accents(compound.lower()).replace("‐", "-").replace("’", "'")


def surface_pattern(text: str) -> re.Pattern[str]:
    """Return the pattern of the surfaces of ``text``, which is normalized."""
    return _ascii_pattern() if text.isascii() else _unicode_pattern()


@cache
def _ascii_pattern() -> re.Pattern[str]:
    return _surface_pattern("[A-Za-z0-9_]+")


@cache
def _unicode_pattern() -> re.Pattern[str]:
    return _surface_pattern(f"[^{_separators()}{UNSPACED}]+", f"[{UNSPACED}]{{1,2}}|")


def _surface_pattern(word: str, first: str = "") -> re.Pattern[str]:
    """Linear in the text: no character can both end a word and join it to the next."""
    joined = rf"{word}(?:(?:[.\-‐/'’]|::|:(?=[0-9])){word})*"
    return re.compile(rf"{first}#[0-9]+(?![A-Za-z0-9_])|{joined}(?:\+\+|(?<=\b[A-Za-z])\#(?![A-Za-z0-9_#]))?")


def _separators() -> str:
    """Everything that is no letter, digit, mark or underscore, as ranges for a character class."""
    codes = [c for c in range(0x10000) if unicodedata.category(chr(c))[0] in "PSZC" and c != ord("_")]
    ranges = [[codes[0], codes[0]]]
    for code in codes[1:]:
        if code == ranges[-1][1] + 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    ranges += [[0x1F000, 0x1FAFF], [0xE0000, sys.maxunicode]]
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


def _characters(run: str) -> Entry:
    single = Term(run[0], 0, "character", run[0])
    if len(run) == 1:
        return Entry(1, (single,))
    return Entry(1, (Term(run, 0, "word", run), single))


def _without_elision(token: str) -> list[str]:
    """``user's`` is ``user``, ``don't`` is ``don``, ``l'homme`` is two words."""
    if "'" not in token and "’" not in token:
        return [token]
    words = [word for word in re.split("['’]", token) if word]
    if len(words) > 1 and words[-1].lower() in ELIDED:
        words.pop()
    return words


def _distinct(terms: list[Term]) -> tuple[Term, ...]:
    seen: dict[tuple[str, int], Term] = {}
    for term in terms:
        seen.setdefault((term.text, term.offset), term)
    return tuple(sorted(seen.values(), key=lambda term: term.offset))


def _is_identifier(surface: str, terms: list[Term]) -> bool:
    if not any(term.role == "whole" for term in terms):
        return any(not c.isalpha() for c in surface) and len(terms) == 1
    return not re.fullmatch(r"[^\W\d_]+(?:[-‐/'’][^\W\d_]+)*", surface) or bool(CASE_CHANGE.search(surface))
