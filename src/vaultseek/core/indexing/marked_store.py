"""The vector store of a vault, together with the marks of the ledger on what it has.

A text is marked as stored after the store has its vector, so that every step can be repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from vaultseek.base.failpoints import failpoint
from vaultseek.base.model import NOT_EMBEDDED, Problem
from vaultseek.core.indexing.unembedded import Item, Unembedded
from vaultseek.core.indexing.writer import InWriter
from vaultseek.semantic.worker import CHUNKS, NOTES
from vaultseek.semantic.worker.port import VectorKeeper
from vaultseek.store.ledger import Ledger, note_of_vector


class TrackedStore:
    """The store at ``path``, which ``keeper`` keeps."""

    def __init__(
        self, ledger: Ledger, keeper: VectorKeeper, path: Path, unembedded: Unembedded, in_writer: InWriter
    ) -> None:
        self.path = path
        self._ledger = ledger
        self._keeper = keeper
        self._unembedded = unembedded
        self._in_writer = in_writer

    async def stored(self) -> tuple[int, int]:
        """Return how many vectors of passages and of notes the store has. Raises WorkerUnavailable."""
        return await self._keeper.count(self.path, CHUNKS), await self._keeper.count(self.path, NOTES)

    async def is_out_of_step(self) -> bool:
        """True if the store has other numbers of vectors than the ledger's marks, or is slow to tell: a
        process may have been killed between a write to the one and to the other."""
        return not self._keeper.counts_quickly or await self.stored() != self._marked()

    async def put(self, items: Sequence[Item]) -> None:
        """Store vectors, all of passages or all of notes, and mark them as stored; report the texts without.

        Raises WorkerUnavailable or IndexDamaged.
        """
        vectors = [(item, item.vector) for item in items if item.vector is not None]
        version = self._ledger.vectors.store()
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
        await self._in_writer(self._mark, items, version)

    async def delete(self, orphans: Sequence[str]) -> None:
        """Delete the vectors of texts that the ledger no longer has.

        Raises WorkerUnavailable or IndexDamaged.
        """
        version = self._ledger.vectors.store()
        notes = [number for number in map(note_of_vector, orphans) if number is not None]
        chunks = [int(orphan) for orphan in orphans if note_of_vector(orphan) is None]
        for collection, numbers in ((CHUNKS, chunks), (NOTES, notes)):
            if numbers:
                await self._keeper.apply(self.path, collection, deletes=numbers, version=version)
        failpoint("vectors.forgotten")
        await self._in_writer(self._ledger.vectors.mark_stored, [], [], orphans)

    def _marked(self) -> tuple[int, int]:
        """Return how many vectors of passages and of notes it has as far as the ledger knows."""
        counts = self._ledger.counts()
        return counts.embedded, counts.notes - (counts.pending - (counts.chunks - counts.embedded))

    def _mark(self, items: Sequence[Item], version: str) -> None:
        """Mark the items as stored, but those whose notes have changed since: these have other texts now.

        None of them if another store was begun meanwhile, which has another ``version``. A failed text counts
        as stored, or it would be tried again forever. Runs in the writer thread.
        """
        if self._ledger.vectors.store() != version:
            return
        items = self._unembedded.unchanged(items)
        failed = sorted({item.note for item in items if not item.vector})
        if failed:
            self._report_failures(failed)
        chunks = [item.chunk for item in items if item.chunk is not None]
        notes = [item.note for item in items if item.chunk is None]
        self._ledger.vectors.mark_stored(chunks, notes, [])

    def _report_failures(self, notes: Sequence[int]) -> None:
        problem = Problem(NOT_EMBEDDED, "a passage could not be embedded; only its words are searched")
        for row in self._ledger.notes.by_id(notes).values():
            if not self._ledger.problems.has(row.path, NOT_EMBEDDED):
                self._ledger.problems.add(row.path, problem)
