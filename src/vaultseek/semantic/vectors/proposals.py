"""Proposals of the nearest rows of a large matrix, by an index that a thread opens, fills and ends."""

import logging
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

from vaultseek.errors import WorkerUnavailable
from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.vectors.port import ApproximateIndex, OpenIndex, Rows

PROPOSAL_WRITE = 1000
"""Rows per write to the approximate index."""
PROPOSAL_TAIL = 20_000
"""Rows that may be missing from it, which are scored for each query."""
PROPOSAL_IDLE_SECONDS = 60.0
"""Time without a query after which it is closed."""

log = logging.getLogger(__name__)
_NONE: Vectors = np.zeros((0, 0), np.float32)


class Proposals:
    """The approximate index of a matrix, in the folder ``path``.

    It is opened when a query could use it. Until it is open and has all but a few rows, and for good once it
    has failed, the matrix has to be scanned.
    """

    def __init__(
        self, open_index: OpenIndex, path: Path, release_rows: Callable[[], None] = lambda: None
    ) -> None:
        """``release_rows`` is called when the rows need not be scanned any more, and when nobody asks."""
        self._open = open_index
        self._path = path
        self._release_rows = release_rows
        self._index: ApproximateIndex | None = None
        self._wanted = _NONE
        self._count = 0
        self._asked = threading.Event()
        self._thread: threading.Thread | None = None
        self._has_ended = False

    def count(self, vectors: Vectors) -> int:
        """Return how many of these rows, from the first on, can be proposed now. One thread asks."""
        if self._has_ended:
            return 0
        if self._thread is None or not self._thread.is_alive():
            self._count, self._wanted = 0, vectors
            self._thread = threading.Thread(target=self._serve, daemon=True)
            self._thread.start()
        elif self._count and len(vectors) > self._count + PROPOSAL_TAIL:
            self._count, self._wanted = 0, vectors
        self._asked.set()
        return self._count

    def nearest(self, vector: Vectors, k: int) -> Rows | None:
        """Return the ``k`` nearest rows, best first; None if that fails."""
        index = self._index
        try:
            return index.nearest(vector, k) if index is not None else None
        except WorkerUnavailable as error:
            self._fail(error)
            return None

    def end(self) -> None:
        """Release the index and remove its files."""
        self._has_ended = True
        self._asked.set()
        if (index := self._index) is not None:
            index.end()
        if self._thread not in (None, threading.current_thread()):
            self._thread.join()
        shutil.rmtree(self._path, ignore_errors=True)

    def _serve(self) -> None:
        try:
            # In this thread, because an index's process ends together with the thread that started it.
            self._index = self._open(self._path)
            try:
                self._fill_until_idle(self._index)
            finally:
                index, self._index, self._count = self._index, None, 0
                index.end()
        except WorkerUnavailable as error:
            self._fail(error)

    def _fill_until_idle(self, index: ApproximateIndex) -> None:
        count = index.count() // PROPOSAL_WRITE * PROPOSAL_WRITE  # a kill may have cut a write off
        while not self._has_ended:
            self._asked.clear()
            vectors, self._wanted = self._wanted, _NONE
            if len(vectors):
                for first in range(count, len(vectors), PROPOSAL_WRITE):
                    index.add(first, vectors[first : first + PROPOSAL_WRITE])
                self._count = count = len(vectors)
                del vectors  # it may be an older mapping of the rows
                self._release_rows()
            if not self._asked.wait(PROPOSAL_IDLE_SECONDS):
                self._release_rows()
                return

    def _fail(self, error: WorkerUnavailable) -> None:
        if not self._has_ended:
            log.warning("the vectors are scanned without proposals: %s", error)
            self.end()
