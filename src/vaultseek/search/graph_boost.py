"""Evidence beside the lanes: what speaks for a linked neighbour, and which notes hold the query's anchors."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from vaultseek.index.graph import Graph
from vaultseek.index.keyword.index import KeywordAnswer
from vaultseek.index.ledger import Ledger, NoteRow
from vaultseek.search.fusion import Fused
from vaultseek.text import fold

SEEDS = 8
"""Neighbours of this many of the best notes are looked at."""
SEED_NEIGHBOURS = 200
"""A hub with more neighbours than this says nothing about any of them."""
CONTEXT_SHARE, OWN_SHARE = 0.6, 0.4
"""What counts for a neighbour: the words around the link, and its own title and headings."""
ENDING = 2
"""Letters at the end of a word that may differ."""


def neighbour_evidence(
    words: Mapping[str, float],
    ranked: Sequence[Fused],
    notes: dict[int, NoteRow],
    graph: Graph,
    ledger: Ledger,
    only: Collection[int] | None,
) -> dict[str, float]:
    """Evidence in [0, 1] for notes that a link joins to one of the best, by path; ``notes`` gets their rows.

    ``words`` are the query's, with what each counts. A neighbour counts by the score of the note it is joined
    to, damped by how many links each of the two has; by the query's words around the link that leads to it;
    and by those in its own title, aliases and headings.
    """
    ids = {row.path: number for number, row in notes.items()}
    seeds = {ids[seed.note]: seed.score for seed in ranked[:SEEDS]}
    joined: dict[int, float] = {}
    for seed, score in seeds.items():
        out, into = graph.neighbours(seed)
        around = set(out) | set(into)
        if len(around) > SEED_NEIGHBOURS:
            continue
        for number in around:
            if only is None or number in only:
                strength = score * _damping(len(around)) * _damping(graph.degree(number))
                joined[number] = max(strength, joined.get(number, 0.0))
    notes.update(ledger.notes.by_id([number for number in joined if number not in notes]))
    beside = _beside_links(words, list(seeds), ledger)
    found: dict[str, float] = {}
    for number, strength in joined.items():
        if number in notes:
            own = _share(words, _own_words(notes[number]))
            context = beside.get(notes[number].path, 0.0)
            found[notes[number].path] = strength * (CONTEXT_SHARE * context + OWN_SHARE * own)
    return found


def _beside_links(words: Mapping[str, float], seeds: Sequence[int], ledger: Ledger) -> dict[str, float]:
    """For each note that one of the seeds links to, the share of the query's words around the best link."""
    lines: dict[int, dict[int, str]] = {}
    for number, chunks in ledger.chunks.by_note(seeds).items():
        lines[number] = {
            line: text
            for chunk in chunks
            for line, text in enumerate(chunk.text.split("\n"), start=chunk.start_line)
        }
    found: dict[str, float] = {}
    for row in ledger.links.from_notes(seeds):
        if row.resolved is not None:
            of_note = lines.get(row.note, {})
            near = (of_note.get(row.link.line + step, "") for step in (-1, 0, 1))
            share = _share(words, fold(" ".join(near)))
            found[row.resolved] = max(share, found.get(row.resolved, 0.0))
    return found


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


def _own_words(row: NoteRow) -> str:
    return fold(" ".join((row.title, *row.aliases, *(heading.text for heading in row.headings))))


def _share(words: Mapping[str, float], text: str) -> float:
    """The share of the words, by what they count, that the folded text has; endings do not matter."""
    total = sum(words.values())
    if total <= 0 or not text:
        return 0.0
    return sum(weight for word, weight in words.items() if _beginning(word) in text) / total


def _beginning(word: str) -> str:
    return word[: max(4, len(word) - ENDING)]
