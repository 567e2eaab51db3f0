"""The port to an engine: the interfaces of an engine for a vault, and of a database for an engine.

An engine proposes candidates. They are ranked here, from the ledger, with the same formulas for every engine.
It has notes under their ids in the ledger, and passages under the numbers of their chunks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from vaultseek.base.model import Reason
from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.vectors.port import NoteIds, Numbers

if TYPE_CHECKING:
    from vaultseek.engines.heartbeat import Heartbeat
    from vaultseek.errors import Unavailable
    from vaultseek.semantic.worker import SemanticWorker
    from vaultseek.semantic.worker.state import VectorKeeper as VectorStore
    from vaultseek.settings.engine import EngineOptions
    from vaultseek.store.keyword.analysis import LanguageRules
    from vaultseek.store.keyword.answer import KeywordAnswer
    from vaultseek.store.keyword.merge import PreparedSegment
    from vaultseek.store.keyword.spans import SpanFinder
    from vaultseek.store.ledger import Ledger, NoteCopy

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
ENGINE_FOLDER = "engine"
"""Folder of what is kept beside an engine in that of the index."""
NOTES_AND_TEXT = "notes and text"
"""The part of a vault that is no vectors."""


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

    def of_first_notes(self, k: int) -> Hits:
        """Return the candidates of the first ``k`` notes."""
        _, firsts = np.unique(self.notes, return_index=True)
        if len(firsts) <= k:
            return self
        inside = np.isin(self.notes, self.notes[np.sort(firsts)[:k]])
        return Hits(self.numbers[inside], self.notes[inside], self.scores[inside], False)

    def __len__(self) -> int:
        """Return the number of candidates."""
        return len(self.numbers)


@dataclass(frozen=True, slots=True, eq=False)
class NoteEntry:
    """A note as an engine keeps it: its id, and its copy at a revision."""

    note: int
    copy: NoteCopy
    """All that the ledger has of the note, for a searcher that has no folder."""
    revision: int


@dataclass(frozen=True, slots=True, eq=False)
class VectorEntries:
    """Unit vectors of one space and kind, float32[n, dimension], their numbers and their notes' ids."""

    space: str
    kind: Kind
    numbers: Numbers
    notes: NoteIds
    vectors: Vectors


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Changes: notes that are replaced whole, notes ``removed`` with all that belongs to them, vectors.

    ``forgotten`` are vectors of one space and kind to be deleted. ``position`` is what the notes of the
    engine correspond to afterwards, None if that stays; it is set last.
    """

    notes: Sequence[NoteEntry] = ()
    removed: Sequence[int] = ()
    vectors: Sequence[VectorEntries] = ()
    forgotten: Sequence[tuple[str, Kind, Numbers]] = ()
    position: str | None = None


@dataclass(frozen=True, slots=True)
class BackendStatistics:
    """Numbers of an engine: notes, passages, vectors by space and kind, and the position given last."""

    notes: int
    passages: int
    vectors: Mapping[tuple[str, Kind], int]
    position: str | None


class Backend(Protocol):
    """An engine that keeps one vault. Every method raises ``Unavailable`` if it does not answer."""

    def candidates(self, query: Query, k: int, notes: NoteIds | None = None) -> Hits:
        """Return the ``k`` best notes, or the passages of the ``k`` best.

        With ``notes``, sorted ids, only among these.
        """

    def statistics(self, *, vectors: bool = True) -> BackendStatistics:
        """Return how much there is, and the position of the last batch; without ``vectors`` none are counted.

        Counting may scan everything, so no search and no save of a note does it.
        """

    def apply(self, batch: Batch) -> None:
        """Apply a batch. It may be repeated, and after a crash the position is never ahead of the rest."""

    def drop(self, *parts: str) -> None:
        """Delete parts of this vault: ``NOTES_AND_TEXT``, or the vectors of a space; without any, all."""


class StateRows(Protocol):
    """Rows with the state of a shard, by name. Every method raises ``Unavailable``."""

    def of(self, names: Sequence[str]) -> dict[str, dict[str, Any]]: ...

    def names(self) -> list[str]: ...

    def forget(self) -> None: ...


class ShardRows(Backend, Protocol):
    """An engine for writers and lists of shards. Every method raises ``Unavailable``."""

    options: EngineOptions

    @property
    def states(self) -> StateRows: ...

    def transaction(self) -> AbstractContextManager[None]:
        """Return a transaction in which nobody else writes to the shard, of an engine that has any."""

    def position(self) -> str | None: ...

    def state(self, name: str | None = None) -> dict[str, Any]: ...

    def set_state(self, name: str, position: str, facts: str = "{}") -> None: ...

    def vectors(self, space: str, kind: Kind, notes: Sequence[int]) -> dict[int, Vectors]: ...

    def count(self, space: str, kind: Kind) -> int: ...

    def has_any(self, space: str, kind: Kind) -> bool: ...

    def optimize(self) -> None: ...

    def close(self) -> None: ...


class KeywordLane(Protocol):
    """The part of a keyword index that a vault uses; see ``KeywordIndex``."""

    rules: LanguageRules

    @property
    def language(self) -> str | None: ...

    @property
    def span_finder(self) -> SpanFinder: ...

    @property
    def revision(self) -> str | None: ...

    def __len__(self) -> int: ...

    def stored(self) -> tuple[int, int]: ...

    def search(
        self,
        text: str,
        k: int,
        allowed: NoteIds | None = None,
        *,
        unfinished: bool = False,
        ties: int = 0,
        visible: NoteIds | None = None,
    ) -> KeywordAnswer: ...

    def terms(self, least: int = 1) -> list[tuple[str, int]]: ...

    def notes_to_merge(self, *, purge: bool = False) -> int: ...

    def merge_step(self, *, purge: bool = False) -> bool: ...


class KeywordFollower(Protocol):
    """A keyword lane that follows the ledger; see ``KeywordSync``."""

    rebuilding: bool
    stopped: threading.Event

    @property
    def keeps_rows(self) -> bool:
        """True if links and times of notes are kept, too, so that their changes count."""

    @property
    def index(self) -> KeywordLane: ...

    @property
    def problem(self) -> Unavailable | None: ...

    @property
    def directory(self) -> Path | None: ...

    def pending_count(self, ledger: Ledger) -> int: ...

    def synced_revision(self, ledger: Ledger) -> int: ...

    def sync(self, ledger: Ledger) -> None: ...

    def add(self, ledger: Ledger, segment: PreparedSegment, notes: Sequence[int]) -> bool: ...

    def merge_step(
        self, merge: Callable[..., PreparedSegment] | None = None, *, purge: bool = False
    ) -> bool: ...

    def rebuild(self, ledger: Ledger) -> None: ...

    def close(self) -> None: ...


class ShardSource(Protocol):
    """A shard that another daemon writes, as the ledger of a searcher."""

    def step(self) -> bool:
        """Refresh the ledger; true if anything has changed. Runs in the writer thread. Raises Unavailable."""

    def reason(self) -> Reason | None:
        """Return why the shard may be behind the folder of its indexer, or None."""

    def is_abandoned(self) -> bool:
        """True if the indexer of the shard has stopped or is silent."""


class Engine:
    """The engine of one open vault: its words, its vectors, and how far they are.

    What is here is that of the embedded one, which the writer of the ledger keeps: always synced, and read by
    nobody else.
    """

    keyword: KeywordFollower
    is_remote = False
    """True if it may not answer, and is written to beside the ledger."""

    @property
    def name(self) -> str:
        """The engine and the vault's part of it; "" for the embedded one."""
        return ""

    @property
    def is_shared(self) -> bool:
        """True if searchers can read it, so that they need a heartbeat."""
        return False

    @property
    def outage(self) -> Unavailable | None:
        """The reason why it did not answer when it was asked last; None if it did. Asks nothing."""
        return None

    @property
    def is_synced(self) -> bool:
        """True if the notes of the ledger are in the engine, or it is known why not."""
        return True

    @property
    def synced_revision(self) -> int:
        """The revision of the ledger that the engine has."""
        return 0

    def vector_store(self, worker: SemanticWorker) -> VectorStore:
        """Return what keeps the vectors that a worker computes: by default the worker itself."""
        return worker

    def replica(self, space: str) -> ShardSource | None:
        """Return what copies the shard into the ledger, if another daemon writes it; else None.

        ``space`` names the vectors.
        """
        return None

    def start_background_writer(self) -> None:
        """Write notes in a thread of its own from now on."""

    def probe(self) -> None:
        """Ask something small in the background, so that ``outage`` is current."""

    async def wait_until_synced(self, seconds: float) -> None:
        """Return when it is synced, or after ``seconds``. Raises what kept notes here, as a full disk."""

    def publish(self, beat: Heartbeat) -> None:
        """Write the heartbeat of the shard for searchers. Raises Unavailable."""

    def close(self) -> None:
        """Close the keyword index, and the connection if there is one."""
        self.keyword.close()
