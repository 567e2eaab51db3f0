"""Which notes are called what the query says."""

import re
from collections.abc import Mapping, Set

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
_MONTH = re.compile(r"[12][0-9]{3}-(?:0[1-9]|1[0-2])")
_WORD = re.compile(r"[^\W_]+")


def notes_named(parsed: ParsedRequest, allowed: NoteIds | None, ledger: Ledger) -> set[int]:
    """Return the ids of the notes whose title, alias or file name is the query; case does not matter."""
    by_name = ledger.notes.ids_by_name
    text = parsed.query.rank_text
    names = {text, parsed.request.query.strip(), *dates_of(text)}
    return those_within(set().union(*map(by_name, names)), allowed)


def name_shares(
    parsed: ParsedRequest,
    keyword: KeywordAnswer | None,
    notes: Mapping[int, NoteRow],
    span_finder: SpanFinder,
) -> dict[int, float]:
    """Return by note how much of the query its name is, from 0 to 1; only shares above 0.

    It is the share of the query's words, by weight, if the name has no others. Words are those of the index,
    without stop words: *what are task states* is *Task State*, *task-state* and *taskState*. A word that the
    vault does not have is in no name. There are none for a query of identifiers, which are not inflected.
    """
    if keyword is None or parsed.profile.pure_identifier:
        return {}
    matcher = TermMatcher.of_answer(keyword, span_finder)
    stop_words = span_finder.analyzer.stop_words(" ".join(term.word for term in keyword.terms))
    asked = [term for term in keyword.terms if term.kind not in ("whole", "date")]
    asked = [term for term in asked if term.word not in stop_words] or asked
    words = {matcher.words[each]: term for term in asked for each in term.terms if each in matcher.words}
    initials = {term.word[:1] for term in words.values()}
    total = sum(term.weight * term.idf for term in asked)
    is_known = all(term.df for term in asked)
    shares: dict[int, float] = {}
    for id, row in notes.items():
        for name in row.names:
            written = _WORD.findall(fold_accents(name.lower()))
            if not all(word[0] in initials or word in stop_words for word in written):
                continue  # as for most names: to analyse one takes ten times as long
            numbers = _words_of(name, row.language, matcher, words, stop_words)
            weight = sum(words[number].weight * words[number].idf for number in numbers)
            share = 1.0 if is_known and numbers == words.keys() else weight / total if total else 0.0
            if share > shares.get(id, 0.0):
                shares[id] = share
    return shares


def _words_of(
    name: str,
    language: str,
    matcher: TermMatcher,
    words: Mapping[int, MatchedTerm],
    stop_words: Set[str],
) -> set[int]:
    """Return the numbers of the query's words that a name consists of, beside stop words.

    None if it has other words, or others with the same stem.
    """
    matches = [match for match in matcher.matches(name, language) if match[2] in words]
    numbers = {number for _, _, number in matches}
    if any(words[number].fuzzy for number in numbers):
        return set()
    rest = list(name)
    for start, end, _ in matches:
        rest[start:end] = " " * (end - start)
    others = _WORD.findall(fold_accents("".join(rest).lower()))
    written = sum(map(len, _WORD.findall(name))) - sum(map(len, others))
    asked = sum(len(words[number].word) for number in numbers)
    is_same = abs(written - asked) <= INFLECTION_CHARS * len(numbers)
    return numbers if is_same and set(others) <= stop_words else set()


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
