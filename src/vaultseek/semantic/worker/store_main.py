"""Entry point of the store's process, which writes and reads Chroma for the semantic worker.

Run as ``python -P -m vaultseek.semantic.worker.store_main``, by the worker only. It ends when its input does.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from vaultseek.base.child_process import apply_child_limits, claim_pipes
from vaultseek.errors import VaultseekError, WorkerUnavailable
from vaultseek.semantic.vectors.chroma import ChromaDirectory, ChromaStore
from vaultseek.semantic.vectors.port import StoreState, VectorBatch
from vaultseek.semantic.worker.pipe import Array, Frame, pack, read

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
