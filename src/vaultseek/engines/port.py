"""The port to an engine: what an open vault asks of it.

An engine proposes candidates. They are ranked here, from the ledger, with the same formulas for every engine.
It has notes under their ids in the ledger, and passages under the numbers of their chunks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from vaultseek.base.model import Reason
from vaultseek.semantic.vectors.port import NoteIds

if TYPE_CHECKING:
    from vaultseek.engines.heartbeat import Heartbeat
    from vaultseek.errors import Unavailable
    from vaultseek.semantic.worker import SemanticWorker
    from vaultseek.semantic.worker.state import VectorKeeper as VectorStore
    from vaultseek.store.keyword.analysis import LanguageRules
    from vaultseek.store.keyword.answer import KeywordAnswer
    from vaultseek.store.keyword.merge import PreparedSegment
    from vaultseek.store.keyword.spans import SpanFinder
    from vaultseek.store.ledger import Ledger

ENGINE_FOLDER = "engine"
"""Folder of what is kept beside an engine in that of the index."""


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
    def outage(self) -> Unavailable | None:
        """The reason why it did not answer when it was asked last; None if it did. Asks nothing."""
        return None

    @property
    def is_synced(self) -> bool:
        """True if the notes of the ledger are in the engine, or it is known why not."""
        return True

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
