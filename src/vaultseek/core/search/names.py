"""Match the names of notes against the query.

Words are compared as they are written: *queries* is *query*, but *moral* is not *Morale* and *past* is not
*Paste*, although the index has one stem for both.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from vaultseek.base.text import fold_accents
from vaultseek.content.query.dates import dates_of
from vaultseek.core.search.filter import those_within
from vaultseek.core.search.formula import name_share
from vaultseek.core.search.request import ParsedRequest
from vaultseek.core.search.snippet import TermMatcher
from vaultseek.semantic.vectors.port import NoteIds
from vaultseek.store.keyword.answer import KeywordAnswer, MatchedTerm
from vaultseek.store.keyword.spans import SpanFinder
from vaultseek.store.ledger import Ledger, NoteRow

DAYS_OF_MONTH = 64
"""Notes with the name of a day that a search for its month puts first."""
PARTIAL_WORDS = 3
"""Maximum number of words in a query for which a part of it counts as a name."""
FORM_CHARS = 2
"""Letters at the end that may differ between two forms of a word, in languages other than English."""
BASE_CHARS = 2
"""Minimum length of a word without its ending."""
NEARLY = 0.999
"""Factor for shares of names that are not the query, so that 1 means that a name is."""
INITIALS = 2
"""Letters that all forms of a word begin with."""
CACHED_NAMES = 4096
_ENGLISH_ENDINGS = (
    ("s", ""), ("es", ""), ("ies", "y"), ("d", ""), ("ed", ""), ("ied", "y"), ("ing", ""), ("ing", "e"),
)  # fmt: skip
"""Endings of English words, and what stands in their place in the word without them."""
_MONTH = re.compile(r"[12][0-9]{3}-(?:0[1-9]|1[0-2])")
_WORD = re.compile(r"[^\W_]+")


def notes_named(parsed: ParsedRequest, allowed: NoteIds | None, ledger: Ledger) -> set[int]:
    """Return the ids of the notes whose title, alias or file name is the query, whatever its case, or whose
    path it is."""
    by_name = ledger.notes.ids_by_name
    text = parsed.query.rank_text
    names = {text, parsed.request.query.strip(), *dates_of(text)}
    at_path = {row[0] for row in ledger.select("SELECT id FROM notes WHERE path = ?", text)}
    return those_within(at_path.union(*map(by_name, names)), allowed)


@dataclass(frozen=True, slots=True)
class NameMatches:
    """Matches of the query with the notes' names, by note id.

    ``shares``: 1 if the query is the name, else :func:`formula.name_share`. ``misnamed``: notes whose name is
    the query by its stems, but has another word, with the query's words that it does not have.
    """

    shares: Mapping[int, float] = field(default_factory=dict)
    misnamed: Mapping[int, frozenset[str]] = field(default_factory=dict)


def match_names(
    parsed: ParsedRequest,
    keyword: KeywordAnswer | None,
    notes: Mapping[int, NoteRow],
    span_finder: SpanFinder,
    *,
    finished: bool,
) -> NameMatches:
    """Match the names of the notes; only a ``finished`` query has words that a name may miss.

    The words are the index's words without stop words: *what are task states* names *Task State*,
    *task-state* and *taskState*. A query of identifiers, which are not inflected, names nothing here, and a
    query of more than ``PARTIAL_WORDS`` words only a note with exactly this name.
    """
    if keyword is None or parsed.profile.pure_identifier:
        return NameMatches()
    asked = QueryWords.of(keyword, span_finder)
    if not asked.words:
        return NameMatches()
    shares: dict[int, float] = {}
    misnamed: dict[int, frozenset[str]] = {}
    for id, row in notes.items():
        named = max((asked.match(name, row.language) for name in row.names), key=lambda each: each.share)
        if named.share:
            shares[id] = named.share
        elif named.other and finished:
            misnamed[id] = named.other
    return NameMatches(shares, misnamed)


def notes_with_words(words: Collection[str], notes: Mapping[int, NoteRow], ledger: Ledger) -> set[int]:
    """Return the notes that have one of the words in names or text, in any form of the word."""
    texts = ledger.chunks.by_note(list(notes)) if notes else {}
    folded = [fold_accents(word.lower()) for word in words]
    found = set()
    for id, row in notes.items():
        written = {
            word for text in (*row.names, *(chunk.text for chunk in texts[id])) for word in _words(text)
        }
        near = (each for each in written for word in folded if each[:BASE_CHARS] == word[:BASE_CHARS])
        if any(is_form(each, word, row.language) for each in near for word in folded):
            found.add(id)
    return found


class _Named(NamedTuple):
    """The share of one name, and the words of the query for which it has others with the same stem."""

    share: float = 0.0
    other: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class QueryWords:
    """The words of a query without stop words, by their number in the ``matcher``.

    ``total`` is their weight with the weight of words that the vault does not have; ``initials`` are their
    first letters.
    """

    matcher: TermMatcher
    words: Mapping[int, MatchedTerm]
    total: float
    initials: frozenset[str]
    stop_words: frozenset[str]
    is_known: bool

    @classmethod
    def of(cls, keyword: KeywordAnswer, span_finder: SpanFinder) -> QueryWords:
        """Return the words that the keyword index searched for."""
        matcher = TermMatcher.of_answer(keyword, span_finder)
        stop_words = span_finder.analyzer.stop_words(" ".join(term.word for term in keyword.terms))
        terms = [term for term in keyword.terms if term.kind not in ("whole", "date")]
        terms = [term for term in terms if term.word not in stop_words] or terms
        words = {matcher.words[each]: term for term in terms for each in term.terms if each in matcher.words}
        return cls(
            matcher,
            words,
            sum(term.weight * term.idf for term in terms),
            frozenset(each[:INITIALS] for term in words.values() for each in (term.word, *term.terms)),
            stop_words,
            all(term.df and not term.fuzzy for term in terms),
        )

    def match(self, name: str, language: str) -> _Named:
        """Compare a name in this language with the query."""
        if self.initials.isdisjoint(_initials(name)):
            return _Named()  # as for most names: to analyse one takes ten times as long
        matched: set[int] = set()
        same: set[int] = set()
        rest = name
        for start, end, number in self.matcher.matches(name, language):
            if number in self.words:
                matched.add(number)
                if self._is_same(name[start:end], number, language):
                    same.add(number)
                rest = rest[:start] + " " * (end - start) + rest[end:]
        others = len(set(_words(rest)) - self.stop_words)
        is_all = self.is_known and not others and matched == self.words.keys()
        if is_all and matched != same:
            return _Named(0.0, frozenset(self.words[number].word for number in matched - same))
        if is_all or not same or len(self.words) > PARTIAL_WORDS or not self.total:
            return _Named(float(is_all))
        weight = sum(self.words[number].weight * self.words[number].idf for number in same)
        of_name = len(same) / (len(matched) + others)
        return _Named(NEARLY * name_share(weight / self.total, of_name))

    def _is_same(self, written: str, number: int, language: str) -> bool:
        """True if a word of a name is the query's, or stands in for one that the vault does not have."""
        term = self.words[number]
        return term.fuzzy or is_form(fold_accents(written.lower()), fold_accents(term.word.lower()), language)


def is_form(one: str, other: str, language: str) -> bool:
    """True if two folded words with the same stem are one word, with or without an ending of the language."""
    if one == other or not (one.isalpha() and other.isalpha()):
        return True
    if language in ("en", ""):
        return not _english_bases(one).isdisjoint(_english_bases(other))
    longer, shorter = max(one, other, key=len), min(one, other, key=len)
    return shorter.startswith(longer[: len(longer) - FORM_CHARS])


@lru_cache(maxsize=CACHED_NAMES)
def _english_bases(word: str) -> frozenset[str]:
    """Return the word, and what it may be without its ending."""
    bases = {word}
    for ending, instead in _ENGLISH_ENDINGS:
        base = word.removesuffix(ending)
        if base != word and len(base) >= BASE_CHARS:
            bases.add(base + instead)
            if ending in ("ed", "ing") and base[-1] == base[-2]:
                bases.add(base[:-1])  # planned, planning
    return frozenset(bases)


@lru_cache(maxsize=CACHED_NAMES)
def _initials(name: str) -> frozenset[str]:
    return frozenset(word[:INITIALS] for word in _words(name))


@lru_cache(maxsize=CACHED_NAMES)
def _words(name: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(fold_accents(name.lower())))


def notes_prefix_named(parsed: ParsedRequest, allowed: NoteIds | None, ledger: Ledger) -> list[int]:
    """Return the ids of the notes with a name that begins with what is being typed, in their order.

    A month is as good as typed: its days begin with it.
    """
    notes, text = parsed.request.prefix_named, parsed.query.rank_text
    month = next(filter(_MONTH.fullmatch, (text, *dates_of(text))), None)
    if not notes and month is not None:
        notes = _notes_of_month(month, ledger)
    inside = those_within(notes, allowed)
    return [id for id in dict.fromkeys(notes) if id in inside]


def _notes_of_month(month: str, ledger: Ledger) -> tuple[int, ...]:
    """Return the ids of the notes called by a month, 2026-03, or by a day of it, in their order."""
    sql = (
        "SELECT note FROM names WHERE name = ? OR (name >= ? AND name < ? AND name GLOB ?)"
        " ORDER BY length(name), name LIMIT ?"
    )
    days = (f"{month}-", f"{month}.", f"{month}-[0-3][0-9]*")
    return tuple(row[0] for row in ledger.select(sql, month, *days, DAYS_OF_MONTH))
