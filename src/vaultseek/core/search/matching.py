"""Judge each candidate on its own, regardless of the other candidates.

A note matches exactly if it has an identifier or a date from the query, is near in meaning, has many of the
query's words, or has the query as its name. If none of the best notes matches exactly, the answer states that
its notes are only the closest. The index stores every spelling of an identifier under its normal form
(``content/query/normal_forms.py``), so no text is read here.
"""

import re
from collections.abc import Collection, Sequence, Set

import numpy as np

from vaultseek.base.text import fold
from vaultseek.content.languages.stopwords import STOP_WORDS
from vaultseek.content.query.dates import dates_of
from vaultseek.content.query.normal_forms import TELLING_DIGITS
from vaultseek.core.search import formula
from vaultseek.core.search.formula import Floats
from vaultseek.core.search.lanes import Evidence, Table, best_of_each, values_of
from vaultseek.semantic.worker import SemanticAnswer
from vaultseek.store.keyword.answer import KeywordAnswer, MatchedTerm
from vaultseek.store.keyword.segment import Bools, Ints

_OF_WHOLE = ("word", "whole")
"""Kinds of index terms that represent a whole word or identifier."""
_YEAR = re.compile("(?:19|20)[0-9]{2}")


def judge(query: Evidence, notes: Table) -> tuple[bool | None, Sequence[str]]:
    """Judge the candidates: set their ``confidence`` (:func:`formula.confidence`), and mark exact matches
    (:func:`formula.is_near`) and eligible results.

    If the query consists of identifiers, only notes with one of them are eligible or, if there are none,
    notes with a similar identifier. Beside other words, a first note with a code from the query is an exact
    match. Returns two values. The first is True if notes have identifiers from the query, False if notes have
    only similar identifiers, and None otherwise. The second lists the identifiers that no note has.
    """
    confidence, near, notes.coverage = nearness(notes.ids, query.keyword, query.retrieval.unexpanded)
    exact, begun = notes.fact("exact") > 0, notes.fact("begun") > 0
    confidence = np.maximum(confidence, np.where(begun, formula.PREFIX_NAME_CONFIDENCE, 0.0))
    confidence = np.maximum(confidence, np.where(exact, formula.EXACT_NAME_CONFIDENCE, 0.0))
    others = notes.fact("other words") >= formula.OTHER_WORDS
    most = np.where(others, formula.OTHER_WORDS_CONFIDENCE, 1.0)
    notes.confidence = np.minimum(confidence, most)
    called, identified = exact | begun, notes_with_identifier(query, notes)
    own = notes.score.max(where=notes.fact("own words") > 0, initial=0.0)
    derived = (notes.fact("derived words") >= formula.OTHER_WORDS) & (notes.score < own)
    lacking = (notes.fact("lacking codes") > 0) | _by_substitutes(query, notes)
    by_chance = (lacking & ~called) | (_has_only_stop_words(query) & ~exact)
    notes.doubtful = others | derived | by_chance | query.parsed.query.negated
    if identified is None:
        having, missing = notes_with_code(query, notes)
        if dates := dates_of(query.parsed.query.rank_text):
            # Notes for other days in the same month, and notes with the same numbers, contain most of the
            # date's words.
            near = dated = notes_with_date(dates, query.keyword, notes)
            if dated.any():
                notes.eligible = dated | called
        if not (having & (notes.score == notes.score.max(initial=0.0))).any():
            having = np.zeros_like(having)  # the first note has none of the codes
        notes.exact = near | called | having
        return bool(having.any()) or None, missing
    whole, like, missing = identified
    whole, has_digits = whole | called, all(map(_has_digit, query.parsed.profile.identifiers))
    notes.exact = whole if has_digits else near | called  # digits must match exactly
    notes.eligible = whole if whole.any() else like
    return bool(whole.any()), missing


def _by_substitutes(query: Evidence, notes: Table) -> Bools:
    """Return a mask of the notes that have only substitutes for the words of a finished query."""
    words, having = _telling_words(query), np.zeros(len(notes), np.bool_)
    if not query.parsed.request.typing and words <= query.retrieval.missing_words:
        for word in words & notes.words.keys():
            having |= notes.words[word]
    return having


def _has_only_stop_words(query: Evidence) -> bool:
    """True if every word of the query is a stop word, so that most notes match by chance."""
    return query.keyword is not None and bool(query.keyword.terms) and not _telling_words(query)


def _telling_words(query: Evidence) -> Set[str]:
    """Return the query's words, as indexed, without stop words."""
    if query.keyword is None:
        return frozenset()
    analyzer = query.vault.keyword_index.span_finder.analyzer
    return {term.word for term in query.keyword.terms} - analyzer.stop_words(query.parsed.query.rank_text)


def nearness(
    ids: Ints, keyword: KeywordAnswer | None, semantic: SemanticAnswer | None
) -> tuple[Floats, Bools, Floats]:
    """Return the confidence of each note, whether it is near the query in meaning or words, and its coverage:
    the share of the query's words that it contains, weighted by idf. The coverage is NaN without any words.
    """
    of_words, of_meaning = np.full(len(ids), np.nan), np.full(len(ids), np.nan)
    of_model: tuple[tuple[float, float], float] | tuple[()] = ()
    if keyword is not None and len(keyword):
        of_words = values_of(ids, keyword.columns.notes, keyword.columns.coverage, np.nan)
    if semantic is not None:
        of_model = (semantic.meaning_curve, semantic.reading)
        both = np.concatenate([semantic.passage_notes, semantic.note_ids])
        best = best_of_each(both, np.concatenate([semantic.passage_scores, semantic.note_scores]))
        of_meaning = np.maximum(values_of(ids, *best, np.nan), 0.0)
    near = formula.is_near(of_meaning, of_words, *of_model)
    return formula.confidence(of_meaning, of_words, *of_model), near, of_words


# -- identifiers and dates


def notes_with_identifier(query: Evidence, notes: Table) -> tuple[Bools, Bools, tuple[str, ...]] | None:
    """Find the notes that have one of the query's identifiers or, if there are none, a similar identifier.

    Returns a mask of the notes with an identifier, a mask of the notes with a similar one, and the
    identifiers that no note has. Returns None if the query also has other words, or was not searched by
    words. In place of a missing identifier, the search used identifiers with the same beginning, such as
    ``E-4107`` for ``E-4199``.
    """
    keyword, profile = query.keyword, query.parsed.profile
    if keyword is None or not profile.pure_identifier:
        return None
    required = {each: _words_of(each, keyword.terms) for each in profile.identifiers}
    if not any(required.values()):
        return None
    unknown = query.retrieval.missing_words
    missing = tuple(each for each, words in required.items() if not words or words & unknown)
    whole, like = np.zeros((2, len(notes)), np.bool_)
    for identifier, words in required.items():
        having = like if identifier in missing else whole
        having |= _having_all(words, notes)
    if whole.any():
        return whole, like & False, missing
    parts = {term.word for term in keyword.terms if term.kind == "part"}
    if any(map(_has_digit, profile.identifiers)):  # a note with the same long number is similar
        parts = {part for part in parts if part.isdecimal() and len(part) > 3 and not _YEAR.fullmatch(part)}
    return whole, like | _having_all(parts, notes), missing


def _has_digit(identifier: str) -> bool:
    return any(map(str.isdecimal, identifier))


def _having_all(words: Collection[str], notes: Table) -> Bools:
    none = np.zeros(len(notes), np.bool_)
    columns = [notes.words.get(word, none) for word in words]
    return np.logical_and.reduce(columns) if columns else none


def notes_with_code(query: Evidence, notes: Table) -> tuple[Bools, tuple[str, ...]]:
    """Return a mask of the notes with a code from the query, and the codes that no note has.

    A code is an identifier with a digit. Both are empty unless the query is finished and has other words.
    """
    keyword, profile = query.keyword, query.parsed.profile
    having = np.zeros(len(notes), np.bool_)
    if keyword is None or profile.pure_identifier or query.parsed.request.typing:
        return having, ()
    unknown = query.retrieval.missing_words
    required = {code: _words_of(code, keyword.terms) for code in filter(_is_code, profile.identifiers)}
    for words in required.values():
        if words and not words & unknown:
            having |= _having_all(words, notes)
    return having, tuple(code for code, words in required.items() if words & unknown)


def lacking_codes(query: Evidence, notes: Table) -> tuple[Floats, Bools]:
    """Compare the codes in the query with the codes in the notes.

    Returns two columns: the share of the query's words, weighted by idf, that a note lacks because other
    notes have more of the codes; and a mask of these notes, and of all notes that lack a part of a code that
    no note has. Both are empty for an unfinished query.

    The parts of a code are its words, from its first number on: ``M6x25``, ``250 nF``, ``iPhone 13``. A note
    has a number if it has a code around it, and letters also if it has the word: ``JKM`` in ``WX72 JKM``. The
    share ignores a word with a short number, which may be a count: ``level 2``. It is 0 if the query has more
    than ``CODE_WORDS`` words.
    """
    parts: dict[str, bool] = {}
    words: set[str] = set()
    having: dict[str, Bools] = {}
    none = np.zeros(len(notes), np.bool_)
    for term in () if query.keyword is None or query.parsed.request.typing else query.keyword.terms:
        is_code = _is_code(term.word) and STOP_WORDS.isdisjoint(term.word.split())
        if term.kind not in _OF_WHOLE or (term.kind == "word" and not is_code):
            continue
        of_term = _WORD.findall(_BEFORE_NUMBER.sub("", term.word))
        has_term = none if term.fuzzy else notes.words.get(term.word, none)
        having |= {part: having.get(part, none) | has_term for part in of_term}
        if is_code:
            is_telling = query.parsed.profile.words <= formula.CODE_WORDS and bool(_TELLING.search(term.word))
            parts |= {part: parts.get(part, False) or is_telling for part in of_term}
            if is_telling and has_term.any():
                words.update(_WORD.findall(term.word))
    lacking, counts = np.zeros((2, len(notes)))
    for part, is_telling in parts.items():
        has_part = having[part]
        if not has_part.any():
            has_part = none if _has_digit(part) else notes.words.get(part, none)
            lacking += ~has_part
        counts += is_telling & has_part
    most, weights = counts.max(initial=0.0), query.word_weights
    if not most:
        return counts, lacking > 0
    of_codes = sum(weight for word, weight in weights.items() if not words.isdisjoint(_WORD.findall(word)))
    share = of_codes / (sum(weights.values()) or 1.0)
    return share * (1 - counts / most), (lacking > 0) | (counts < most)


_WORD = re.compile(r"[^\W_]+")
_MARKED_NUMBER = r"[0-9](?:[.:/-][0-9]+){2}|[0-9]:[0-9]|[0-9]{3}-[0-9]|[0-9]-[0-9]{3}|[#§] ?[0-9]"
"""Pattern for a number with signs that a count does not have."""
_NUMBER_CODE = re.compile(_MARKED_NUMBER)
_TELLING = re.compile(rf"{_MARKED_NUMBER}|[^\W\d_]\S*[0-9]|[0-9]\S*[^\W\d_]|[0-9]{{3}}")
"""Pattern for a code that is not a word with a count."""
_BEFORE_NUMBER = re.compile(r"^(?:[^\W\d_]*+[\W_]++)*+(?=[^\W\d_]*+[0-9])")


def _is_code(identifier: str) -> bool:
    """True for an identifier whose number is not a year, and for a long number or one with signs (``3.11.7``,
    ``555-0199``, ``§823``) that is neither a date nor a list of numbers."""
    numbers = re.findall("[0-9]+", identifier)
    if not numbers or all(map(_YEAR.fullmatch, numbers)) or ", " in identifier or dates_of(identifier):
        return False
    is_long = sum(map(len, numbers)) >= TELLING_DIGITS
    return is_long or any(map(str.isalpha, identifier)) or bool(_NUMBER_CODE.search(identifier))


def notes_with_date(dates: Collection[str], keyword: KeywordAnswer | None, notes: Table) -> Bools:
    """Return the notes in which the keyword index found one of the ISO days or months in ``dates``."""
    terms = () if keyword is None else keyword.terms
    none = np.zeros(len(notes), np.bool_)
    words = (term.word for term in terms if not term.fuzzy and not set(dates).isdisjoint(term.terms))
    having: Bools = np.logical_or.reduce([none, *(notes.words.get(word, none) for word in words)])
    return having


def _words_of(identifier: str, terms: Collection[MatchedTerm]) -> frozenset[str]:
    """Return the query words that a note must contain to match the whole ``identifier``; empty if these words
    are unknown.
    """
    folded = fold(identifier)
    words = {term.word.rstrip("*"): term.word for term in terms if term.kind in _OF_WHOLE}
    if folded in words:
        return frozenset({words[folded]})
    inside = [word for word in words if word in folded]
    outermost = [word for word in inside if not any(word != other and word in other for other in inside)]
    return frozenset(words[word] for word in outermost)
