"""Compute the structure of a link graph: clusters, ranks, bridges and components.

A separate process does this, so that searches need not wait. Only ``VaultStructure`` starts this process, as
``python -P -m vaultseek.core.graph.structure``. Each process handles one graph.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from vaultseek.base.child_process import apply_child_limits, read, reserve_pipes, write
from vaultseek.content.languages.stopwords import WITH_STOP_WORDS, stop_words
from vaultseek.core.graph.louvain import connected, louvain

Edges = NDArray[np.int64]
"""Pairs of linked notes, given by number, one pair per row."""
DAMPING = 0.85
"""Probability, in PageRank, that a reader follows a link rather than jumping to a random note (Page, Brin,
Motwani and Winograd 1999)."""
RANK_CHANGE = 1e-6
RANK_TURNS = 100
"""Maximum number of rounds of PageRank. PageRank stops earlier if all rank changes add up to less than
``RANK_CHANGE``."""
SEED = 1
"""Fixed random seed, so that the same graph always has the same structure."""
CLUSTER_NOTES = 3
"""Minimum number of notes in a cluster."""
CLUSTER_WORDS = 3
"""Number of words in the name of a cluster."""
BRIDGE_STEPS = 2_500_000
"""Maximum number of notes and links visited in the search for bridges. This limit determines how many start
notes are sampled."""
_WORD = re.compile(r"[^\W\d_]{3,}")
_NICENESS = 5
Bridges = Sequence[tuple[int, float]]
"""Pairs of a note and the share of shortest paths that pass through it, largest share first."""


@dataclass(frozen=True, slots=True)
class Structure:
    """Structure of a link graph, with notes given by id.

    ``clusters`` are sorted by size, and the notes in each cluster by rank. ``words`` has a name for each
    cluster: its distinctive words or, if it has none, the title of its first note. The ``ranks`` of all notes
    add up to 1. ``components`` are the sizes of the connected parts with at least two notes.
    """

    clusters: Sequence[Sequence[int]]
    words: Sequence[Sequence[str]]
    ranks: Mapping[int, float]
    components: Sequence[int]


def structure_of(names: Sequence[str], edges: Edges) -> Structure:
    """Return the structure of a graph whose notes are numbered from 0.

    ``names`` has the title and headings of each note.
    """
    ranks = page_ranks(len(names), edges)
    numbers = louvain(len(names), edges, SEED).tolist()
    members: dict[int, list[int]] = {}
    for note in sorted(range(len(names)), key=lambda note: (-ranks[note], note)):
        members.setdefault(numbers[note], []).append(note)
    clusters = sorted(
        (cluster for cluster in members.values() if len(cluster) >= CLUSTER_NOTES),
        key=lambda cluster: (-len(cluster), cluster[0]),
    )
    components = np.bincount(connected(len(names), edges[:, 0], edges[:, 1]))
    return Structure(
        clusters,
        cluster_words(clusters, names),
        dict(enumerate(ranks)),
        sorted(components[components > 1].tolist(), reverse=True),
    )


def page_ranks(notes: int, edges: Edges) -> list[float]:
    """Return the PageRank of each note. The rank of notes without links is shared among all notes."""
    if not notes:
        return []
    sources, targets = edges[:, 0], edges[:, 1]
    degrees = np.bincount(sources, minlength=notes)
    ranks = np.full(notes, 1 / notes)
    for _ in range(RANK_TURNS):
        given = np.divide(ranks, degrees, out=np.zeros(notes), where=degrees > 0)
        spread = np.bincount(targets, given[sources], minlength=notes)
        followed = spread + ranks[degrees == 0].sum() / notes
        previous, ranks = ranks, DAMPING * followed + (1 - DAMPING) / notes
        if np.abs(ranks - previous).sum() < RANK_CHANGE:
            break
    return [float(rank) for rank in ranks]


def bridges_of(notes: int, edges: Edges) -> list[tuple[int, float]]:
    """Return (note, share) pairs, highest share first, for the notes on shortest paths from a sample of start
    notes. ``share`` is the share of these paths that pass through the note.

    This is betweenness: the algorithm is from Brandes (2001), the sampling from Brandes and Pich (2007).
    """
    import networkx

    links = networkx.Graph(edges.tolist())
    links.add_nodes_from(range(notes))
    steps = len(links) + links.number_of_edges()
    starts = min(len(links), math.ceil(BRIDGE_STEPS / max(1, steps)))
    shares = networkx.betweenness_centrality(links, k=starts, seed=SEED) if starts else {}
    passed = [(note, share) for note, share in shares.items() if share > 0]
    return sorted(passed, key=lambda item: (-item[1], item[0]))


def cluster_words(clusters: Sequence[Sequence[int]], names: Sequence[str]) -> list[list[str]]:
    """Return the most distinctive words of each cluster.

    Words are weighted by their part of the Kullback-Leibler divergence between the cluster's notes and all
    notes.
    """
    stops = frozenset[str]().union(*map(stop_words, WITH_STOP_WORDS))
    words = [set(_WORD.findall(text.casefold())) - stops for text in names]
    everywhere = Counter(word for each in words for word in each)
    members = ([words[note] for note in cluster] for cluster in clusters)
    return [_words_of(each, everywhere, len(words)) for each in members]


def _words_of(notes: Sequence[Iterable[str]], everywhere: Mapping[str, int], total: int) -> list[str]:
    counts = Counter(word for each in notes for word in each)

    def divergence(word: str) -> float:
        share = counts[word] / len(notes)
        return share * math.log(share * total / everywhere[word])

    common = [word for word, count in counts.items() if count > 1]
    return sorted(common, key=lambda word: (-divergence(word), word))[:CLUSTER_WORDS]


def main() -> None:
    """Read a graph from standard input, compute its structure or its bridges, and write the answer."""
    incoming, outgoing = reserve_pipes()
    apply_child_limits(_NICENESS)
    frame = read(incoming)
    if frame is None:
        return
    edges = np.frombuffer(frame[1], np.int64).reshape(-1, 2)
    if "names" in frame[0]:
        structure = asdict(structure_of(frame[0]["names"], edges))
        structure["ranks"] = list(structure["ranks"].items())  # JSON keys are strings
        write(outgoing, structure)
    else:
        write(outgoing, {"bridges": bridges_of(frame[0]["notes"], edges)})


if __name__ == "__main__":
    main()
