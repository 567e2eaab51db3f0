"""Weighted terms of a query: words, identifiers and their parts, prefixes."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import Literal, NamedTuple

from vaultseek.base.limits import KEYWORD_TERMS
from vaultseek.base.text import fold, fold_accents, normalize
from vaultseek.content.query.dates import dates_of, spellings_like_versions
from vaultseek.content.query.normal_forms import (
    DAY_OR_MONTH,
    MARK,
    NormalForm,
    is_code,
    normal_forms,
    spellings,
    word_form,
)
from vaultseek.store.keyword.analysis import Analyzer, Term, TokenTerms, analyzer_of, extract_prefixes

PREFIX_WORDS = 8
"""Maximum number of prefixes (``word*``) in one query; each prefix expands to many terms."""

TermKind = Literal["word", "whole", "part", "character", "prefix"]

COMPOUND_WEIGHT = 0.5
"""Weight of a compound such as ``long-term`` relative to its parts, which count in full."""
PART_WEIGHT = 0.3
"""Weight of the parts of a compound such as ``user_id`` if the vault contains the whole compound."""
CHARACTER_WEIGHT = 0.3
"""Weight of a single character relative to the pairs that contain it; for unspaced scripts."""
STOP_WEIGHT = 0.3
"""Weight of stop words such as ``the`` and ``which`` if the query has other words."""
JOINED_CHARS = 4
"""Minimum number of letters that two adjacent words must have together to be looked up as one word."""
K3 = 2.0
"""Saturation constant for repeated words: a word that occurs n times counts n (K3 + 1) / (n + K3)."""


class QueryTerm(NamedTuple):
    """A term to look up. ``token`` is the number of the term's token in the query. It is negative for
    prefixes and for expressions of several tokens.

    ``also`` contains alternative terms, which count as this term, such as the word's stems in other
    languages. ``weight`` applies if the vault contains the token as a whole, ``weight_unknown`` if it does
    not. ``day`` is the date that the word is part of, if any.
    """

    word: str
    term: str
    kind: TermKind
    token: int
    weight: float = 1.0
    weight_unknown: float = 1.0
    also: tuple[str, ...] = ()
    day: str = ""


class QueryAnalyzer:
    """Analyzer of queries. It applies the rules of all languages in an index, beginning with the main
    language."""

    def __init__(self, main: str | None, others: Collection[str | None] = ()) -> None:
        rest = sorted((language for language in others if language != main), key=str)
        self.analyzers = tuple(map(analyzer_of, (main, *rest)))
        self.main = self.analyzers[0]

    def stop_words(self, text: str) -> frozenset[str]:
        """Return the stop words of the text's main language; in a tie, those of the index's main language."""
        return self.main.stop_words if len(self.analyzers) == 1 else _stop_words(self.analyzers, text)


@lru_cache(maxsize=256)  # one search asks five times
def _stop_words(analyzers: tuple[Analyzer, ...], text: str) -> frozenset[str]:
    words = {term.word for _, term in analyzers[0].terms(text)}
    return max((each.stop_words for each in analyzers), key=lambda stops: len(stops & words))


def parse_query_terms(
    text: str, analyzer: QueryAnalyzer, stop_words: frozenset[str] | None = None
) -> list[QueryTerm]:
    """Return the distinct terms of a query's text in order, at most ``KEYWORD_TERMS``."""
    stops = analyzer.stop_words(text) if stop_words is None else stop_words
    text, prefixes = extract_prefixes(text)
    terms = {
        f"{prefix}*": QueryTerm(f"{prefix}*", prefix, "prefix", -1) for prefix in prefixes[:PREFIX_WORDS]
    }
    counts: Counter[str] = Counter()
    # No English suffix has an accent, so the form without accents is derived from the word as written.
    is_english = [each.language for each in analyzer.analyzers] == ["en"]
    has_accents = not (is_english or text.isascii())
    last_pair = ""
    for number, token in enumerate(analyzer.main.tokenize(text)):
        if not any(map(str.isalnum, token)):  # such as a variation selector after an emoji
            continue
        analyzed = [each.token_terms(token) for each in analyzer.analyzers]
        first = analyzed[0].terms
        ends_pair = len(token) < len(last_pair) and last_pair.endswith(token)
        for term in _in_all_languages([_of_token(each, number, has_accents, ends_pair) for each in analyzed]):
            counts[term.term] += 1
            if term.term not in terms or terms[term.term].weight < term.weight:
                terms[term.term] = term
        last_pair = token if first and first[-1].role == "character" else ""
    together = _with_forms(text, list(terms.values()))
    return _weight_by_count(together, counts, stops)[:KEYWORD_TERMS]


def _with_forms(text: str, terms: list[QueryTerm]) -> list[QueryTerm]:
    """Add the normal forms of expressions that span several tokens.

    A day in words, *15 May 2026*, and a number in groups, ``089 / 123 45``, become separate terms. Two
    adjacent words also match their joined form: ``WM 14`` matches ``WM14``, and *set up* matches ``set-up``.
    """
    text, joined = normalize(text), list(terms)
    for at, (first, second) in enumerate(pairwise(terms)):
        word = first.word + second.word
        is_pair = first.kind == second.kind == "word" and second.token == first.token + 1
        is_one = word.isalnum() and not (first.word[-1].isdecimal() and second.word[0].isdecimal())
        if is_pair and is_one and (len(word) >= JOINED_CHARS or not word.isalpha()):
            for place in (at, at + 1):
                joined[place] = joined[place]._replace(also=(*joined[place].also, MARK + word, word))
    words = {term.word for term in terms}
    known = {term for each in terms for term in (each.term, *each.also)}
    for form in _forms_of_query(text):
        written, token = fold(text[form.start : form.end]), -2 - len(joined)
        if _is_open_code(form.terms[0], written):
            parts = _WORD.findall(written)
            within = {*written.split(), *parts, *(f"#{part}" for part in parts)}
            also = spellings(form.terms[0], written)
            joined = [_or_also(term, also) if term.word in within else term for term in joined]
            if written not in words:  # only shows which notes have the whole code
                joined.append(QueryTerm(written, also[0], "whole", token, 0.0, 0.0, also=also[1:]))
        elif written not in words or (DAY_OR_MONTH.fullmatch(form.terms[0]) and form.terms[0] not in known):
            days = tuple(term for term in form.terms if len(term) > len("2026-03")) or form.terms
            if days[0].startswith(MARK):
                days = spellings(days[0], written)
            else:
                joined = [_as_part(term, written) for term in joined]
                days = (*days, *chain.from_iterable(map(spellings_like_versions, days)))
            joined.append(QueryTerm(written, days[0], "whole", token, weight_unknown=0.0, also=days[1:]))
    return joined


def _forms_of_query(text: str) -> Iterator[NormalForm]:
    """Yield the normal forms of a query, including the forms of codes written in small letters."""
    forms = normal_forms(text)
    yield from forms
    capitals = text.upper()
    if capitals != text and len(capitals) == len(text):
        known = {(form.start, form.end) for form in forms}
        codes = (form for form in normal_forms(capitals) if (form.start, form.end) not in known)
        yield from (form for form in codes if _is_open_code(form.terms[0], text[form.start : form.end]))


def _is_open_code(form: str, written: str) -> bool:
    """True for a code that is written with letters, and in several words or with a decimal comma."""
    has_letters = any(map(str.isalpha, written))
    return is_code(form) and has_letters and written[0].isalnum() and not written.isalnum()


def _or_also(term: QueryTerm, code: tuple[str, ...]) -> QueryTerm:
    """Return the term of a word in a code; the term also matches the whole code."""
    return term._replace(also=tuple(dict.fromkeys((*term.also, *code))))


_WORD = re.compile(r"[^\W_]+")


def _as_part(term: QueryTerm, day: str) -> QueryTerm:
    """Return the term, with a lower weight if it is a word in a date, because many notes contain words such
    as *2026* and *may*."""
    if term.kind != "word" or term.word not in fold_accents(day):
        return term
    return term._replace(weight=PART_WEIGHT * term.weight, day=day)


def _other_spellings(word: str) -> tuple[str, ...]:
    """Return the terms for a word's other spellings: its normal form and the days in it.

    A note with ``9.11.24`` is found by the day, but the query ``9.11.24`` means the version.
    """
    form, days = word_form(word), dates_of(word)
    others = (
        *days,
        *chain.from_iterable(map(spellings_like_versions, days)),
        *(spellings(form, word) if form else ()),
    )
    return tuple(other for other in dict.fromkeys(others) if other != word)


def _in_all_languages(terms: Sequence[list[QueryTerm]]) -> list[QueryTerm]:
    """Merge a token's terms in all languages; they are the same words with different stems."""
    if len(terms) == 1:
        return terms[0]
    joined: dict[tuple[str, str], QueryTerm] = {}
    for term in chain(*terms):
        first = joined.setdefault((term.word, term.kind), term)
        if term.term not in (first.term, *first.also):
            joined[term.word, term.kind] = first._replace(also=(*first.also, term.term))
    return list(joined.values())


def _weight_by_count(
    terms: list[QueryTerm], counts: Counter[str], stop_words: frozenset[str]
) -> list[QueryTerm]:
    """Lower the weight of stop words unless the query has no other words, and raise the weight of repeated
    words."""
    only_stops = all(term.word in stop_words for term in terms)
    factors = [
        STOP_WEIGHT
        if term.word in stop_words and not only_stops
        else (K3 + 1) * max(1, counts[term.term]) / (K3 + max(1, counts[term.term]))
        for term in terms
    ]
    return [
        term
        if factor == 1
        else term._replace(weight=term.weight * factor, weight_unknown=term.weight_unknown * factor)
        for term, factor in zip(terms, factors, strict=True)
    ]


def _of_token(analyzed: TokenTerms, token: int, has_accents: bool, ends_pair: bool) -> list[QueryTerm]:
    terms = [term for term in analyzed.terms if term.role != "form"]
    if len(terms) > 1:
        terms = _without_accent_variants(terms, has_accents)
    if any(term.role == "whole" for term in terms):
        return _of_compound(terms, token, identifier=analyzed.is_identifier)
    if len(terms) == 1 and not ends_pair:
        term = terms[0]
        return [QueryTerm(term.word, term.text, "word", token, also=_other_spellings(term.word))]
    return [
        QueryTerm(term.word, term.text, "character", token, CHARACTER_WEIGHT, CHARACTER_WEIGHT)
        if term.role == "character"
        else QueryTerm(term.word, term.text, "word", token)
        for term in terms
    ]


def _of_compound(terms: list[Term], token: int, *, identifier: bool) -> list[QueryTerm]:
    wholes = [term for term in terms if term.role == "whole"]
    parts = [term for term in terms if term.role != "whole"]
    # A note with ``rainbarrel`` counts as containing both words of ``rain-barrel`` and of *rain barrel*.
    closed = () if identifier or len(parts) != 2 else ("".join(part.word for part in parts),)
    parts = [term for term in parts if len(term.word) > 1] or parts
    outer, outer_unknown, part = (1.0, 1.0, PART_WEIGHT) if identifier else (COMPOUND_WEIGHT, 0.0, 1.0)
    return [
        *(
            QueryTerm(
                term.word,
                term.text,
                "whole",
                token,
                outer,
                outer_unknown,
                also=_other_spellings(term.word),
            )
            for term in wholes[:1]
        ),
        *(
            QueryTerm(term.word, term.text, "whole", token, COMPOUND_WEIGHT, COMPOUND_WEIGHT)
            for term in wholes[1:]
        ),
        *(QueryTerm(term.word, term.text, "part", token, part, 1.0, also=closed) for term in parts),
    ]


def _without_accent_variants(terms: list[Term], has_accents: bool) -> list[Term]:
    """Keep one of the two forms of each word: the form as written or, if accents do not matter, the form
    without accents.

    The index stores the form without accents for queries that are typed without accents.
    """
    variants: dict[tuple[int, str], Term] = {}
    for term in terms:
        key = (term.offset, term.word if term.role in ("whole", "character") else "")
        if not has_accents or key not in variants:
            variants[key] = term
    return list(variants.values())
