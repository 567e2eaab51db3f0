"""Find neighbours of the best notes by link or mention, and the evidence that each answers the query."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from vaultseek.base.model import Chunk
from vaultseek.base.text import fold
from vaultseek.core.search.filter import those_within
from vaultseek.core.search.formula import MENTION_STRENGTH, link_evidence, link_strength
from vaultseek.core.search.name_mentions import named_in
from vaultseek.semantic.vectors.port import NoteIds
from vaultseek.store.graph import Graph
from vaultseek.store.ledger import Ledger, NoteRow

SEEDS = 8
"""Best notes of the direct lanes whose neighbours are looked at."""
SEED_NEIGHBOURS = 200
"""A hub with more neighbours than this says nothing about any of them."""
MENTION_SEEDS = 2
"""Best notes whose text is searched for names of other notes."""
MENTION_CHARS = 500
"""Characters of each, in lines with a word of the query, that are searched."""
ENDING_CHARS = 2
"""Letters at the end of a word that may differ."""
BEGINNING_CHARS = 4
"""Letters of a word that may not."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Evidence in [0, 1] by path, and the rows of all notes that it names, by id.

    ``via``: the path of the leader whose link with the neighbour says most. ``mentioned``: the neighbours
    that no link joins to it, only their name in its text. ``strengths``: of the link with each leader, by the
    ids of neighbour and leader.
    """

    evidence: Mapping[str, float] = field(default_factory=dict)
    via: Mapping[str, str] = field(default_factory=dict)
    mentioned: Collection[str] = ()
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
    headings. Of several links, the strongest counts, and the one with most words around it. The text of a
    leader without links is searched for names of notes: such a mention is a weak link, by the words of its
    line. A neighbour without evidence is left out.
    """
    ids = {row.path: id for id, row in notes.items()}
    seeds = {ids[path]: score for path, score in leaders.items()}
    strengths = _strengths(seeds, graph, allowed)
    share = ShareOfWords(words)
    mentions = _mentions(share, seeds, graph, allowed, ledger)
    for id, by_seed in mentions.items():
        weak = {seed: MENTION_STRENGTH * link_strength(seeds[seed], 1, 1) for seed in by_seed}
        strengths[id] = {**weak, **strengths.get(id, {})}
    names = ledger.notes.name_words(list(strengths))
    rows = {**notes, **ledger.notes.by_id([id for id in strengths if id not in notes])}
    around = _words_around(share, strengths, rows, ledger)
    for id, by_seed in mentions.items():
        around[id] = {**by_seed, **around.get(id, {})}
    first = next(iter(seeds), None)
    evidence: dict[str, float] = {}
    via: dict[str, str] = {}
    mentioned: set[str] = set()
    linked = dict(notes)
    for id, links in strengths.items():
        own, contexts = share.of(names.get(id, "")), around.get(id, {})
        of_first = first in links and first not in mentions.get(id, ())
        if id not in rows or not (own or contexts or of_first):
            continue
        context = max(contexts.values(), default=0.0)
        path = rows[id].path
        evidence[path] = link_evidence(max(links.values()), context, own, of_first=of_first)
        leader = _strongest(links, contexts, own)
        via[path] = rows[leader].path
        if leader in mentions.get(id, ()):
            mentioned.add(path)
        linked[id] = rows[id]
    return Neighbours(evidence, via, mentioned, linked, strengths)


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


def _mentions(
    share: ShareOfWords,
    seeds: Iterable[int],
    graph: Graph,
    allowed: NoteIds | None,
    ledger: Ledger,
) -> dict[int, dict[int, float]]:
    """Return the share of the query's words around names of notes in the first seeds, by note and seed.

    Only of seeds without links: whoever makes links has linked what matters. Lines without a word of the
    query are left out.
    """
    first = [seed for seed in islice(seeds, MENTION_SEEDS) if not any(graph.degrees(seed))]
    mentions: dict[int, dict[int, float]] = {}
    for seed, chunks in ledger.chunks.by_note(first).items():
        lines, shares = _relevant_lines(share, chunks)
        for named in named_in(lines, ledger, without=seed):
            for id in named.notes:
                by_seed = mentions.setdefault(id, {})
                by_seed[seed] = max(by_seed.get(seed, 0.0), shares[named.line])
    return {id: mentions[id] for id in those_within(mentions, allowed)}


def _relevant_lines(share: ShareOfWords, chunks: Sequence[Chunk]) -> tuple[list[str], list[float]]:
    """Return the lines with a word of the query, up to a number of characters, and the share of each."""
    lines, shares, left = [], [], MENTION_CHARS
    for line in (line for chunk in chunks for line in chunk.text.split("\n")):
        if left > 0 and (part := share.of(fold(line))):
            lines.append(line[:left])
            shares.append(part)
            left -= len(line)
    return lines, shares


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
