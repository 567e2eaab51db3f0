"""What a query's text asks the keyword index for: words, identifiers and their parts, beginnings of words."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Literal

from vaultseek.index.keyword.analysis import Analysis, Entry, Term, prefixes
from vaultseek.limits import KEYWORD_TERMS

PREFIX_WORDS = 8
"""A query may ask for so many beginnings of words, each of which stands for so many terms at most."""

Kind = Literal["word", "whole", "part", "character", "prefix"]

COMPOUND_WEIGHT = 0.5
"""``long-term`` as such, beside its words, which count in full."""
PART_WEIGHT = 0.3
"""``user`` and ``id`` for a query of ``user_id`` in a vault that has ``user_id`` itself."""
CHARACTER_WEIGHT = 0.3
"""A single character beside the pairs that it is part of, in scripts without spaces."""
STOP_WEIGHT = 0.3
"""Words like ``the`` and ``which``, if there are others."""
K3 = 2.0
"""A word that the query has n times counts n (K3 + 1) / (n + K3): the same saturation as in notes."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One thing to look for. ``surface`` numbers the piece of the query's text that it came from.

    ``weight`` holds if the vault knows the surface as a whole, ``weight_unknown`` if it does not.
    """

    word: str
    term: str
    kind: Kind
    surface: int
    weight: float = 1.0
    weight_unknown: float = 1.0


def wanted_terms(text: str, analysis: Analysis) -> list[Wanted]:
    """What the text asks for, each term once, in order; at most ``KEYWORD_TERMS``."""
    text, beginnings = prefixes(text)
    wanted = {
        f"{beginning}*": Wanted(f"{beginning}*", beginning, "prefix", -1)
        for beginning in beginnings[:PREFIX_WORDS]
    }
    counts: Counter[str] = Counter()
    last_pair = ""
    for number, surface in enumerate(analysis.surfaces(text)):
        entry = analysis.entry(surface)
        for item in _of_entry(entry, number, tail=surface == last_pair[1:]):
            counts[item.term] += 1
            if item.term not in wanted or wanted[item.term].weight < item.weight:
                wanted[item.term] = item
        last_pair = surface if entry.terms and entry.terms[-1].role == "character" else ""
    return _weighed(list(wanted.values()), counts, analysis.stop_words)[:KEYWORD_TERMS]


def _weighed(wanted: list[Wanted], counts: Counter[str], stop_words: frozenset[str]) -> list[Wanted]:
    """Stop words count less unless they are all there is, other words more if they are repeated."""
    only_stops = all(item.word in stop_words for item in wanted)
    factors = [
        STOP_WEIGHT
        if item.word in stop_words and not only_stops
        else (K3 + 1) * max(1, counts[item.term]) / (K3 + max(1, counts[item.term]))
        for item in wanted
    ]
    return [
        replace(item, weight=item.weight * factor, weight_unknown=item.weight_unknown * factor)
        for item, factor in zip(wanted, factors, strict=True)
    ]


def _of_entry(entry: Entry, surface: int, *, tail: bool) -> list[Wanted]:
    terms = _first_at_each_place(entry)
    if any(term.role == "whole" for term in terms):
        return _of_compound(entry, terms, surface)
    if len(terms) == 1 and not tail:
        return [Wanted(terms[0].word, terms[0].text, "word", surface)]
    return [_beside(term, surface) for term in terms]


def _beside(term: Term, surface: int) -> Wanted:
    if term.role == "character":
        return Wanted(term.word, term.text, "character", surface, CHARACTER_WEIGHT, CHARACTER_WEIGHT)
    return Wanted(term.word, term.text, "word", surface)


def _of_compound(entry: Entry, terms: list[Term], surface: int) -> list[Wanted]:
    wholes = [term for term in terms if term.role == "whole"]
    parts = [term for term in terms if term.role != "whole"]
    parts = [term for term in parts if len(term.word) > 1] or parts
    outer, outer_unknown, part = (1.0, 1.0, PART_WEIGHT) if entry.identifier else (COMPOUND_WEIGHT, 0.0, 1.0)
    return [
        *(Wanted(term.word, term.text, "whole", surface, outer, outer_unknown) for term in wholes[:1]),
        *(
            Wanted(term.word, term.text, "whole", surface, COMPOUND_WEIGHT, COMPOUND_WEIGHT)
            for term in wholes[1:]
        ),
        *(Wanted(term.word, term.text, "part", surface, part, 1.0) for term in parts),
    ]


def _first_at_each_place(entry: Entry) -> list[Term]:
    """Without the second form of a word, which is there for who types no accents."""
    seen: dict[tuple[int, str], Term] = {}
    for term in entry.terms:
        key = (term.offset, term.text if term.role in ("whole", "character") else "")
        seen.setdefault(key, term)
    return list(seen.values())
