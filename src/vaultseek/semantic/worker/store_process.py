"""Chroma in a process of its own, which the semantic worker starts when it has to read or write the store.

Chroma holds the interpreter lock while it writes, and takes time to import and memory; so queries never meet
it. The process ends when it is not needed for a while.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from vaultseek.base.child_process import ChildProcess
from vaultseek.base.model import JSON
from vaultseek.errors import FrameLost, IndexDamaged, WorkerUnavailable, error_classes
from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.vectors.chroma import read_state
from vaultseek.semantic.vectors.port import Numbers, StoreState, VectorBatch
from vaultseek.semantic.worker.pipe import Array, Frame, frame_of, parts_of

STORE_IDLE_SECONDS = 60.0
"""Time without a request after which the process ends."""
STORE_CRASHES = 2
"""Crashes in a row after which the store that it was asked about counts as damaged."""
COMMAND = (sys.executable, "-P", "-m", "vaultseek.semantic.worker.store_main")


class StoreProcess:
    """At most one process for all stores of a worker; requests wait for each other."""

    def __init__(self, idle_seconds: float = STORE_IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self._lock = threading.Lock()
        self._process: ChildProcess | None = None
        self._timer: threading.Timer | None = None
        self._crashes = 0

    @property
    def running(self) -> bool:
        """True while there is a process."""
        return self._process is not None

    def ask(self, header: JSON, arrays: Sequence[Array] = ()) -> Frame:
        """Return the answer to a request. Raises the process's error, `WorkerUnavailable` if it crashes, and
        `IndexDamaged` if it keeps crashing."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            try:
                if self._process is None:
                    self._process = ChildProcess(COMMAND)
                self._process.send(*parts_of(header, arrays))
                frame = frame_of(*self._process.receive())
            except (OSError, FrameLost):
                self._crashed()
            self._timer = threading.Timer(self._idle_seconds, self._end_if_idle)
            self._timer.daemon = True
            self._timer.start()
        self._crashes = 0
        if "error" in frame.header:
            kind = error_classes().get(frame.header["error"], WorkerUnavailable)
            error = kind(frame.header["message"])
            error.cause = frame.header["cause"]
            raise error
        return frame

    def end(self) -> None:
        """Let the process finish, and wait for it."""
        process, self._process = self._process, None
        if process is not None:
            process.end(None)

    def _crashed(self) -> None:
        self.end()
        self._crashes += 1
        if self._crashes >= STORE_CRASHES:
            self._crashes = 0
            raise IndexDamaged("the vector index crashes its process and has to be rebuilt")
        raise WorkerUnavailable("the process of the vector store has ended unexpectedly; try again")

    def _end_if_idle(self) -> None:
        if self._lock.acquire(blocking=False):
            try:
                self.end()
            finally:
                self._lock.release()


class RemoteDirectory:
    """The Chroma database in the folder ``path``, behind a process."""

    def __init__(self, process: StoreProcess, path: Path) -> None:
        self.folder = path
        self._process = process

    def collection(self, name: str, *, create: bool) -> RemoteStore | None:
        """See ``StoreDirectory.collection``; it is created when it is written."""
        state = read_state(self.folder, name)
        if state is None and not create:
            return None
        return RemoteStore(self._process, self.folder, name, state)

    def close(self) -> None:
        """See ``StoreDirectory.close``."""
        if self._process.running:
            self._process.ask({"call": "close", "store": str(self.folder)})


class RemoteStore:
    """One collection of a Chroma database, behind a process; see ``VectorStore``."""

    def __init__(self, process: StoreProcess, path: Path, name: str, state: StoreState | None) -> None:
        self._process = process
        self._header = {"store": str(path), "collection": name}
        self._state = state or StoreState()
        self._exists = state is not None

    def write(self, batch: VectorBatch, deletes: Numbers, state: StoreState | None = None) -> None:
        """See ``VectorStore.write``."""
        header = {**self._header, "call": "write", "state": state}
        self._process.ask(header, (batch.numbers, batch.notes, batch.vectors, deletes))
        self._exists = True
        self._state = state or self._state

    def nearest(self, vector: Vectors, k: int) -> Numbers:
        """See ``VectorStore.nearest``."""
        numbers: Numbers = self._process.ask({**self._header, "call": "nearest", "k": k}, (vector,)).arrays[0]
        return numbers

    def pages(self) -> Iterator[VectorBatch]:
        """See ``VectorStore.pages``."""
        start = 0
        while self._exists:
            page = VectorBatch(*self._process.ask({**self._header, "call": "page", "start": start}).arrays)
            if not len(page):
                return
            yield page
            start += len(page)

    def state(self) -> StoreState:
        """See ``VectorStore.state``."""
        return self._state
