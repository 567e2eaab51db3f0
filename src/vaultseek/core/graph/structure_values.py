"""The value that describes the structure of a link graph."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Bridges = Sequence[tuple[int, float]]
"""Notes with their share of the shortest paths, largest first."""


@dataclass(frozen=True, slots=True)
class Structure:
    """The structure of a graph, by ids of notes.

    ``clusters`` come with the largest first, the notes of each by rank; ``words`` name each
    cluster: those of its own, else the title of its first note.
    ``ranks`` of all notes sum to 1. ``components`` are the numbers of notes of each connected part of two or
    more.
    """

    clusters: Sequence[Sequence[int]]
    words: Sequence[Sequence[str]]
    ranks: Mapping[int, float]
    components: Sequence[int]
