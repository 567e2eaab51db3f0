"""The port to an engine: what an open vault asks of it.

An engine has notes under their ids in the ledger, and passages under the numbers of their chunks. It follows
the ledger, and its notes are ranked with the same formulas whatever keeps them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vaultseek.store.follower import LedgerFollower

if TYPE_CHECKING:
    from vaultseek.engines.heartbeat import Heartbeat
    from vaultseek.errors import Unavailable
    from vaultseek.semantic.worker import SemanticWorker
    from vaultseek.semantic.worker.state import VectorKeeper as VectorStore
    from vaultseek.store.ledger import Ledger

ENGINE_FOLDER = "engine"
"""Folder of what is kept beside an engine in that of the index."""


class Engine(LedgerFollower):
    """A way to find the notes of one open vault, by words and by vectors, which follows its ledger."""

    keeps_rows = False
    """True if links and times of notes are kept, too, so that their changes count."""
    is_remote = False
    """True if it may not answer, and keeps the vectors, too."""

    def sync(self, ledger: Ledger) -> None:
        """Bring the engine to the ledger's revision; one in which that takes long may do so later."""
        raise NotImplementedError

    def rebuild(self, ledger: Ledger) -> None:
        """Discard what the engine has of the notes and fill it from the ledger."""
        raise NotImplementedError

    def close(self) -> None:
        """Close files and connections."""
        raise NotImplementedError

    @property
    def outage(self) -> Unavailable | None:
        """The reason why it did not answer when it was asked last; None if it did. Asks nothing."""
        return None

    @property
    def problem(self) -> Unavailable | None:
        """The reason why it is behind the ledger, None if it is not, or was not asked."""
        return None

    @property
    def is_indexing(self) -> bool:
        """True while it makes an index of vectors, which may take long and counts nothing."""
        return False

    @property
    def is_synced(self) -> bool:
        """True if the notes of the ledger are in the engine, or it is known why not."""
        return True

    async def wait_until_synced(self, seconds: float) -> None:
        """Return when it is synced, or after ``seconds``. Raises what kept notes here, as a full disk."""

    def start_background_writer(self) -> None:
        """Write notes in a thread of its own from now on."""

    def vector_store(self, worker: SemanticWorker) -> VectorStore:
        """Return what keeps the vectors that a worker computes: by default the worker itself."""
        return worker

    def publish(self, beat: Heartbeat) -> None:
        """Write the heartbeat of the shard for searchers. Raises Unavailable."""
