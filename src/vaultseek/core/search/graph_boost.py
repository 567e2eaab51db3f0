"""Find neighbours of the best notes by link, and the evidence that each answers the query."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from vaultseek.core.search.filter import those_within
from vaultseek.core.search.formula import link_evidence, link_strength
from vaultseek.semantic.vectors.port import NoteIds
from vaultseek.store.graph import Graph
from vaultseek.store.ledger import Ledger, NoteRow

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
    """Evidence in [0, 1] by path, and the rows of all notes that it names, by id.

    ``via``: the path of the leader whose link with the neighbour says most. ``strengths``: of the link with
    each leader, by the ids of neighbour and leader.
    """

    evidence: Mapping[str, float] = field(default_factory=dict)
    via: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[int, NoteRow] = field(default_factory=dict)
    strengths: Mapping[int, Mapping[int, float]] = field(default_factory=dict)


def neighbour_evidence(
    words: Mapping[str, float],
    leaders: Mapping[str, float],
    notes: Mapping[int, NoteRow],
    graph: Graph,
    ledger: Ledger,
    allowed: NoteIds | None,
) -> Neighbours:
    """Return the evidence for notes that a link joins to one of the ``leaders`` (scores by path, best first).

    ``words`` are the query's, with the weight of each; ``notes`` has the rows of the leaders. A neighbour
    counts by the score of the note it is joined to, damped by the number of links of both; by the query's
    words around the link, whichever of both it stands in; and by those in its own title, aliases and
    headings. Of several links, the strongest counts, and the one with most words around it. A neighbour
    without evidence is left out.
    """
    ids = {row.path: id for id, row in notes.items()}
    seeds = {ids[path]: score for path, score in leaders.items()}
    strengths = _strengths(seeds, graph, allowed)
    share = ShareOfWords(words)
    names = ledger.notes.name_words(list(strengths))
    rows = {**notes, **ledger.notes.by_id([id for id in strengths if id not in notes])}
    around = _words_around(share, strengths, rows, ledger)
    first = next(iter(seeds), None)
    evidence: dict[str, float] = {}
    via: dict[str, str] = {}
    linked = dict(notes)
    for id, links in strengths.items():
        own, contexts = share.of(names.get(id, "")), around.get(id, {})
        of_first = first in links
        if id not in rows or not (own or contexts or of_first):
            continue
        context = max(contexts.values(), default=0.0)
        path = rows[id].path
        evidence[path] = link_evidence(max(links.values()), context, own, of_first=of_first)
        leader = _strongest(links, contexts, own)
        via[path] = rows[leader].path
        linked[id] = rows[id]
    return Neighbours(evidence, via, linked, strengths)


class ShareOfWords:
    """The share of a query's words, by weight, that a text has; endings do not matter."""

    def __init__(self, words: Mapping[str, float]) -> None:
        self._beginnings = [
            (word[: max(BEGINNING_CHARS, len(word) - ENDING_CHARS)], weight) for word, weight in words.items()
        ]
        self._total = sum(words.values())

    def of(self, text: str) -> float:
        """Return the share, from 0 to 1, for a folded text."""
        if self._total <= 0 or not text:
            return 0.0
        found = 0.0
        for beginning, weight in self._beginnings:  # a generator would take half as long again
            if beginning in text:
                found += weight
        return found / self._total


def _strengths(
    seeds: Mapping[int, float], graph: Graph, allowed: NoteIds | None
) -> dict[int, dict[int, float]]:
    """Return the strengths of each neighbour's links to seeds, by the seed."""
    strengths: dict[int, dict[int, float]] = {}
    for seed, neighbours in graph.neighbourhoods(list(seeds), SEED_NEIGHBOURS).items():
        for id, degree in neighbours.items():
            strength = link_strength(seeds[seed], len(neighbours), degree)
            strengths.setdefault(id, {})[seed] = strength
    return {id: strengths[id] for id in those_within(strengths, allowed)}


def _words_around(
    share: ShareOfWords,
    strengths: Mapping[int, Mapping[int, float]],
    rows: Mapping[int, NoteRow],
    ledger: Ledger,
) -> dict[int, dict[int, float]]:
    """Return the largest share of the query's words around a link, if any, by neighbour and seed."""
    ids = {rows[id].path: id for id in strengths if id in rows}
    seeds = list(dict.fromkeys(seed for links in strengths.values() for seed in links))
    around: dict[int, dict[int, float]] = {}
    for seed, text, id in _contexts(seeds, ids, rows, ledger):
        found = share.of(text) if seed in strengths.get(id, ()) else 0.0
        if found:
            contexts = around.setdefault(id, {})
            contexts[seed] = max(found, contexts.get(seed, 0.0))
    return around


def _strongest(links: Mapping[int, float], contexts: Mapping[int, float], own: float) -> int:
    if len(links) == 1:
        return next(iter(links))
    return max(links, key=lambda seed: links[seed] * (own + contexts.get(seed, 0.0)))


def _contexts(
    seeds: Sequence[int], ids: Mapping[str, int], rows: Mapping[int, NoteRow], ledger: Ledger
) -> Iterator[tuple[int, str, int]]:
    """Yield seed, text and other note of every link between a seed and one of the notes ``ids`` (by path)."""
    for seed, links in ledger.links.contexts(seeds).items():
        for path, text in links:
            if path in ids:
                yield seed, text, ids[path]
    for seed, mentions in ledger.links.contexts_to({seed: rows[seed].path for seed in seeds}).items():
        for id, text in mentions:
            yield seed, text, id
