"""Evidence beside the lanes: what speaks for a linked neighbour, and which notes hold the query's anchors."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from vaultseek.index.graph import Graph
from vaultseek.index.keyword import KeywordAnswer
from vaultseek.index.ledger import Ledger, NoteRow
from vaultseek.query.compare import fold
from vaultseek.query.fuse import Fused
from vaultseek.query.stopwords import STOP_WORDS

SEEDS = 8
"""Neighbours of this many of the best notes are looked at."""
SEED_NEIGHBOURS = 200
"""A hub with more neighbours than this says nothing about any of them."""


def neighbour_evidence(
    text: str,
    ranked: Sequence[Fused],
    notes: dict[int, NoteRow],
    graph: Graph,
    ledger: Ledger,
    only: Collection[int] | None,
) -> dict[str, float]:
    """Evidence in [0, 1] for notes that a link joins to one of the best, by path; ``notes`` gets their rows.

    A neighbour counts by the score of the note it is joined to, damped by how many links each of the two has,
    and by how many of the query's words its own title, aliases and headings hold.
    """
    ids = {row.path: number for number, row in notes.items()}
    joined: dict[int, float] = {}
    for seed in ranked[:SEEDS]:
        out, into = graph.neighbours(ids[seed.note])
        around = set(out) | set(into)
        if len(around) > SEED_NEIGHBOURS:
            continue
        for number in around:
            if only is None or number in only:
                strength = seed.score * _damping(len(around)) * _damping(graph.degree(number))
                joined[number] = max(strength, joined.get(number, 0.0))
    notes.update(ledger.notes([number for number in joined if number not in notes]))
    words = {fold(word) for word in text.split()} - STOP_WORDS
    return {
        notes[number].path: strength * (0.4 + 0.6 * _overlap(words, notes[number]))
        for number, strength in joined.items()
        if number in notes
    }


def anchor_shares(
    anchors: Sequence[str], keyword: KeywordAnswer | None, notes: Mapping[int, NoteRow]
) -> dict[str, float]:
    """For each note that holds some of the query's anchors, the share of them that it holds."""
    if not anchors or keyword is None:
        return {}
    shares: dict[str, float] = {}
    for hit in keyword.hits:
        if hit.note in notes:
            matched = {fold(word) for word in hit.matched}
            held = sum(anchor in matched or all(w in matched for w in anchor.split()) for anchor in anchors)
            if held:
                shares[notes[hit.note].path] = held / len(anchors)
    return shares


def _damping(degree: int) -> float:
    return 1.0 / math.sqrt(1.0 + math.log1p(degree))


def _overlap(words: Collection[str], row: NoteRow) -> float:
    if not words:
        return 0.0
    own = fold(" ".join((row.title, *row.aliases, *(heading.text for heading in row.headings))))
    return sum(word in own for word in words) / len(words)
