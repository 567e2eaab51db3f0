"""Milvus Lite: the process that serves a file to this one, shared by all vaults that are kept in it."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import threading
import weakref
from pathlib import Path

from vaultseek.base import paths
from vaultseek.base.child_process import ChildEnded, ChildProcess
from vaultseek.base.limits import MIB
from vaultseek.errors import Unavailable

START_SECONDS = 60.0
"""Time that opening a file may take: what was written last is read again."""
END_SECONDS = 15.0
"""Time for the process to close the file before it is killed."""
UNINDEXED_BYTES = 1 * MIB
"""Rows of a collection that wait in memory for an index: every search goes through them one by one."""
SOCKET_BYTES = 100
"""Longest path of a socket; the system would cut one of 108."""


class LiteServer:
    """The server of one file, started when its address is asked for, and again when it has ended."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._process: ChildProcess | None = None
        self._socket: Path | None = None
        self._users = 0

    def use(self) -> None:
        """Count one more user of the file."""
        with self._lock:
            self._users += 1

    def release(self) -> None:
        """Give up one use; after the last one the process ends, and the file is closed."""
        with self._lock:
            self._users -= 1
            last = self._users <= 0
        if last:
            self.stop()

    def address(self) -> str:
        """Return the address of the server. Raises Unavailable if the file cannot be served."""
        with self._lock:
            if self._process is None or self._process.has_ended:
                self._socket = self._socket_file()
                self._process = self._start(self._socket)
            return f"unix:{self._socket}"

    @property
    def process(self) -> int | None:
        """The id of the process; None if there is none."""
        process = self._process
        return None if process is None or process.has_ended else process.pid

    def stop(self) -> None:
        """End the process, which closes the file."""
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.end(END_SECONDS)

    def _socket_file(self) -> Path:
        digest = hashlib.sha256(f"{os.path.realpath(self._file)} {os.getpid()}".encode()).hexdigest()[:12]
        socket = paths.runtime_directory() / f"milvus-{digest}.sock"
        if len(os.fsencode(socket)) <= SOCKET_BYTES:
            return socket
        return Path(tempfile.gettempdir()) / f"vaultseek-{digest}" / "milvus.sock"

    def _start(self, socket: Path) -> ChildProcess:
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        paths.private_directory(socket.parent)
        process = ChildProcess(
            [sys.executable, "-m", f"{__package__}.lite_main"],
            str(self._file),
            str(socket),
            stderr=subprocess.DEVNULL,
            env={**os.environ, "MILVUS_LITE_MEMTABLE_MEMORY_LIMIT_BYTES": str(UNINDEXED_BYTES)},
        )
        weakref.finalize(self, process.end, END_SECONDS)
        try:
            fault = process.receive(START_SECONDS)[0]["fault"]
        except ChildEnded:
            fault = (
                "its process ended" if process.has_ended else f"not ready after {START_SECONDS:.0f} seconds"
            )
        if fault:
            process.end(END_SECONDS)
            raise Unavailable(f"the file {self._file} cannot be opened by Milvus Lite: {fault}")
        return process


def lite_server(file: Path) -> LiteServer:
    """Return the server of a file, the same for all that ask."""
    with _lock:
        return _servers.setdefault(Path(os.path.realpath(file)), LiteServer(file))


_servers: dict[Path, LiteServer] = {}
_lock = threading.Lock()
