"""The daemon's side of the process that reads files, which is there while there is something to read."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from selectors import EVENT_READ, DefaultSelector
from typing import IO

from vaultseek.base import failpoints, limits
from vaultseek.base.model import Note
from vaultseek.content.extractors.child import LENGTH, LENGTHS
from vaultseek.content.extractors.codec import decode
from vaultseek.content.extractors.composition import named_only
from vaultseek.content.extractors.table import EXTRACTORS
from vaultseek.content.kinds import Kind
from vaultseek.errors import Cancelled

COMMAND = (sys.executable, "-P", "-m", "vaultseek.content.extractors.child")
HANDED_ON = ("PYTHONPATH", "LD_LIBRARY_PATH", failpoints.VARIABLE)
"""Variables of the environment that the process gets."""
PATIENCE = 20
"""Time that a file may take on a busy machine, as a multiple of the processor time that it may take."""
STOPPED = "vaultseek is stopping; the rest is read after the next start"


class ReaderEnded(Exception):
    """The process ended while it read a file, by the file or by somebody else."""


class ExtractionProcess:
    """A process that reads one file after the other. What ends it costs the file that it was at."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._ocr = False
        self._busy = threading.Lock()
        self._stopped = False

    def extract(self, kind: Kind, path: str, data: bytes, *, ocr: bool = False, alone: bool = False) -> Note:
        """Return the text of a file; of one that cannot be read the name and a problem.

        ``alone`` reads it in a process that has read no other file. Raises ReaderEnded, Cancelled after
        ``stop``, and OSError if no process can be started.
        """
        with self._busy:
            if alone:
                self._end()
            for _ in range(2):
                answer = self._ask(kind, path, data, ocr=ocr)
                if answer is not None:
                    return answer
                ending = self._end()
                if self._stopped:
                    raise Cancelled(STOPPED)
                if ending == -signal.SIGPROF:
                    return named_only(path, "too_slow", "reading it takes too long")
                if ending != 0:
                    break  # with 0 it had just ended for being idle
            raise ReaderEnded(path)

    def stop(self) -> None:
        """End the process, also in the middle of a file, whose reader gets Cancelled."""
        self._stopped = True
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        """End the process and close its files."""
        self.stop()
        with self._busy:
            self._end()

    def _ask(self, kind: Kind, path: str, data: bytes, *, ocr: bool) -> Note | None:
        """Return the answer of the process; None if it ended."""
        process = self._running(ocr=ocr)
        assert process.stdin is not None
        assert process.stdout is not None
        head = json.dumps({"kind": kind, "path": path, "ocr": ocr}).encode()
        try:
            process.stdin.write(LENGTHS.pack(len(head), len(data)) + head)
            process.stdin.write(data)
            process.stdin.flush()
            seconds = limits.OCR_SECONDS if ocr else EXTRACTORS[kind].seconds
            answer = _receive(process.stdout, seconds * PATIENCE)
        except (OSError, ValueError):
            answer = None
        if answer is not None:
            with contextlib.suppress(ValueError, TypeError, KeyError):
                return decode(answer)
        return None

    def _running(self, *, ocr: bool) -> subprocess.Popen[bytes]:
        process = self._process
        if process is not None and (process.poll() is not None or self._ocr != ocr):
            self._end()
            process = None
        if process is None:
            process = subprocess.Popen(
                [*COMMAND, str(os.getpid()), "ocr" if ocr else "text"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=_environment(),
            )
            self._process, self._ocr = process, ocr
        if self._stopped:
            self._end()
            raise Cancelled(STOPPED)
        return process

    def _end(self) -> int:
        """End the process; return the status that it ended with by itself, or with which it was ended."""
        process, self._process = self._process, None
        if process is None:
            return 0
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.2)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        with contextlib.suppress(OSError, ValueError):
            process.communicate()
        return process.returncode


def _environment() -> dict[str, str]:
    """Return what the process may know of ours, which has the keys of servers: where its libraries are."""
    return {"OMP_NUM_THREADS": "1"} | {name: os.environ[name] for name in HANDED_ON if name in os.environ}


def _receive(stream: IO[bytes], seconds: float) -> bytes | None:
    with DefaultSelector() as selector:  # select.select takes no file above number 1,023
        selector.register(stream, EVENT_READ)
        ready = selector.select(seconds)
    prefix = stream.read(LENGTH.size) if ready else b""
    if len(prefix) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(prefix)
    answer = stream.read(length)
    return answer if len(answer) == length else None
