"""Chroma in a separate process, which the semantic worker starts to search a large collection.

Chroma holds the interpreter lock while writing, is slow to import, and needs much memory. In a separate
process, it does not delay queries.
"""

import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from vaultseek.base.child_process import ChildProcess, apply_child_limits, reserve_pipes
from vaultseek.base.model import JSON
from vaultseek.errors import FrameLost, WorkerUnavailable
from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.vectors.chroma import ChromaIndex
from vaultseek.semantic.vectors.port import Rows
from vaultseek.semantic.worker.pipe import Array, Frame, frame_of, pack, parts_of, read

NEAREST_SECONDS = 2.0
"""Number of seconds after which a query is answered without Chroma."""
END_SECONDS = 10.0
COMMAND = (sys.executable, "-P", "-m", "vaultseek.semantic.worker.chroma_process")


class ChromaProcess:
    """The Chroma database in the folder ``path``, run in a separate process; see ``ApproximateIndex``."""

    def __init__(self, path: Path) -> None:
        """Start the process. Raises ``WorkerUnavailable``."""
        self._lock = threading.Lock()
        try:
            self._process = ChildProcess(COMMAND, str(path))
        except OSError as error:
            raise WorkerUnavailable(f"the Chroma process cannot be started: {error}") from None

    def count(self) -> int:
        return int(self._ask({"call": "count"}).header["count"])

    def add(self, first: int, vectors: Vectors) -> None:
        self._ask({"call": "add", "first": first}, (vectors,))

    def nearest(self, vector: Vectors, k: int) -> Rows:
        rows: Rows = self._ask({"call": "nearest", "k": k}, (vector,), NEAREST_SECONDS).arrays[0]
        return rows

    def end(self) -> None:
        self._process.end(END_SECONDS)

    def _ask(self, header: JSON, arrays: Sequence[Array] = (), seconds: float | None = None) -> Frame:
        with self._lock:
            try:
                self._process.send(*parts_of(header, arrays))
                return frame_of(*self._process.receive(seconds))
            except (OSError, FrameLost):
                message = "the Chroma process ended unexpectedly or took too long"
                raise WorkerUnavailable(message) from None


_PRIORITY = 5
"""Niceness of the process, so that queries take precedence."""


def main() -> None:
    """Answer requests from standard input until it ends; any error ends the process. Never returns."""
    incoming, outgoing = reserve_pipes()
    apply_child_limits(_PRIORITY)
    index = ChromaIndex(Path(sys.argv[2]))
    while (frame := read(incoming)) is not None:
        outgoing.write(_answer(frame, index))
        outgoing.flush()
    index.close()
    os._exit(0)


def _answer(frame: Frame, index: ChromaIndex) -> bytes:
    header, arrays = frame.header, frame.arrays
    if header["call"] == "count":
        return pack({"count": index.count()}, ())
    if header["call"] == "add":
        index.add(header["first"], arrays[0])
        return pack({}, ())
    return pack({}, (index.nearest(arrays[0], header["k"]),))


if __name__ == "__main__":
    main()
