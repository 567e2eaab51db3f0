"""The process that embeds in bulk, seen from the semantic worker."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import BinaryIO, cast

from vaultseek.errors import FrameLost, WorkerUnavailable
from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.worker.pipe import Frame, pack, read

COMMAND = (sys.executable, "-P", "-m", "vaultseek.semantic.worker.bulk_main")


class BulkProcess:
    """A process that loads the model ``name`` on its own, while the worker goes on. For one thread."""

    def __init__(self, name: str, directory: str | None, fingerprint: str) -> None:
        """Start it. Raises OSError if that is not possible."""
        self._process = subprocess.Popen(
            [*COMMAND, str(os.getpid()), name, directory or ""], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._fingerprint = fingerprint
        self._ready = threading.Event()
        self._is_usable = False
        threading.Thread(target=self._await_ready, name="bulk", daemon=True).start()

    @property
    def is_loading(self) -> bool:
        """True until it is ready, or has failed."""
        return not self._ready.is_set()

    @property
    def is_usable(self) -> bool:
        """True if it has loaded the same model as the worker, and has not failed since."""
        return self._is_usable

    def embed(self, texts: Sequence[str], *, query: bool) -> Vectors:
        """Return the vectors of the texts. Raises WorkerUnavailable if the process has ended."""
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(pack({"texts": list(texts), "query": query}))
            self._process.stdin.flush()
            vectors: Vectors = self._read().arrays[0]
        except (OSError, FrameLost, ValueError) as error:  # the last if it was ended
            self._is_usable = False
            raise WorkerUnavailable(f"embedding in bulk failed: {error}") from None
        return vectors

    def end(self) -> None:
        """End it without waiting for its work."""
        self._is_usable = False
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                assert stream is not None
                stream.close()
        self._process.wait()

    def _await_ready(self) -> None:
        with contextlib.suppress(OSError, FrameLost, ValueError):  # the last if it is ended meanwhile
            self._is_usable = self._read().header["fingerprint"] == self._fingerprint
        self._ready.set()

    def _read(self) -> Frame:
        frame = read(cast(BinaryIO, self._process.stdout))
        if frame is None:
            raise FrameLost("its process has ended")
        return frame
