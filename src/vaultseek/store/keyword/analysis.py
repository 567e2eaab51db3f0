"""Text analysis: one set of rules for the terms that the index stores and that queries look up.

Text is cut into *tokens* by one regular expression. Each distinct token is analysed once into ``TokenTerms``:
its terms, each at an offset from the token's position, and the number of positions that the token takes.

* A plain word gives one term: lower case, accents removed, stemmed.
* A compound (``snake_case``, ``camelCase``, ``kebab-case``, ``dotted.name``, ``a/path``, ``E-4107``,
  ``1.2.3``) gives the whole compound at the position of its first part, and then its parts in order. So
  ``user id`` matches ``user_id``, and the words around it keep their positions. Adjacent letters and digits
  (``D40``, ``sha256``) are one word and are never split.
* Days and identifiers also give their normal form, which is added at the end of the text and takes no
  position (``content/query/normal_forms.py``). So ``2026-03`` and ``2026-03-15`` match *15 March 2026*.
* Scripts without spaces between words (Chinese, Japanese, Korean, Thai and others) give every syllable and
  every pair of adjacent syllables, so that no dictionary is needed (``content/languages/syllables.py``).

A note is analysed by the rules of one language, its own or the vault's. Stems of languages other than English
carry the language's code: ``hund~de``. A query is analysed by the rules of every language in the index. So
the query finds the same notes as if the notes of each language were in a separate vault.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

from vaultseek.base.limits import COMPOUND_CHARS, COMPOUND_PARTS, TERM_CHARS
from vaultseek.base.text import UNSPACED, fold_accents, normalize
from vaultseek.content.languages.detect import DEFAULT_LANGUAGE
from vaultseek.content.languages.stems import LANGUAGES, stemmer
from vaultseek.content.languages.stopwords import folded_stop_words
from vaultseek.content.languages.syllables import SYLLABLE, first_syllable, space_pairs
from vaultseek.content.markdown.rendering import BULLET, PARAGRAPH
from vaultseek.content.query.normal_forms import normal_forms

ANALYZER_VERSION = 12
"""Version of the rules. Raise it when notes may get different terms, so that older indexes are rebuilt."""

Role = Literal["word", "whole", "part", "character", "form"]
"""Role of a term in its token: the word itself, a whole compound, a part of a compound, a single syllable of
an unspaced script (whose terms are mostly pairs of syllables), or a normal form. Normal forms occur only in
the index."""
FORMS = "\ue000"
"""Character that starts a token of normal forms and separates its parts; it occurs in no word."""

BORDER = "\ue001"
"""Token between two blocks of a text. It takes a position, so that words on both sides are not adjacent."""
_BORDERS = re.compile(f"\\n[ \\t]*\\n\\s*|\\n{BULLET} |{PARAGRAPH}{PARAGRAPH}*| [|] ")
"""Each alternative begins with a single character, so the pattern is found several times as fast."""
_HAS_UNSPACED = re.compile(f"[{UNSPACED}]")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[0-9])(?=[A-Z][a-z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")
_JOINTS = "/:.-_"
"""Characters that join the parts of a compound, outermost first; "‐" counts as "-"."""
_HAS_JOINT = re.compile(r"[/:.\-‐_]")
_JOINED_WORDS = re.compile(r"[^\W\d_]+(?:[-‐/'’][^\W\d_]+)*")
_ELIDED = frozenset({"s", "t", "d", "m", "ll", "re", "ve"})
_PREFIX = re.compile(r"([^\W_]{2,})\*(?!\w)")


class Term(NamedTuple):
    """A term of a token, at ``offset`` positions after the token's own position.

    ``word`` is the written form: lower case without accents, but not stemmed.
    """

    text: str
    offset: int
    role: Role
    word: str


class TokenTerms(NamedTuple):
    """All terms of a token by offset, and ``advance``, the number of positions that the token takes.

    ``compound`` is the token without the signs around it, or "" for a plain word.
    """

    advance: int
    terms: tuple[Term, ...]
    compound: str = ""

    @property
    def is_identifier(self) -> bool:
        """True for a name, number or path, whose parts are not ordinary words; false for ``long-term``."""
        words = _JOINED_WORDS.fullmatch(self.compound)
        return bool(self.compound) and (words is None or _CAMEL.search(self.compound) is not None)


def is_unspaced(word: str) -> bool:
    """Return true if ``word`` begins with a character of an unspaced script, whose terms are pairs of
    syllables."""
    return _HAS_UNSPACED.match(word) is not None


class Analyzer:
    """The analysis rules for one language; with ``language=None``, words are not stemmed.

    Raises ``ValueError`` for a language without a stemmer.
    """

    def __init__(self, language: str | None = "en") -> None:
        self.language = language
        self._stem = stemmer(language)
        self._mark = "" if language in (None, "en") else f"~{language}"
        # In Vietnamese, tones distinguish words, so a word typed with tones must match exactly.
        self._keeps_accents = language == "vi"

    @property
    def stop_words(self) -> frozenset[str]:
        """The language's stop words, without accents; empty if no language is set."""
        return folded_stop_words(self.language)

    def tokenize(self, text: str) -> list[str]:
        """Cut ``text`` into tokens, in order; in unspaced scripts, a token is a pair of syllables."""
        return self._tokenize(normalize(text))

    def tokenize_with_forms(self, text: str, day_first: bool | None = None) -> list[str]:
        """Cut ``text`` into tokens, with a ``BORDER`` between two blocks, followed by tokens for its normal
        forms.

        ``day_first`` is true if dates in the text put the day before the month, and None if the order is
        unknown.
        """
        text = normalize(text)
        first, *blocks = _BORDERS.split(text)
        tokens = self._tokenize(first)
        for block in blocks:
            tokens += (BORDER, *self._tokenize(block))
        forms = (form.others for form in normal_forms(text, day_first))
        tokens += (f"{FORMS}{FORMS.join(terms)}" for terms in forms if terms)
        return tokens

    def _tokenize(self, text: str) -> list[str]:
        if text.isascii():
            return _ascii_pattern().findall(text)
        if _HAS_UNSPACED.search(text):
            text = space_pairs(text)
        return _unicode_pattern().findall(text)

    def token_terms(self, token: str) -> TokenTerms:
        """Return the terms of a token."""
        if token == BORDER:
            return TokenTerms(1, ())
        if token[0] == FORMS:
            forms = token[1:].split(FORMS)
            return TokenTerms(0, tuple(Term(form, 0, "form", form) for form in forms))
        if _HAS_UNSPACED.match(token):
            return _syllable_terms(token)
        if is_word(token):
            return TokenTerms(1, self._word_terms(token[:TERM_CHARS], 0, "word"))
        terms: list[Term] = []
        if token[0] == "#":
            terms.append(Term(token[:TERM_CHARS], 0, "whole", token[:TERM_CHARS]))
        token = token[:COMPOUND_CHARS].strip("_#") if token[-1] != "#" else token
        advance = self._add_compound(token, 0, 0, terms)
        return TokenTerms(advance, _distinct(terms), token)

    def terms(self, text: str) -> Iterator[tuple[int, Term]]:
        """Yield every term of ``text``, with the term's position."""
        position = 0
        for token in self.tokenize(text):
            token_terms = self.token_terms(token)
            for term in token_terms.terms:
                yield position + term.offset, term
            position += token_terms.advance

    def _add_compound(self, token: str, level: int, offset: int, terms: list[Term]) -> int:
        """Add the terms of ``token``, which starts at ``offset``; return the number of positions that the
        token takes."""
        if _HAS_JOINT.search(token):
            joined = token.replace("‐", "-")
            for deeper in range(level, len(_JOINTS)):
                if _JOINTS[deeper] not in joined:
                    continue
                parts = [part for part in joined.split(_JOINTS[deeper]) if part][:COMPOUND_PARTS]
                if len(parts) > 1:
                    return self._add_parts(token, parts, deeper + 1, offset, terms)
            token = token.strip("-‐_./:")
        return self._add_leaf(token, offset, terms)

    def _add_parts(self, token: str, parts: list[str], level: int, offset: int, terms: list[Term]) -> int:
        if len(token) <= TERM_CHARS:
            whole = fold_compound(token)
            terms.append(Term(whole, offset, "whole", whole))
        end = offset
        for part in parts:
            end += self._add_compound(part, level, end, terms)
        return end - offset

    def _add_leaf(self, token: str, offset: int, terms: list[Term]) -> int:
        if not token:
            return 0
        words = _without_elision(token)
        if len(words) != 1:  # none if the token is an apostrophe between marks
            return self._add_words(words, offset, terms)
        word = words[0]
        humps = [] if word.islower() or word.isdecimal() else _CAMEL.split(word)
        role: Role = "part" if terms else "word"
        if not 1 < len(humps) <= COMPOUND_PARTS or len(word) > TERM_CHARS:
            terms.extend(self._word_terms(word[:TERM_CHARS], offset, role))
            return 1
        terms.extend(self._word_terms(word, offset, "whole"))
        return self._add_words(humps, offset, terms)

    def _add_words(self, words: list[str], offset: int, terms: list[Term]) -> int:
        for position, word in enumerate(words, offset):
            terms.extend(self._word_terms(word[:TERM_CHARS], position, "part"))
        return len(words)

    def _word_terms(self, word: str, offset: int, role: Role) -> tuple[Term, ...]:
        """Return the term of a word, and a second term for the word without its accents if that differs.

        Suffixes carry accents in many languages, and queries typed without accents must match as well.
        """
        lower = word.lower()
        if lower.isascii() and not self._keeps_accents:
            stem = (self._stem(lower) or lower) + self._mark if lower.isalpha() else lower
            return (Term(stem, offset, role, lower),)
        plain = fold_accents(lower)
        if not _has_letters_only(lower):
            return (Term(plain, offset, role, plain),) if plain else ()
        if not plain:
            return ()
        if self._keeps_accents:
            return (Term(lower + self._mark, offset, role, plain), Term(plain + "~~", offset, role, plain))
        accented = fold_accents(self._stem(lower)) or plain
        bare = self._stem(plain) or plain
        first = Term(accented + self._mark, offset, role, plain)
        return (first,) if bare == accented else (first, Term(bare + self._mark, offset, role, plain))


@cache
def analyzer_of(language: str | None) -> Analyzer:
    """Return the cached analyzer for a language."""
    return Analyzer(language)


def content_terms(text: str, language: str | None) -> set[str]:
    """Return the terms of the words in ``text``, except stop words and compounds."""
    analyzer = analyzer_of(language)
    stops = analyzer.stop_words
    terms = (term for _, term in analyzer.terms(text))
    return {term.text for term in terms if term.role != "whole" and term.word not in stops}


def extract_prefixes(text: str) -> tuple[str, list[str]]:
    """Return ``text`` without its ``word*`` prefixes, and a list of these prefixes with accents removed."""
    if "*" not in text:
        return text, []
    words = _PREFIX.findall(text)
    prefixes = [fold_accents(unicodedata.normalize("NFKC", word).lower()) for word in words]
    return _PREFIX.sub(" ", text), prefixes


def fold_compound(compound: str) -> str:
    """Return the term of a whole compound; compounds are not stemmed."""
    return fold_accents(compound.lower()).replace("‐", "-").replace("’", "'")


def token_pattern(text: str) -> re.Pattern[str]:
    """Return the pattern that splits normalized text into tokens, which are pairs of syllables in unspaced
    scripts.
    """
    return _ascii_pattern() if text.isascii() else _unicode_pattern()


@cache
def _ascii_pattern() -> re.Pattern[str]:
    return _compile_token_pattern("[A-Za-z0-9_]+")


@cache
def _unicode_pattern() -> re.Pattern[str]:
    return _compile_token_pattern(f"[^{_separators()}{UNSPACED}]+", f"{SYLLABLE}{{1,2}}|")


def _compile_token_pattern(word: str, first: str = "") -> re.Pattern[str]:
    joined = rf"{word}(?:(?:[.\-‐/'’]|::|:(?=[0-9])){word})*"
    return re.compile(rf"{first}#[0-9]+(?![A-Za-z0-9_])|{joined}(?:\+\+|(?<=\b[A-Za-z])\#(?![A-Za-z0-9_#]))?")


def _separators() -> str:
    codes = [c for c in range(0x10000) if unicodedata.category(chr(c))[0] in "PSZC" and c != ord("_")]
    ranges = [[codes[0], codes[0]]]
    for code in codes[1:]:
        if code == ranges[-1][1] + 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    ranges += [[0x1F000, 0x1FAFF], [0xE0000, sys.maxunicode]]
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


def _syllable_terms(pair: str) -> TokenTerms:
    first = first_syllable(pair)
    single = Term(first, 0, "character", first)
    if len(pair) == len(first):
        return TokenTerms(1, (single,))
    return TokenTerms(1, (Term(pair, 0, "word", pair), single))


def _without_elision(token: str) -> list[str]:
    """Split a token at apostrophes: ``user's`` becomes ``user``, ``don't`` becomes ``don``, and ``l'homme``
    becomes two words."""
    if "'" not in token and "’" not in token:
        return [token]
    words = [word for word in re.split("['’]", token) if word]
    if len(words) > 1 and words[-1].lower() in _ELIDED:
        words.pop()
    return words


def is_word(token: str) -> bool:
    """Return true for a token of letters in lower case, in capitals, or capitalised; false for
    ``camelCase``."""
    return token.isalpha() and (token.islower() or token[1:].islower() or token.upper() == token)


def _has_letters_only(word: str) -> bool:
    if word.isascii() or word.isalpha():
        return word.isalpha()
    return word[0].isalpha() and all(c.isalpha() or unicodedata.category(c)[0] == "M" for c in word)


def _distinct(terms: list[Term]) -> tuple[Term, ...]:
    if len(terms) < 2:
        return tuple(terms)
    seen: dict[tuple[str, int], Term] = {}
    for term in terms:
        seen.setdefault(term[:2], term)
    return tuple(seen.values())


_GIVEN = 0x80
"""Bit of a language byte, set if the note is analysed in the vault's language instead of its own."""
_NUMBERS = {language: number for number, language in enumerate(LANGUAGES)}
_NONE = 0x7F
"""Number that stands for no language, so that words are not stemmed."""


@dataclass(frozen=True, slots=True)
class LanguageRules:
    """Rules that choose the analysis language of each note.

    ``given`` is the vault's language, used for notes whose own language is unclear, or for every note if
    ``for_all`` is set. None means no language.
    """

    given: str | None = DEFAULT_LANGUAGE
    for_all: bool = False

    def __post_init__(self) -> None:
        if self.given is not None and self.given not in _NUMBERS:
            raise ValueError(f"no stemmer for {self.given!r}; use one of {', '.join(LANGUAGES)}, or None")

    @classmethod
    def of_vault(cls, main: str, configured: str | None = None) -> LanguageRules:
        """Return the rules for a vault with the main language ``main`` and, optionally, a ``configured``
        language."""
        return cls(configured, for_all=True) if configured else cls(analysis_language(main))

    def language_of(self, own: str) -> str | None:
        """Return the analysis language of a note; ``own`` is the note's detected language, or "" if it is
        unclear."""
        return self.given if self.for_all or not own else analysis_language(own)

    def mark(self, own: str) -> int:
        """Return the byte that stores the analysis language of a note with the detected language ``own``."""
        language = self.language_of(own)
        number = _NONE if language is None else _NUMBERS[language]
        return number | (_GIVEN if self.for_all or not own else 0)

    @property
    def version(self) -> str:
        """The rules' version; an index with a different version must be rebuilt."""
        return f"all:{self.given or '-'}" if self.for_all else "own"

    def outdated(self, marks: Iterable[int]) -> list[int]:
        """Return the outdated language bytes in ``marks``: their notes were assigned the vault's language,
        which has since changed."""
        return [mark for mark in marks if mark & _GIVEN and mark != self.mark("")]


def analysis_language(language: str) -> str:
    """Return the language whose rules apply to text in ``language``: English if that language has no rules.

    Latin text between Chinese characters, for instance, is usually English.
    """
    return language if language in _NUMBERS else DEFAULT_LANGUAGE


def language_of_mark(mark: int) -> str | None:
    """Return the language that a stored byte stands for."""
    number = mark & ~_GIVEN
    return None if number == _NONE else LANGUAGES[number]
