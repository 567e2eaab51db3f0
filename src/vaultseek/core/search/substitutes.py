"""Words that stand in for one of the query that no note has."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from vaultseek.base.model import Chunk
from vaultseek.base.text import fold_accents, quote
from vaultseek.content.markdown.property_text import property_lines
from vaultseek.core.search.retrieve import Retrieval
from vaultseek.store.keyword.spans import SpanFinder
from vaultseek.store.ledger import NoteRow

WORDS_NAMED = 3
"""Substitutes of one word that a remark names."""


def substitutes(
    retrieval: Retrieval,
    rows: Sequence[NoteRow],
    passages: Mapping[int, Chunk],
    span_finder: SpanFinder,
) -> dict[str, list[str]]:
    """Return, by the word of the query, the words that stand in for it, as the passages of the notes write
    them; only words that one of the notes has a substitute of."""
    found: dict[str, list[str]] = {}
    keyword = retrieval.keyword
    for term in () if keyword is None else keyword.terms:
        having = [row for row in rows if keyword and term.fuzzy and term.word in keyword.matched(row.id)]
        spellings: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for row in having:
            for text in _texts(row, passages.get(row.id)):
                for start, end, matched in span_finder.spans(text, term.terms, row.language):
                    spellings[matched][text[start:end]] += 1
        if having:
            found[term.word] = [each.most_common(1)[0][0] for each in spellings.values()]
    return found


def _texts(row: NoteRow, passage: Chunk | None) -> Iterator[str]:
    if passage is not None:
        yield passage.text
    yield from (line.text for line in property_lines(row.properties))
    yield from row.names


def searched_instead(words: Sequence[str]) -> str:
    """Return the end of a remark on a word that no note has: what was searched for, as far as it is known."""
    if not words:
        return "words like it were searched for instead"
    return f"searched for {' or '.join(map(quote, words[:WORDS_NAMED]))} instead"


def as_typed(word: str, text: str) -> str:
    """Return a word of the keyword index as ``text`` writes it, with its accents and capitals."""
    folded = fold_accents(text.casefold())
    at = folded.find(fold_accents(word))
    return text[at : at + len(word)] if at >= 0 and len(folded) == len(text) else word
