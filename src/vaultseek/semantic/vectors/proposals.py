"""Proposals of the nearest rows in a large matrix, from an index that a thread opens, fills and closes."""

import contextlib
import logging
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

from vaultseek.base.paths import checksum, write_atomically
from vaultseek.errors import WorkerUnavailable
from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.vectors.port import ApproximateIndex, OpenIndex, Rows

PROPOSAL_WRITE = 1000
"""Number of rows per write to the approximate index."""
PROPOSAL_TAIL = 20_000
"""Maximum number of rows that may be missing from the index. Every query scores the missing rows itself."""
CHECKED_ROWS = 100
"""Number of rows used to check an index when it is opened. For each row, the nearest rows according to the
index are compared with the rows found by a scan."""
CHECKED_NEAREST = 10
SOUND_SHARE = 0.98
"""Minimum share of the nearest rows that a sound index must find; an index of 350,000 rows finds 0.9995."""
ATTEMPTS = 2
"""Maximum number of consecutive refills of an index."""
PROPOSAL_IDLE_SECONDS = 60.0
"""Number of seconds without a query after which the index is closed."""

log = logging.getLogger(__name__)
_SEAL = "sealed"
"""Name of the file in an index's folder that contains the checksums of all other files."""
_SCORE_ERROR = 1e-4
_NONE: Vectors = np.zeros((0, 0), np.float32)


class Proposals:
    """The approximate index of a matrix, in the folder ``path``.

    The index is opened when a query could use it. Until the index is open and contains nearly all rows, the
    matrix is scanned; if the index fails, the matrix is scanned from then on.
    """

    def __init__(
        self, open_index: OpenIndex, path: Path, release_rows: Callable[[], None] = lambda: None
    ) -> None:
        """Prepare the index without opening it.

        ``release_rows`` frees the memory of the rows. It is called when the rows no longer need to be
        scanned, and when there are no queries.
        """
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
        """Return the number of leading rows that the index can currently propose. Must be called from one
        thread only."""
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
        """Return the numbers of the ``k`` nearest rows, best first; None if the index fails."""
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
            if self._path.exists() and not is_sealed(self._path):
                self._begin_again("is damaged, or filling it was interrupted")
            for _ in range(ATTEMPTS):
                if not (reason := self._serve_until_idle()):
                    return
                self._begin_again(reason)
        except WorkerUnavailable as error:
            self._fail(error)

    def _begin_again(self, reason: str) -> None:
        log.warning("%s %s; refilling it", self._path, reason)
        shutil.rmtree(self._path, ignore_errors=True)

    def _serve_until_idle(self) -> str:
        """Open the index, fill it, and keep it open until no query has used it for a while. Return the reason
        to refill it; "" if there is none."""
        break_seal(self._path)  # opening an index changes its files
        # In this thread, because an index's process ends together with the thread that started it.
        index = self._open(self._path)
        try:
            if not is_sound(index, self._wanted):
                return "misses results that a full scan finds"
            self._index = index
            return self._fill_until_idle(index)
        finally:
            self._index, self._count = None, 0
            index.end()

    def _fill_until_idle(self, index: ApproximateIndex) -> str:
        count, is_first = index.count(), True
        while not self._has_ended:
            self._asked.clear()
            vectors, self._wanted = self._wanted, _NONE
            if len(vectors):
                if not is_first and not is_sealed(self._path):
                    self._wanted = vectors
                    return "was damaged while it was open"
                is_first = False
                break_seal(self._path)
                for first in range(count, len(vectors), PROPOSAL_WRITE):
                    index.add(first, vectors[first : first + PROPOSAL_WRITE])
                seal(self._path)  # searching changes no file
                self._count = count = len(vectors)
                del vectors  # they may belong to an older mapping of the rows
                self._release_rows()
            if not self._asked.wait(PROPOSAL_IDLE_SECONDS):
                self._release_rows()
                break
        return ""

    def _fail(self, error: WorkerUnavailable) -> None:
        if not self._has_ended:
            log.warning("scanning all vectors instead of using Chroma's proposals: %s", error)
            self.end()


def seal(folder: Path) -> None:
    """Record the checksums of all files in a folder. If that fails, the folder remains without a seal."""
    with contextlib.suppress(OSError):
        write_atomically(folder / _SEAL, _checksums(folder))


def is_sealed(folder: Path) -> bool:
    """Return true if the folder is unchanged since it was sealed. Reads all files."""
    try:
        return (folder / _SEAL).read_bytes() == _checksums(folder).encode()
    except OSError:
        return False


def break_seal(folder: Path) -> None:
    """Remove the seal of a folder before the folder's files are changed."""
    with contextlib.suppress(OSError):
        (folder / _SEAL).unlink()


def _checksums(folder: Path) -> str:
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file.name != _SEAL)
    return "\n".join(f"{checksum(file)} {file.relative_to(folder)}" for file in files)


def is_sound(index: ApproximateIndex, vectors: Vectors) -> bool:
    """Return true if an index finds nearly all of the nearest rows that a scan of ``vectors`` finds.

    This detects vectors in Chroma that differ from the matrix, and files that a new version of Chroma reads
    differently.
    """
    count = index.count()
    if count > len(vectors):
        return False
    if not count:
        return True
    nearest = min(CHECKED_NEAREST, count)
    probes = vectors[np.linspace(0, count - 1, min(CHECKED_ROWS, count)).astype(np.int64)]
    best = np.full((nearest, len(probes)), -np.inf, np.float32)
    for start in range(0, count, PROPOSAL_TAIL):
        scores = np.concatenate([best, vectors[start : min(start + PROPOSAL_TAIL, count)] @ probes.T])
        best = np.partition(scores, -nearest, axis=0)[-nearest:]
    found = 0
    for probe, least in zip(probes, best.min(axis=0), strict=True):
        rows = index.nearest(probe, nearest)
        found += int(np.count_nonzero(vectors[rows[rows < count]] @ probe >= least - _SCORE_ERROR))
    return found >= SOUND_SHARE * nearest * len(probes)
