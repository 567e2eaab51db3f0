"""The store of a vector space, together with the entries of the ledger on what it lacks.

An entry is removed after the store has the vector, so that every step can be repeated.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from vaultseek.base.failpoints import failpoint
from vaultseek.base.limits import WORKER_BACKOFF_SECONDS
from vaultseek.base.model import NOT_EMBEDDED, Problem
from vaultseek.core.indexing.unembedded import Item, Unembedded
from vaultseek.core.indexing.writer import InWriter
from vaultseek.errors import WorkerUnavailable
from vaultseek.semantic.worker import CHUNKS, NOTES
from vaultseek.semantic.worker.state import VectorKeeper
from vaultseek.store.ledger import Ledger
from vaultseek.store.ledger.vectors import SpaceTable

SOON_SECONDS = 60.0
"""Time after a rebuild within which the next one has to wait."""


class TrackedStore:
    """The store at ``path``, which ``keeper`` keeps."""

    def __init__(
        self,
        ledger: Ledger,
        space: SpaceTable,
        keeper: VectorKeeper,
        path: Path,
        unembedded: Unembedded,
        in_writer: InWriter,
    ) -> None:
        self.path = path
        self._ledger = ledger
        self._space = space
        self._keeper = keeper
        self._unembedded = unembedded
        self._in_writer = in_writer

    async def stored(self) -> tuple[int, int]:
        """Return how many vectors of passages and of notes the store has. Raises WorkerUnavailable."""
        return await self._keeper.count(self.path, CHUNKS), await self._keeper.count(self.path, NOTES)

    async def is_out_of_step(self) -> bool:
        """True if the store has other numbers of vectors than the ledger expects, or is slow to count: a
        process may have been killed between a write to the one and to the other."""
        return not self._keeper.counts_quickly or await self.stored() != self._expected()

    async def put(self, items: Sequence[Item]) -> None:
        """Store vectors, all of passages or all of notes, and remove their entries; report texts without one.

        Raises WorkerUnavailable or IndexDamaged.
        """
        vectors = [(item, item.vector) for item in items if item.vector is not None]
        version = self._space.store()
        if vectors:
            await self._keeper.apply(
                self.path,
                NOTES if items[0].chunk is None else CHUNKS,
                numbers=[item.number for item, _ in vectors],
                notes=[item.note for item, _ in vectors],
                vectors=np.frombuffer(b"".join(data for _, data in vectors), np.float32).reshape(
                    len(vectors), -1
                ),
                version=version,
            )
        failpoint("vectors.stored")
        await self._in_writer(self._remove_stored, items, version)

    async def delete(self, chunks: Sequence[int], notes: Sequence[int]) -> None:
        """Delete the vectors of passages and notes that the ledger no longer has.

        Raises WorkerUnavailable or IndexDamaged.
        """
        version = self._space.store()
        for collection, numbers in ((CHUNKS, chunks), (NOTES, notes)):
            if numbers:
                await self._keeper.apply(self.path, collection, deletes=numbers, version=version)
        failpoint("vectors.forgotten")
        await self._in_writer(self._space.remove_orphans, chunks, notes)

    def _expected(self) -> tuple[int, int]:
        """Return how many vectors of passages and of notes it has as far as the ledger shows."""
        counts, (chunks, notes) = self._ledger.counts(), self._space.pending_counts()
        return counts.chunks - chunks, counts.notes - notes

    def _remove_stored(self, items: Sequence[Item], version: str) -> None:
        """Remove the entries of items, but of those whose notes have changed since: these have other texts.

        None of them if another store was begun meanwhile, which has another ``version``. A failed text counts
        as stored, or it would be tried again forever. Runs in the writer thread.
        """
        if self._space.store() != version:
            return
        self._space.enter_removed(*_numbers(items))
        items = self._unembedded.unchanged(items)
        failed = sorted({item.note for item in items if not item.vector})
        if failed and self._space is self._ledger.space:
            self._report_failures(failed)
        self._space.remove_stored(*_numbers(items))

    def _report_failures(self, notes: Sequence[int]) -> None:
        problem = Problem(NOT_EMBEDDED, "a passage could not be embedded; only its words are searched")
        for row in self._ledger.notes.by_id(notes).values():
            if not self._ledger.problems.has(row.path, NOT_EMBEDDED):
                self._ledger.problems.add(row.path, problem)


def _numbers(items: Sequence[Item]) -> tuple[list[int], list[int]]:
    """Return the numbers of the chunks among the items, and the ids of the notes."""
    chunks = [item.chunk for item in items if item.chunk is not None]
    return chunks, [item.note for item in items if item.chunk is None]


class StoreRebuilds:
    """The rebuilds of one store: the first at once, another soon after it after the pauses of a worker."""

    def __init__(self) -> None:
        self.damage: str | None = None
        """The damage for which the store has to be rebuilt; None if it has not."""
        self._due = 0.0
        self._last: float | None = None
        self._repeated = 0

    def request(self, damage: str) -> None:
        """Note damage for which the store has to be rebuilt."""
        if self.damage is not None:
            return
        now = time.monotonic()
        soon = self._last is not None and now - self._last < SOON_SECONDS
        self._repeated = self._repeated + 1 if soon else 0
        pause = WORKER_BACKOFF_SECONDS[min(self._repeated, len(WORKER_BACKOFF_SECONDS) - 1)] if soon else 0.0
        self.damage, self._due = damage, now + pause

    def is_due(self) -> bool:
        """True if a rebuild was requested and its pause is over."""
        return self.damage is not None and time.monotonic() >= self._due

    def begin(self) -> None:
        """Note that a new store takes the place of the damaged one."""
        self.damage, self._last = None, time.monotonic()

    def check(self) -> None:
        """Raise `WorkerUnavailable` while a rebuild that was requested has to wait."""
        if self.damage is not None and not self.is_due():
            text = f"the vector index was rebuilt and is damaged again; it is rebuilt later: {self.damage}"
            raise WorkerUnavailable(text, "failing")
