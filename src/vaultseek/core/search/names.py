"""Which notes are called what the query says."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache

from vaultseek.base.text import fold_accents
from vaultseek.content.query.dates import dates_of
from vaultseek.core.search.filter import those_within
from vaultseek.core.search.request import ParsedRequest
from vaultseek.core.search.snippet import TermMatcher
from vaultseek.semantic.vectors.port import NoteIds
from vaultseek.store.keyword.answer import KeywordAnswer, MatchedTerm
from vaultseek.store.keyword.spans import SpanFinder
from vaultseek.store.ledger import Ledger, NoteRow

DAYS_OF_MONTH = 64
"""Notes with the name of a day that a search for its month puts first."""
INFLECTION_CHARS = 2
"""Characters per word by which a name may be longer or shorter than the query: *queries* is *query*, but
*organization* is not *organ*, although their stem is the same."""
HEADING_SHARE = 0.5
"""The share of a query that a heading is counts so much less than that of a name."""
NEARLY = 0.999
"""Factor for shares of names that are not the query, so that 1 means that a name is."""
INITIALS = 2
"""Letters that all forms of a word begin with."""
CACHED_NAMES = 4096
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


def name_shares(
    parsed: ParsedRequest,
    keyword: KeywordAnswer | None,
    notes: Mapping[int, NoteRow],
    leading: Collection[int],
    span_finder: SpanFinder,
) -> dict[int, float]:
    """Return by note how much of the query its name or a heading is, from 0 to 1; only shares above 0.

    It is the share of the query's words in the name, by weight, times the share of the name that they are.
    Of a heading without other words, in one of the ``leading`` notes, it is ``HEADING_SHARE`` of that. Words
    are those of the index, without stop words: *what are task states* is *Task State*, *task-state* and
    *taskState*. There are none for a query of identifiers, which are not inflected.
    """
    if keyword is None or parsed.profile.pure_identifier:
        return {}
    asked = QueryWords.of(keyword, span_finder)
    if not asked.words:
        return {}
    shares = {
        id: max(
            max(asked.share(name, row.language) for name in row.names),
            HEADING_SHARE * _of_headings(row, asked) if id in leading else 0.0,
        )
        for id, row in notes.items()
    }
    return {id: share for id, share in shares.items() if share}


def _of_headings(row: NoteRow, asked: QueryWords) -> float:
    """Return the largest share of a heading; of those with other words, which are many, there is none."""
    own = (each.shown for each in row.headings if asked.may_be_all(each.shown))
    return max((asked.share(text, row.language) for text in own), default=0.0)


@dataclass(frozen=True, slots=True)
class QueryWords:
    """The words of a query without stop words, by the number that the ``matcher`` has for them.

    ``total`` is their weight with that of the words that the vault does not have; ``initials`` are their
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

    def may_be_all(self, name: str) -> bool:
        """True if a name may have no other words but stop words, by its words' first letters."""
        return all(word[:INITIALS] in self.initials or word in self.stop_words for word in _words(name))

    def share(self, name: str, language: str) -> float:
        """Return the share of the words that a name in this language has, times the share of the name that
        they are; 1 only of all words, if all are known."""
        if self.initials.isdisjoint(_initials(name)):
            return 0.0  # as for most names: to analyse one takes ten times as long
        matches = [match for match in self.matcher.matches(name, language) if match[2] in self.words]
        numbers = {number for _, _, number in matches}
        rest = list(name)
        for start, end, _ in matches:
            rest[start:end] = " " * (end - start)
        left = _words("".join(rest))
        written = sum(map(len, _words(name))) - sum(map(len, left))
        asked = sum(len(self.words[number].word) for number in numbers)
        if not numbers or abs(written - asked) > INFLECTION_CHARS * len(numbers):
            return 0.0  # words with the same stem are not all the same word
        others = len(set(left) - self.stop_words)
        if self.is_known and not others and numbers == self.words.keys():
            return 1.0
        weight = sum(self.words[number].weight * self.words[number].idf for number in numbers)
        return NEARLY * weight / self.total * len(numbers) / (len(numbers) + others) if self.total else 0.0


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
