"""Find linked neighbours of the best notes, and the evidence for each that it answers the query."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from vaultseek.index.graph import Graph
from vaultseek.index.ledger import Ledger, NoteRow
from vaultseek.search.formula import link_evidence, link_strength
from vaultseek.search.fusion import Candidate
from vaultseek.text import fold

SEEDS = 8
"""Best notes whose neighbours are looked at."""
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
    ranked: Sequence[Candidate],
    notes: Mapping[int, NoteRow],
    graph: Graph,
    ledger: Ledger,
    allowed: Collection[int] | None,
) -> Neighbours:
    """Return the evidence for notes that a link joins to one of the best of ``ranked``.

    ``words`` are the query's, with the weight of each; ``notes`` the rows of those ranked. A neighbour counts
    by the score of the note it is joined to, damped by the number of links of both; by the query's words
    around the link that leads to it; and by those in its own title, aliases and headings.
    """
    ids = {row.path: id for id, row in notes.items()}
    seeds = {ids[candidate.note]: candidate.score for candidate in ranked[:SEEDS]}
    strengths = _strengths(seeds, graph, allowed)
    rows = {**notes, **ledger.notes.by_id([id for id in strengths if id not in notes])}
    contexts = _link_contexts(words, list(seeds), ledger)
    evidence = {
        rows[id].path: link_evidence(
            strength, contexts.get(rows[id].path, 0.0), _share(words, _own_words(rows[id]))
        )
        for id, strength in strengths.items()
        if id in rows
    }
    return Neighbours(evidence, rows)


def _strengths(seeds: Mapping[int, float], graph: Graph, allowed: Collection[int] | None) -> dict[int, float]:
    """Return the strongest link of each neighbour to a seed."""
    strengths: dict[int, float] = {}
    for seed, score in seeds.items():
        outgoing, incoming = graph.neighbours(seed)
        neighbours = set(outgoing) | set(incoming)
        if len(neighbours) > SEED_NEIGHBOURS:
            continue
        for id in neighbours:
            if allowed is None or id in allowed:
                strength = link_strength(score, len(neighbours), graph.degree(id))
                strengths[id] = max(strength, strengths.get(id, 0.0))
    return strengths


def _link_contexts(words: Mapping[str, float], seeds: Sequence[int], ledger: Ledger) -> dict[str, float]:
    """Return the largest share of the query's words around a link from a seed, by the path it leads to."""
    lines: dict[int, dict[int, str]] = {}
    for id, chunks in ledger.chunks.by_note(seeds).items():
        lines[id] = {
            line: text
            for chunk in chunks
            for line, text in enumerate(chunk.text.split("\n"), start=chunk.start_line)
        }
    contexts: dict[str, float] = {}
    for row in ledger.links.from_notes(seeds):
        if row.resolved is not None:
            of_note = lines.get(row.note, {})
            around = (of_note.get(row.link.line + step, "") for step in (-1, 0, 1))
            share = _share(words, fold(" ".join(around)))
            contexts[row.resolved] = max(share, contexts.get(row.resolved, 0.0))
    return contexts


def _own_words(row: NoteRow) -> str:
    return fold(" ".join((row.title, *row.aliases, *(heading.text for heading in row.headings))))


def _share(words: Mapping[str, float], text: str) -> float:
    """Return the share of the words, by weight, that the folded text has; endings do not matter."""
    total = sum(words.values())
    if total <= 0 or not text:
        return 0.0
    return sum(weight for word, weight in words.items() if _beginning(word) in text) / total


def _beginning(word: str) -> str:
    return word[: max(BEGINNING_CHARS, len(word) - ENDING_CHARS)]
