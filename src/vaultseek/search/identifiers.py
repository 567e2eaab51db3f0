"""Which notes have the identifiers that a query consists of.

Who searches for ``E-4107`` alone wants the notes that have it. Notes with a part of it are of interest only
where no note has it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from vaultseek.index.keyword.answer import KeywordAnswer, MatchedTerm
from vaultseek.index.ledger import Ledger
from vaultseek.search.request import ParsedRequest
from vaultseek.text import fold

_OF_WHOLE = ("whole", "word", "prefix")
"""Kinds of terms that stand for a whole identifier or a whole word of one, not for a part of it."""


def notes_with_identifier(
    parsed: ParsedRequest, keyword: KeywordAnswer | None, notes: Iterable[int], ledger: Ledger
) -> set[int] | None:
    """Return those of the ``notes`` that have one of the query's identifiers.

    None if the query has other words, too, or was not searched by word. ``os.path`` is in a note with
    ``os.path.join``, which the index does not tell: so notes with all parts of it are read.
    """
    if keyword is None or not parsed.profile.pure_identifier:
        return None
    required = [whole_words(each, keyword.terms) for each in parsed.profile.identifiers]
    if not any(required):
        return None
    missing = {term.word for term in keyword.terms if term.fuzzy or not term.df}
    present = [words for words in required if words and not words & missing]
    matched = {note: set(keyword.matched(note)) for note in notes}
    whole = {note for note, words in matched.items() if any(each <= words for each in present)}
    parts = {term.word for term in keyword.terms if term.kind == "part"} - missing
    in_parts = [note for note, words in matched.items() if note not in whole and parts and parts <= words]
    return whole | _with_longer_name(in_parts, parsed.profile.identifiers, ledger)


def _with_longer_name(notes: Sequence[int], identifiers: Iterable[str], ledger: Ledger) -> set[int]:
    """Return those of the notes in whose text a longer name begins or ends with one of the identifiers."""
    if not notes:
        return set()
    names = "|".join(re.escape(fold(identifier)) for identifier in identifiers)
    pattern = re.compile(rf"(?<![\w\-])(?<![0-9]\.)(?:{names})(?![\w\-]|\.[0-9])")
    return {
        note
        for note, chunks in ledger.chunks.by_note(notes).items()
        if any(pattern.search(fold(chunk.text)) for chunk in chunks)
    }


def whole_words(identifier: str, terms: Collection[MatchedTerm]) -> frozenset[str]:
    """Return the words of the query that a note with the whole ``identifier`` has; none if unknown."""
    folded = fold(identifier)
    words = {term.word.rstrip("*"): term.word for term in terms if term.kind in _OF_WHOLE}
    if folded in words:
        return frozenset({words[folded]})
    inside = [word for word in words if word in folded]
    outermost = [word for word in inside if not any(word != other and word in other for other in inside)]
    return frozenset(words[word] for word in outermost)
