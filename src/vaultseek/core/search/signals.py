"""Signals: evidence for a candidate beyond the lanes and the links.

A signal is a class with a weight and a value for each candidate. ``ranking.SIGNALS`` lists the signals in the
order in which they are applied.

Words are compared as written. *queries* counts as *query*, but *moral* does not count as *Morale*, nor
*polite* as *political*, although the words of each pair have the same stem in the index.
"""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from vaultseek.base.text import fold, fold_accents
from vaultseek.base.when import read_when
from vaultseek.content.languages.stopwords import STOP_WORDS
from vaultseek.content.languages.word_forms import distinguishes_words, is_derived, is_form
from vaultseek.content.markdown.property_text import property_lines
from vaultseek.content.query.compare import is_file_name
from vaultseek.content.query.dates import dates_of
from vaultseek.content.query.note_dates import property_when
from vaultseek.content.query.times import SpokenTime
from vaultseek.core.search.formula import (
    BELOW_OWN_WORDS,
    CODE_EXPONENT,
    DERIVED_LOSS,
    LEADING_NOTES,
    RECENCY_SHARE,
    Floats,
    exact_name_score,
    name_share,
    prefix_name_score,
    recency_gain,
)
from vaultseek.core.search.lanes import Evidence, Table
from vaultseek.core.search.matching import lacking_codes
from vaultseek.core.search.snippet import Matcher
from vaultseek.settings.search import SearchSettings
from vaultseek.store.keyword.answer import KeywordAnswer, MatchedTerm, those_within
from vaultseek.store.keyword.segment import Bools
from vaultseek.store.keyword.spans import SpanFinder
from vaultseek.store.ledger import Ledger, NoteRow

if TYPE_CHECKING:
    from vaultseek.core.indexing.scoped_vault import ScopedKeywordIndex
    from vaultseek.store.keyword.lane import KeywordLane

DAY_SECONDS = 86_400.0


class Signal(ABC):
    """A column of the candidate table that changes scores.

    It multiplies each score by 1 + ``weight`` × value or, if ``adds`` is true, adds ``weight`` × value to the
    score. ``figure`` is the signal's name in the answer; signals with the same name are combined there.
    """

    figure: ClassVar[str]
    adds: ClassVar[bool] = False

    def weight(self, settings: SearchSettings) -> float:
        """Return the weight of the signal: its effect for a value of 1, as a share of the score."""
        return 1.0

    @abstractmethod
    def values(self, query: Evidence, notes: Table) -> Floats:
        """Return the value for each candidate; 0 if the signal does not apply to a candidate."""

    def apply(self, query: Evidence, notes: Table) -> None:
        """Change the candidates' scores, and record the change under the name ``figure``."""
        values = self.values(query, notes)
        if not values.any():
            return
        values = float(not self.adds) + self.weight(query.settings) * values
        combine = np.add if self.adds else np.multiply
        notes.score = combine(notes.score, values)
        notes.figures[self.figure] = combine(notes.figures.get(self.figure, float(not self.adds)), values)


class Recency(Signal):
    """Gain for a note's age, according to the tiers in the settings."""

    figure = "recency"

    def weight(self, settings: SearchSettings) -> float:
        return RECENCY_SHARE

    def values(self, query: Evidence, notes: Table) -> Floats:
        recency = query.settings.recency
        if not recency.enabled:
            return np.zeros(len(notes))
        dates = np.array([_date(row, query.settings) for row in notes.notes], np.float64)
        tiers = [(tier.days, tier.factor) for tier in recency.tiers]
        return recency_gain((time.time() - dates) / DAY_SECONDS, tiers)


def _date(row: NoteRow, settings: SearchSettings) -> float:
    recency = settings.recency
    when = property_when(row.properties, recency.properties) if row.properties else None
    if when is None and recency.date == "filename":
        when = read_when(row.name_day)
    if when is None and recency.date == "created":
        when = row.created
    return row.modified if when is None else when.unix


class Anchors(Signal):
    """Gain in proportion to the share of the query's identifiers and phrases that a note has, or of its only
    word. Words searched for in place of missing ones do not count, nor do other words of the same stem."""

    figure = "anchors"

    def weight(self, settings: SearchSettings) -> float:
        return settings.anchor_boost - 1.0

    def values(self, query: Evidence, notes: Table) -> Floats:
        anchors, missing = query.parsed.profile.anchors, query.retrieval.missing_words
        words = {fold(word): has for word, has in notes.words.items() if word not in missing}
        none, counts = np.zeros(len(notes), np.bool_), np.zeros(len(notes))
        for anchor in anchors if words else ():
            parts = [words.get(part, none) for part in anchor.split()]
            counts += words.get(anchor, none) | (np.logical_and.reduce(parts) if parts else none)
        own = 1 - notes.fact("derived words") - notes.fact("other words")
        return own * counts / max(len(anchors), 1)


# -- the time in a question

TIME_GAIN = 1.2
"""Gain of a note that is from the question's period and has the question's other words, as a share of the
best score.

It is above 1, so that such a note comes before all others: in a diary, hundreds of notes match the other
words equally well.
"""
ANY_NOTE = frozenset((
    "aconteceu", "dagboek", "day", "days", "diario", "diary", "did", "do", "doing", "done",
    "eintrag", "einträge", "entries", "entry", "escrito", "fait", "fatto", "feito", "fiz",
    "gebeurd", "gedaan", "gemacht", "geschehen", "geschreven", "geschrieben", "getan", "happen",
    "happened", "happening", "hecho", "hice", "journal", "log", "meeting", "meetings", "notas",
    "note", "notes", "notities", "notiz", "notizen", "passiert", "passé", "pasó", "scritto",
    "successo", "tagebuch", "write", "written", "wrote", "écrit",
))  # fmt: skip
"""Words without a topic. A query that has only such words asks for any note from the period it names."""
NAMED, MODIFIED = 0.8, 0.6
"""Shares of ``TIME_GAIN`` that two kinds of notes get: notes whose text names a day in the period, and
undated notes modified in the period."""
PROPOSED = 200
"""Maximum number of notes from the question's period that are ranked although no lane proposes them."""


def notes_of(time: SpokenTime | None, ledger: Ledger) -> Collection[int]:
    """Return the ids of notes with a day in the period ``time``; empty if there are too many such notes."""
    if time is None:
        return ()
    first, last = time.days
    found = ledger.forms.of_days(first.isoformat(), last.isoformat(), limit=PROPOSED + 1)
    return found if len(found) <= PROPOSED else ()


class InTime(Signal):
    """Gain for notes from the period that the question names. The other notes are kept."""

    figure = "time"
    adds = True

    def values(self, query: Evidence, notes: Table) -> Floats:
        time = query.parsed.time
        if time is None:
            return np.zeros(len(notes))
        first, last = time.days
        naming = query.vault.ledger.forms.naming_days(notes.ids.tolist(), first.isoformat(), last.isoformat())
        shares = NAMED * notes.having(naming)
        for place, row in enumerate(notes.notes):
            if first <= row.created.local.date() <= last:
                own = MODIFIED if row.created.seconds == row.modified else 1.0
                shares[place] = max(shares[place], own)
        lead = TIME_GAIN * notes.gain.max(initial=0.0) * _other_words(time, query, notes) ** 2
        gains: Floats = shares * (notes.gain + lead)
        return gains


def _other_words(time: SpokenTime, query: Evidence, notes: Table) -> Floats:
    """Return the share of the question's words that each note has, weighted by rarity. The words that name
    the time are ignored.

    A question without other words asks for any note from the period. All shares are 0 without a keyword
    answer.
    """
    if query.keyword is None:
        return np.zeros(len(notes))
    of_time = set(map(fold, time.text.split()))
    words = {fold(word): has for word, has in notes.words.items()}
    asked = [fold(word.strip(".,;:!?")) for word in query.parsed.query.rank_text.split()]
    if all(word in of_time or word in STOP_WORDS or word in ANY_NOTE for word in asked):
        return np.ones(len(notes))
    weights = {
        word: weight
        for word, weight in query.word_weights.items()
        if word not in of_time and word not in STOP_WORDS and word in words
    }
    shares: Floats = sum((weight * words[word] for word, weight in weights.items()), np.zeros(len(notes)))
    return shares / (sum(weights.values()) or 1.0)


# -- names

DAYS_OF_MONTH = 64
"""Maximum number of daily notes that come first in a search for their month."""
PARTIAL_WORDS = 3
"""Maximum number of words in a query that are also compared one by one: with names, and with other words of
the same stem."""
NEARLY = 0.999
"""Factor for names that match only a part of the query, so that only a name equal to the query gets 1."""
INITIALS = 2
"""Number of first letters that all forms of a word share."""
CACHED_NAMES = 4096
_MONTH = re.compile(r"[12][0-9]{3}-(?:0[1-9]|1[0-2])")
_WORD = re.compile(r"[^\W_]+")


class Called(NamedTuple):
    """Ids of the notes that a query names.

    ``named`` notes have the query as title, alias, file name or path, or are ``pinned`` to it. ``begun``
    notes have a name that begins with an unfinished query, and are in the order in which they are shown.
    """

    named: set[int]
    pinned: set[int]
    begun: Sequence[int]


def notes_called(query: Evidence) -> Called:
    """Return the notes whose name is the query, regardless of case, or begins with the query while it is
    being typed.
    """
    parsed, allowed, ledger = query.parsed, query.allowed, query.vault.ledger
    text = parsed.query.rank_text
    names = dict.fromkeys((text, parsed.request.query.strip(), *dates_of(text)))
    named = ledger.notes.ids_by_name(*names)
    if "." in text:  # every path ends with a suffix
        named |= {row[0] for row in ledger.select("SELECT id FROM notes WHERE path = ?", text)}
    pinned = those_within(query.pinned, allowed)
    return Called(those_within(named, allowed) | pinned, pinned, _notes_begun(query, text))


def _notes_begun(query: Evidence, text: str) -> list[int]:
    """Return the notes whose name begins with the query, in order. A month counts as unfinished, because the
    names of its days begin with it.
    """
    notes = query.parsed.request.prefix_named
    month = next(filter(_MONTH.fullmatch, (text, *dates_of(text))), None)
    if not notes and month is not None:
        notes = _notes_of_month(month, query.vault.ledger)
    inside = those_within(notes, query.allowed)
    return [id for id in dict.fromkeys(notes) if id in inside]


def add_names(query: Evidence, called: Called, notes: Table) -> None:
    """Add facts about the candidates' names to the table.

    ``name`` is how well the name matches the query (:func:`formula.name_share`); 1 for the whole query.
    ``named`` notes have the query as a name. ``exact`` notes come first: the notes with the query as file
    name or, if there are none, all named notes. ``begun`` notes also come first, sorted by their values,
    highest first. ``own words``, ``derived words`` and ``other words`` are the columns of
    :func:`compare_words`.
    """
    asked = _query_words(query)
    shares = match_names(query, asked, notes)
    leading = query.fusion.first(LEADING_NOTES)
    named = notes.having(called.named)
    if not called.named:
        named = notes.having(leading) & (shares == 1.0)
    text = query.parsed.query.rank_text
    are_files = np.zeros(len(notes), np.bool_)
    for place in np.flatnonzero(named).tolist():
        are_files[place] = is_file_name(notes.notes[place].path, text)
    candidates = set(notes.ids.tolist())
    begun = [id for id in called.begun if id in candidates]
    places = {id: 1 - place / len(begun) for place, id in enumerate(begun)}
    exact = (are_files if are_files.any() else named) | notes.having(called.pinned)
    own_words, derived_words, other_words = compare_words(query, asked, notes)
    notes.facts |= {
        "name": shares,
        "named": named.astype(np.float64),
        "exact": exact.astype(np.float64),
        "begun": np.array([places.get(id, 0.0) for id in notes.ids.tolist()]),
        "own words": own_words.astype(np.float64),
        "derived words": derived_words,
        "other words": other_words,
    }


class NameParts(Signal):
    """Gain of a note whose name is a part of the query, or contains a part of it."""

    figure = "anchors"

    def values(self, query: Evidence, notes: Table) -> Floats:
        return notes.fact("name")


class OwnWords(Signal):
    """Loss of notes that have another word with the stem of a query word. Notes with a derived word lose a
    share of their score if other notes have the query's words themselves; notes with an unrelated word stay
    below all notes that have the words or derived words.
    """

    figure = "bound"

    def values(self, query: Evidence, notes: Table) -> Floats:
        own, derived = notes.fact("own words") > 0, notes.fact("derived words")
        others, score = notes.fact("other words") > 0, notes.score
        loss = -DERIVED_LOSS * derived * float(own.any())
        having = ((1 + loss) * score)[(own | (derived > 0)) & ~others & (score > 0)]
        if not len(having):
            return loss
        return _limited(loss, score, BELOW_OWN_WORDS * having.min(), others)


class Codes(Signal):
    """Loss of notes that have fewer of a short query's codes than other notes: the larger the codes' share of
    the query's words, the greater the loss. These notes also stay below the best note that has the codes.
    """

    figure = "bound"

    def values(self, query: Evidence, notes: Table) -> Floats:
        missing, lacking = lacking_codes(query, notes)
        notes.facts["lacking codes"] = lacking.astype(np.float64)
        loss = (1 - missing) ** CODE_EXPONENT - 1
        if not missing.any():
            return loss
        best = notes.score[missing == 0].max()
        return _limited(loss, notes.score, BELOW_OWN_WORDS * best, missing > 0)


def _limited(loss: Floats, score: Floats, limit: float, which: Bools) -> Floats:
    """Return the loss, raised so that no note in the mask ``which`` has more than the score ``limit``."""
    above = which & ((1 + loss) * score > limit)
    return np.where(above, limit / np.where(above, score, 1.0) - 1.0, loss)


class FirstByName(Signal):
    """Lead of a note whose title, alias or file name is the query, or begins with the query while it is being
    typed.
    """

    figure = "name"
    adds = True

    def values(self, query: Evidence, notes: Table) -> Floats:
        exact, begun = notes.fact("exact") > 0, notes.fact("begun")
        if not (exact.any() or begun.any()):
            return np.zeros(len(notes))
        best = float(notes.score.max()) or 1.0
        by_prefix = prefix_name_score(begun, best)
        first = np.where(begun > 0, by_prefix, exact_name_score(notes.score, best))
        return np.where(exact | (begun > 0), first - notes.score, 0.0)


def match_names(query: Evidence, asked: QueryWords | None, notes: Table) -> Floats:
    """Return how well each note's name matches (:meth:`QueryWords.match`).

    A query with more than ``PARTIAL_WORDS`` words matches only a name equal to it.
    """
    shares = np.zeros(len(notes))
    if asked is None:
        return shares
    may_match = _have_all(query, asked, notes) if len(asked.words) > PARTIAL_WORDS else np.ones_like(shares)
    for place in np.flatnonzero(may_match).tolist():
        row = notes.notes[place]
        names = [name for name in row.names if not asked.initials.isdisjoint(_initials(name))]
        if names:  # false for most notes; analysing a name takes ten times as long
            shares[place] = max(asked.match(name, row.language) for name in names)
    return shares


def _have_all(query: Evidence, asked: QueryWords, notes: Table) -> Bools:
    """Return a mask of the notes that match all words by stem, and of those that the keyword search did not
    return.
    """
    assert query.keyword is not None
    columns = {number: np.zeros(len(notes), np.bool_) for number in asked.words}
    for term in query.keyword.terms:
        numbers = {asked.matcher.words.get(each) for each in term.terms}
        for number in columns.keys() & numbers:
            columns[number] |= notes.words[term.word]
    has_all: Bools = np.logical_and.reduce([*columns.values()])
    return has_all | (query.keyword.places(notes.ids) < 0)


def compare_words(query: Evidence, asked: QueryWords | None, notes: Table) -> tuple[Bools, Floats, Floats]:
    """Compare the query's words with the words of the notes that match all of them by stem.

    Returns three columns. The first is true for notes that have all the words themselves. The others are the
    shares of the query's words, weighted by idf, for which a note has only a derived word, such as
    *installation* for *install*, and only an unrelated word, such as *political* for *polite*. A note may
    have a word in its names, tags, properties or text. All columns are empty if the vault has no such words,
    and for a query that is unfinished or has more than ``PARTIAL_WORDS`` words.
    """
    own_words = np.zeros(len(notes), np.bool_)
    derived_words, other_words = np.zeros((2, len(notes)))
    is_finished = not (query.parsed.is_unfinished or query.retrieval.continued)
    if asked is None or not is_finished or len(asked.words) > PARTIAL_WORDS:
        return own_words, derived_words, other_words
    matching = np.logical_and.reduce([notes.words[term.word] for term in asked.words.values()])
    places = np.flatnonzero(matching).tolist()
    families = asked.families(query.vault.keyword_index) if places else []
    patterns = {
        language: [pair for family in families if (pair := family.patterns(language)) is not None]
        for language in {notes.notes[place].language for place in places}
    }
    if not any(patterns.values()):
        return own_words, derived_words, other_words
    texts = query.vault.ledger.chunks.texts(notes.ids[places].tolist())
    for place in places:
        row = notes.notes[place]
        about = (row.path, *row.names, *row.tags, *(line.text for line in property_lines(row.properties)))
        text = " ".join((*about, *(passage.text for passage in texts[row.id]))).lower()
        for own, related, share in patterns[row.language]:
            if not _is_in(own, text):
                (derived_words if _is_in(related, text) else other_words)[place] += share
    return matching & (derived_words + other_words == 0), derived_words, other_words


def _is_in(pattern: re.Pattern[str], text: str) -> bool:
    """True if the text in lower case matches, with or without its accents."""
    found = pattern.search(text)
    if found is None and not text.isascii():  # only these words have accents, and folding takes long
        found = pattern.search(fold_accents(" ".join(each for each in text.split() if not each.isascii())))
    return found is not None


def _query_words(query: Evidence) -> QueryWords | None:
    """Return the query's words; None if the query has only identifiers, which are not inflected, or if it was
    not searched by words.
    """
    if query.keyword is None or query.parsed.profile.pure_identifier:
        return None
    asked = QueryWords.of(query.keyword, query.vault.keyword_index.span_finder)
    return asked if asked.words else None


@dataclass(frozen=True, slots=True)
class QueryWords:
    """The query's words without stop words; ``words`` maps a word's number in the ``matcher`` to the word.

    ``total`` is the weight of all words, including words missing from the vault; ``initials`` are their first
    letters.
    """

    matcher: Matcher
    words: Mapping[int, MatchedTerm]
    total: float
    initials: frozenset[str]
    stop_words: frozenset[str]
    is_known: bool

    @classmethod
    def of(cls, keyword: KeywordAnswer, span_finder: SpanFinder) -> QueryWords:
        """Return the query words for which the keyword index was searched."""
        matcher = Matcher.of(keyword, span_finder)
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

    def match(self, name: str, language: str) -> float:
        """Return how well a name in this language matches, from 0 to 1. Words that only have the same stem,
        such as *university* and *universe*, do not match.
        """
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
        if self.is_known and not others and matched == self.words.keys():
            return float(matched == same)
        if not same or len(self.words) > PARTIAL_WORDS or not self.total:
            return 0.0
        weight = sum(self.words[number].weight * self.words[number].idf for number in same)
        of_name = len(same) / (len(matched) + others)
        return NEARLY * name_share(weight / self.total, of_name)

    def families(self, index: KeywordLane | ScopedKeywordIndex) -> list[WordFamily]:
        """Return the family of each query word that shares its stem with another word of the vault."""
        found = []
        for term in self.words.values():
            word = fold_accents(term.word.lower())
            analyzed = (each.token_terms(word).terms for each in index.span_finder.analyzer.analyzers)
            stems = {each.text for terms in analyzed for each in terms}.intersection(term.terms)
            if term.fuzzy or not stems or not word.isalpha():
                continue
            beginning = max(INITIALS, min(len(each.partition("~")[0]) for each in stems) - 1)
            written = index.words_of(stems, word[:beginning])
            if not written <= {word}:
                share = term.weight * term.idf / (self.total or 1.0)
                found.append(WordFamily(word, frozenset(term.terms) - stems, written, share))
        return found

    def _is_same(self, written: str, number: int, language: str) -> bool:
        """True if ``written``, a word in a name, is the query word with this ``number``, or a substitute for
        a query word that is missing from the vault.
        """
        term = self.words[number]
        return term.fuzzy or is_form(fold_accents(written.lower()), fold_accents(term.word.lower()), language)


class WordFamily(NamedTuple):
    """The words of the vault that have the same stem as a query word, and the word's share of the query."""

    word: str
    other_spellings: frozenset[str]
    written: frozenset[str]
    share: float

    def patterns(self, language: str) -> tuple[re.Pattern[str], re.Pattern[str], float] | None:
        """Return two patterns for a text without accents, and the word's share: one pattern for the word in
        all its forms and spellings, one also for the words derived from it.

        Return None if all written words are forms of the word, or count as forms in this language.
        """
        if not distinguishes_words(language):
            return None
        own = {each for each in self.written if is_form(each, self.word, language)}
        if len(own) == len(self.written):
            return None
        own |= {self.word, *self.other_spellings}
        related = own | {each for each in self.written if is_derived(each, self.word)}
        return _pattern_of(frozenset(own)), _pattern_of(frozenset(related)), self.share


@lru_cache(maxsize=CACHED_NAMES)
def _pattern_of(words: Set[str]) -> re.Pattern[str]:
    return re.compile(f"(?:{'|'.join(map(re.escape, sorted(words)))})(?![^\\W_])")


@lru_cache(maxsize=CACHED_NAMES)
def _initials(name: str) -> frozenset[str]:
    return frozenset(word[:INITIALS] for word in _words(name))


@lru_cache(maxsize=CACHED_NAMES)
def _words(name: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(fold_accents(name.lower())))


def _notes_of_month(month: str, ledger: Ledger) -> tuple[int, ...]:
    """Return the ids of notes named after a month, such as 2026-03, or after a day in that month, in
    order.
    """
    sql = (
        "SELECT note FROM names WHERE name = ? OR (name >= ? AND name < ? AND name GLOB ?)"
        " ORDER BY length(name), name LIMIT ?"
    )
    days = (f"{month}-", f"{month}.", f"{month}-[0-3][0-9]*")
    return tuple(row[0] for row in ledger.select(sql, month, *days, DAYS_OF_MONTH))
