"""The port to an engine: candidates of a lane with filters pushed down, and whatever keeps them true.

An engine proposes; the order is decided here, from the ledger, with the same formulas for every engine. It
knows notes by their ids in the ledger, and passages by the numbers of their chunks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from vaultseek.base.model import Task
from vaultseek.content.query.filters import Filter
from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.vectors.port import NoteIds, Numbers
from vaultseek.store.ledger import ChunkRow, NoteRow

Kind = Literal["passages", "notes"]
"""The two kinds of vectors: one for each passage, and one for each note."""


@dataclass(frozen=True, slots=True)
class ByWords:
    """A query of the keyword lane: the weight of each term, its idf included."""

    weights: Mapping[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class ByMeaning:
    """A query of the semantic lane: a unit vector, and the space and kind of those it is compared with."""

    space: str
    kind: Kind
    vector: Vectors


Query = ByWords | ByMeaning
NOTES_AND_TEXT = "notes and text"
"""The part of a vault that is no vectors."""


@dataclass(frozen=True, slots=True, eq=False)
class Restriction:
    """The notes that may be candidates: those that match ``condition`` and are among ``notes``, sorted ids.

    None stands for all. Where both are given, ``notes`` are those that match, as the ledger knows.
    """

    condition: Filter | None = None
    notes: NoteIds | None = None


ALL = Restriction()


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """Candidates, best first. numbers: int64[n], of passages, or the notes'. notes: int64[n].

    scores: float64[n]. ``is_whole`` if nothing else matches.
    """

    numbers: Numbers
    notes: NoteIds
    scores: NDArray[np.float64]
    is_whole: bool = True

    @classmethod
    def none(cls) -> Hits:
        """Return no candidates."""
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))

    def __len__(self) -> int:
        """Return the number of candidates."""
        return len(self.numbers)


@dataclass(frozen=True, slots=True, eq=False)
class NoteEntry:
    """A note as an engine keeps it: its row, its passages, the paths that it links to, and its terms."""

    row: NoteRow
    chunks: Sequence[ChunkRow] = ()
    links: Sequence[str] = ()
    tasks: Sequence[Task] = ()
    copy: str = ""
    """All that the ledger has of the note, for a searcher that has no folder; see ``NoteCopy``."""
    revision: int = 0
    terms: Mapping[int, float] = field(default_factory=dict)
    """The score of each term, by its number, without the idf; see ``keyword.candidates.term_number``."""


@dataclass(frozen=True, slots=True, eq=False)
class VectorEntries:
    """Unit vectors of one space and kind, float32[n, dimension], their numbers, and rows of their notes."""

    space: str
    kind: Kind
    numbers: Numbers
    notes: Sequence[NoteRow]
    vectors: Vectors


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Changes: notes that are replaced whole, notes ``removed`` with all that belongs to them, vectors.

    ``forgotten`` are vectors of one space and kind to be deleted. ``position`` is what the notes of the
    engine correspond to afterwards, None if that stays; it is set last, and with it ``size``, the number of
    notes that there are then, for whoever follows the engine.
    """

    notes: Sequence[NoteEntry] = ()
    removed: Sequence[int] = ()
    vectors: Sequence[VectorEntries] = ()
    forgotten: Sequence[tuple[str, Kind, Numbers]] = ()
    position: str | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True)
class BackendStatistics:
    """Numbers of an engine: notes, passages, vectors by space and kind, and the position given last."""

    notes: int = 0
    passages: int = 0
    vectors: Mapping[tuple[str, Kind], int] = field(default_factory=dict)
    position: str | None = None


class Backend(Protocol):
    """An engine that keeps one vault. Every method raises ``Unavailable`` if it does not answer."""

    def candidates(self, query: Query, k: int, within: Restriction = ALL) -> Hits:
        """Return the ``k`` best notes, or the passages of the ``k`` best; the filter precedes the cut."""

    def scores(self, query: Query, numbers: Sequence[int]) -> Mapping[int, float]:
        """Return the scores of those of these notes or passages that match at all, by number."""

    def statistics(self, *, vectors: bool = True) -> BackendStatistics:
        """Return how much there is, and the position of the last batch; without ``vectors`` none are counted.

        An engine may go through all it has to count: nothing that is done for a note or a search asks.
        """

    def apply(self, batch: Batch) -> None:
        """Apply a batch. It may be repeated, and after a crash the position is never ahead of the rest."""

    def drop(self, *parts: str) -> None:
        """Delete parts of this vault: ``NOTES_AND_TEXT``, or the vectors of a space; without any, all."""
