"""Log file of the child's output, of bounded size."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import BinaryIO

from vaultseek.base import limits


class CappedLog:
    """A file that is renamed to ``<name>.1`` when it is full; errors while writing it are ignored."""

    def __init__(self, path: Path | None) -> None:
        self._path = path or Path(os.devnull)
        try:
            self._file = self._open()
        except OSError:
            self._path = Path(os.devnull)
            self._file = self._open()

    def write(self, data: bytes) -> None:
        """Append ``data``."""
        with contextlib.suppress(OSError, ValueError):
            if self._file.tell() + len(data) > limits.LOG_BYTES:
                self._file.close()
                self._path.replace(self._path.with_name(self._path.name + ".1"))
                self._file = self._open()
            self._file.write(data)
            self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _open(self) -> BinaryIO:
        return os.fdopen(os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab")
