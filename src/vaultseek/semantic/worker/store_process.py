"""Chroma in a process of its own, which the semantic worker starts when it has to read or write the store.

Chroma holds the interpreter lock while it writes, and takes time to import and memory; so queries never meet
it. The process ends when it is not needed for a while.
"""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from vaultseek.base.child_process import ChildProcess, apply_child_limits, claim_pipes
from vaultseek.base.model import JSON
from vaultseek.errors import FrameLost, IndexDamaged, VaultseekError, WorkerUnavailable
from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.vectors.chroma import ChromaDirectory, ChromaStore, read_state
from vaultseek.semantic.vectors.port import Numbers, StoreState, VectorBatch
from vaultseek.semantic.worker.pipe import Array, Frame, error_of, frame_of, pack, parts_of, read

STORE_IDLE_SECONDS = 60.0
"""Time without a request after which the process ends."""
STORE_CRASHES = 2
"""Crashes in a row after which the store that it was asked about counts as damaged."""
COMMAND = (sys.executable, "-P", "-m", "vaultseek.semantic.worker.store_process")


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
            raise error_of(frame.header)
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


_PRIORITY = 5
"""Niceness, so that this process steps back behind those that answer."""


def main() -> None:
    """Answer requests from standard input until it ends. Never returns."""
    incoming, outgoing = claim_pipes()
    apply_child_limits(_PRIORITY)
    stores = _Stores()
    try:
        while (frame := read(incoming)) is not None:
            outgoing.write(_reply(frame, stores))
            outgoing.flush()
    except (OSError, VaultseekError):
        os._exit(1)
    stores.close_all()
    os._exit(0)


class _Stores:
    """The open databases and their collections."""

    def __init__(self) -> None:
        self._directories: dict[Path, ChromaDirectory] = {}
        self._collections: dict[tuple[Path, str], ChromaStore] = {}
        self.last_failure = ""
        """The failure that was logged last, so that it is logged once."""

    def open(self, path: Path, name: str) -> ChromaStore:
        """Return a collection, created if it is missing."""
        if (path, name) not in self._collections:
            directory = self._directories.setdefault(path, ChromaDirectory(path))
            store = directory.collection(name, create=True)
            assert store is not None
            self._collections[path, name] = store
        return self._collections[path, name]

    def close(self, path: Path) -> None:
        """Release a database."""
        for key in [key for key in self._collections if key[0] == path]:
            del self._collections[key]
        if (directory := self._directories.pop(path, None)) is not None:
            directory.close()

    def close_all(self) -> None:
        """Release all databases."""
        for path in list(self._directories):
            self.close(path)


def _reply(frame: Frame, stores: _Stores) -> bytes:
    try:
        return pack({}, _answer(frame, stores))
    except VaultseekError as error:
        return pack({"error": error.code, "cause": error.cause, "message": str(error)})
    except BaseException as error:  # native code may panic with one; the next request may succeed
        line = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        if line != stores.last_failure:
            stores.last_failure = line
            traceback.print_exc(limit=-5, file=sys.stderr)
        message = f"the vector store cannot be used: {line}"
        return pack({"error": WorkerUnavailable.code, "cause": "failing", "message": message})


def _answer(frame: Frame, stores: _Stores) -> Sequence[Array]:
    header, arrays = frame.header, frame.arrays
    path = Path(header["store"])
    if header["call"] == "close":
        stores.close(path)
        return ()
    store = stores.open(path, header["collection"])
    if header["call"] == "write":
        numbers, notes, vectors, deletes = arrays
        state = header["state"]
        store.write(VectorBatch(numbers, notes, vectors), deletes, StoreState(*state) if state else None)
        return ()
    if header["call"] == "nearest":
        return (store.nearest(arrays[0], header["k"]),)
    page = store.page(header["start"])
    return page.numbers, page.notes, page.vectors


if __name__ == "__main__":
    main()
