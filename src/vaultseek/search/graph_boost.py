"""Find linked neighbours of the best notes, and the evidence for each that it answers the query."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from vaultseek.index.graph import Graph
from vaultseek.index.ledger import Ledger, NoteRow
from vaultseek.index.vectors.port import NoteIds
from vaultseek.search.filter import those_within
from vaultseek.search.formula import link_evidence, link_strength

SEEDS = 8
"""Best notes of the direct lanes whose neighbours are looked at."""
SEED_NEIGHBOURS = 200
"""A hub with more neighbours than this says nothing about any of them."""
ENDING_CHARS = 2
"""Letters at the end of a word that may differ."""
BEGINNING_CHARS = 4
"""Letters of a word that may not."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Evidence in [0, 1] by path, and the rows of all notes that it names, by id."""

    evidence: Mapping[str, float] = field(default_factory=dict)
    notes: Mapping[int, NoteRow] = field(default_factory=dict)


def neighbour_evidence(
    words: Mapping[str, float],
    leaders: Mapping[str, float],
    notes: Mapping[int, NoteRow],
    graph: Graph,
    ledger: Ledger,
    allowed: NoteIds | None,
) -> Neighbours:
    """Return the evidence for notes that a link joins to one of the ``leaders`` (scores by path).

    ``words`` are the query's, with the weight of each; ``notes`` has the rows of the leaders. A neighbour
    counts by the score of the note it is joined to, damped by the number of links of both; by the query's
    words around the link that leads to it; and by those in its own title, aliases and headings.
    """
    ids = {row.path: id for id, row in notes.items()}
    seeds = {ids[path]: score for path, score in leaders.items()}
    strengths = _strengths(seeds, graph, allowed)
    names = ledger.notes.name_words(list(strengths))
    rows = {**notes, **ledger.notes.by_id([id for id in strengths if id not in notes])}
    share = ShareOfWords(words)
    contexts = _link_contexts(share, {rows[id].path for id in strengths if id in rows}, list(seeds), ledger)
    evidence = {
        rows[id].path: link_evidence(strength, contexts.get(rows[id].path, 0.0), share.of(names.get(id, "")))
        for id, strength in strengths.items()
        if id in rows
    }
    return Neighbours(evidence, rows)


class ShareOfWords:
    """The share of a query's words, by weight, that a text has; endings do not matter."""

    def __init__(self, words: Mapping[str, float]) -> None:
        self._beginnings = [(_beginning(word), weight) for word, weight in words.items()]
        self._total = sum(words.values())

    def of(self, text: str) -> float:
        """Return the share, from 0 to 1, for a folded text."""
        if self._total <= 0 or not text:
            return 0.0
        return sum(weight for beginning, weight in self._beginnings if beginning in text) / self._total


def _strengths(seeds: Mapping[int, float], graph: Graph, allowed: NoteIds | None) -> dict[int, float]:
    """Return the strongest link of each neighbour to a seed."""
    strengths: dict[int, float] = {}
    for seed, neighbours in graph.neighbourhoods(list(seeds), SEED_NEIGHBOURS).items():
        for id, degree in neighbours.items():
            strength = link_strength(seeds[seed], len(neighbours), degree)
            strengths[id] = max(strength, strengths.get(id, 0.0))
    return {id: strengths[id] for id in those_within(strengths, allowed)}


def _link_contexts(
    share: ShareOfWords, targets: Collection[str], seeds: Sequence[int], ledger: Ledger
) -> dict[str, float]:
    """Return the largest share of the query's words around a link from a seed, by the path it leads to."""
    contexts: dict[str, float] = {}
    for links in ledger.links.contexts(seeds).values():
        for path, text in links:
            if path in targets:
                contexts[path] = max(share.of(text), contexts.get(path, 0.0))
    return contexts


def _beginning(word: str) -> str:
    return word[: max(BEGINNING_CHARS, len(word) - ENDING_CHARS)]
