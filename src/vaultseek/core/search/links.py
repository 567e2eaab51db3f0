"""Rank linked notes: find the neighbours of the best notes, weigh the evidence for each, and limit their
scores.

A neighbour that a direct lane also found gains at most ``GRAPH_GAIN`` of the best score by its links. Other
neighbours stay below ``GRAPH_CEILING`` of the best score and below the first note of every direct lane,
whatever factors raise their scores. So no neighbour displaces a strong direct hit.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from vaultseek.base.text import fold
from vaultseek.core.search.formula import (
    Floats,
    joined_score,
    link_bound,
    link_contributions,
    link_evidence,
    link_strength,
)
from vaultseek.core.search.lanes import Evidence, Part, Table
from vaultseek.core.search.signals import Signal
from vaultseek.semantic.vectors.port import NoteIds
from vaultseek.store.graph import Graph
from vaultseek.store.keyword.answer import those_within
from vaultseek.store.keyword.segment import Bools
from vaultseek.store.ledger import Ledger, NoteRow

SEEDS = 8
"""Number of the direct lanes' best notes whose linked neighbours are considered."""
SEED_NEIGHBOURS = 200
"""Number of neighbours above which a note is a hub. A hub's links do not count as evidence."""
ENDING_CHARS = 2
"""Maximum number of letters by which the endings of two forms of a word may differ."""
BEGINNING_CHARS = 4
"""Minimum number of letters that two forms of a word share at the beginning."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Evidence from links for the neighbours of the best notes, as dicts with the neighbour's id as key.

    ``evidence`` is from 0 to 1. ``via`` is the id of the best note with the strongest link to the neighbour.
    ``strengths`` has, for each neighbour, a dict from the id of a best note to the strength of the link
    between the two.
    """

    evidence: Mapping[int, float] = field(default_factory=dict)
    via: Mapping[int, int] = field(default_factory=dict)
    strengths: Mapping[int, Mapping[int, float]] = field(default_factory=dict)


def with_neighbours(query: Evidence, graph: Graph, leaders: Mapping[int, float], notes: Table) -> Table:
    """Return a table that also has the linked neighbours of ``leaders``, and add the contribution of links to
    all candidates.

    ``leaders`` maps the ids of the best notes to their scores, best first.
    """
    found = neighbour_evidence(query.word_weights, leaders, graph, query.vault.ledger, query.allowed)
    linked = found.evidence.keys() - notes.ids.tolist()
    if linked:
        known, notes = notes, query.table(notes.ids, np.fromiter(linked, np.int64, len(linked)))
        notes.take_facts(known)
    add_links(notes, found, query.settings.graph_weight)
    return notes


def add_links(notes: Table, found: Neighbours, weight: float) -> None:
    """Add the contribution of links to the scores of all candidates."""
    evidence = np.array([found.evidence.get(id, -1.0) for id in notes.ids.tolist()])
    known = evidence >= 0
    keys = [(-score, row.path) for score, row in zip(evidence.tolist(), notes.notes, strict=True)]
    ranks = np.zeros(len(notes), np.int64)
    ranks[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(1, len(keys) + 1)
    ranks, scores = np.where(known, ranks, 0), np.where(known, evidence, 0.0)
    is_any = any(part.known.any() for part in notes.parts.values())
    best = float(notes.gain.max()) if is_any else 1.0
    gains = link_contributions(min(weight, 1.0), scores, best, notes.gain > 0)
    is_named = notes.fact("begun") > 0
    by_link = known & (notes.gain <= 0) & ~is_named & (notes.fact("exact") == 0)
    may_join = (notes.gain > 0) & ~is_named & (notes.fact("named") == 0)
    notes.facts |= {"by link": by_link.astype(np.float64), "may join": may_join.astype(np.float64)}
    notes.parts["graph"] = Part(known, ranks, ranks.astype(np.float64), scores, weight, gains, gains)
    notes.gain = notes.score = notes.gain + gains
    notes.via, notes.links = found.via, found.strengths


class Ceiling(Signal):
    """Limit that keeps notes found only by links below every lane's first note, without changing their
    order.
    """

    figure = "bound"

    def values(self, query: Evidence, notes: Table) -> Floats:
        by_link = notes.fact("by link") > 0
        highest = float(notes.score[by_link].max(initial=0.0))
        parts = [part for name, part in notes.parts.items() if name != "graph"]
        found = np.logical_or.reduce([part.known & ~by_link for part in parts])
        if highest <= 0 or not np.any(found):
            return np.zeros(len(notes))
        leads = np.logical_or.reduce([(part.rank == 1) & (part.contribution > 0) for part in parts])
        bound = link_bound(float(notes.score[found].max(initial=0.0)), notes.score[leads], highest)
        return np.where(by_link, bound - 1.0, 0.0)


class Joined(Signal):
    """Gain of a note that is linked to a better note, if the two notes together have many of the query's
    words.
    """

    figure = "joined"

    def values(self, query: Evidence, notes: Table) -> Floats:
        words, total = query.word_weights, sum(query.word_weights.values())
        gains, may_join = np.zeros(len(notes)), notes.fact("may join")
        rows = {id: row for row, id in enumerate(notes.ids.tolist()) if may_join[row]}
        pairs = [
            (rows[id], rows[seed], strength)
            for id, by_seed in notes.links.items()
            for seed, strength in by_seed.items()
            if id in rows and seed in rows
        ]
        if query.keyword is None or total <= 0 or not pairs:
            return gains
        one, other, strengths = (np.array(column) for column in zip(*pairs, strict=True))
        shares = np.zeros(len(pairs))
        for word, has in _folded(notes.words).items():
            shares += words.get(word, 0.0) * (has[one] | has[other])
        own = notes.score[one]
        raised = joined_score(own, strengths * shares / total, notes.score[other])
        held = (own <= 0) | (notes.fact("other words")[one] > 0)
        np.maximum.at(gains, one, np.where(held, 0.0, raised - own) / np.where(held, 1.0, own))
        return gains


def _folded(words: Mapping[str, Bools]) -> dict[str, Bools]:
    folded: dict[str, Bools] = {}
    for word, has in words.items():
        key = fold(word)
        folded[key] = folded[key] | has if key in folded else has
    return folded


def neighbour_evidence(
    words: Mapping[str, float],
    leaders: Mapping[int, float],
    graph: Graph,
    ledger: Ledger,
    allowed: NoteIds | None,
) -> Neighbours:
    """Return the evidence for every note linked with one of the best notes. ``leaders`` maps the best notes'
    ids to their scores, best first.

    ``words`` maps the query's words to their weights. The evidence for a neighbour has three parts: the score
    of the best note linked with it, reduced if either note has many links; the query's words around the link,
    in either note; and the query's words in the neighbour's own title, aliases and headings. If a neighbour
    has several links, only the strongest link and the context with the most query words count. A neighbour
    without evidence is left out.
    """
    strengths: dict[int, dict[int, float]] = {}
    for seed, neighbours in graph.neighbourhoods(list(leaders), SEED_NEIGHBOURS).items():
        for id, degree in neighbours.items():
            strength = link_strength(leaders[seed], len(neighbours), degree)
            strengths.setdefault(id, {})[seed] = strength
    strengths = {id: strengths[id] for id in those_within(strengths, allowed)}
    beginnings = [
        (word[: max(BEGINNING_CHARS, len(word) - ENDING_CHARS)], weight) for word, weight in words.items()
    ]
    total = sum(words.values())

    def share(text: str) -> float:
        """Return the share of the query's words, by weight, that ``text`` contains, ignoring word endings."""
        found = 0.0
        for beginning, weight in beginnings if total > 0 else ():  # a generator would take half as long again
            if beginning in text:
                found += weight
        return found and found / total

    names = ledger.notes.name_words(list(strengths))
    rows = ledger.notes.by_id(list({*strengths, *leaders}))
    around: dict[int, dict[int, float]] = {}
    for seed, text, id in _contexts(strengths, rows, ledger):
        if seed in strengths.get(id, ()) and (found := share(text)):
            contexts = around.setdefault(id, {})
            contexts[seed] = max(found, contexts.get(seed, 0.0))
    first = next(iter(leaders), None)
    evidence: dict[int, float] = {}
    via: dict[int, int] = {}
    for id, links in strengths.items():
        own, contexts = share(names.get(id, "")), around.get(id, {})
        of_first = first in links
        if id in rows and (own or contexts or of_first):
            context = max(contexts.values(), default=0.0)
            evidence[id] = link_evidence(max(links.values()), context, own, of_first=of_first)
            via[id] = max(links, key=lambda seed: links[seed] * (own + contexts.get(seed, 0.0)))
    return Neighbours(evidence, via, strengths)


def _contexts(
    strengths: Mapping[int, Mapping[int, float]], rows: Mapping[int, NoteRow], ledger: Ledger
) -> Iterator[tuple[int, str, int]]:
    """Yield, for each link between a best note and a neighbour, the best note's id, the text around the link,
    and the neighbour's id.
    """
    ids = {rows[id].path: id for id in strengths if id in rows}
    seeds = list(dict.fromkeys(seed for links in strengths.values() for seed in links))
    for seed, links in ledger.links.contexts(seeds).items():
        for path, text in links:
            if path in ids:
                yield seed, text, ids[path]
    for seed, mentions in ledger.links.contexts_to({seed: rows[seed].path for seed in seeds}).items():
        for id, text in mentions:
            yield seed, text, id
