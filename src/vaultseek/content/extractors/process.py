"""The separate process that reads files, and the code that calls it.

The process receives the bytes of a file, and returns the text as JSON, or a page as a picture. It runs while
there are files to read, and cannot open other files or network connections.
"""

import contextlib
import resource
import select
import signal
import subprocess
import sys
import threading

from vaultseek.base import failpoints, limits
from vaultseek.base.child_process import (
    ChildEnded,
    ChildProcess,
    apply_child_limits,
    bare_environment,
    read,
    reserve_pipes,
    write,
)
from vaultseek.base.model import JSON, Note
from vaultseek.content.extractors.codec import decode, encode
from vaultseek.content.extractors.composition import named_only
from vaultseek.content.extractors.confinement import confine
from vaultseek.content.extractors.table import EXTRACTORS
from vaultseek.content.kinds import Kind
from vaultseek.errors import Cancelled

COMMAND = (sys.executable, "-P", "-m", "vaultseek.content.extractors.process")
NICENESS = 10
PATIENCE = 20
"""Wall-clock time allowed for a file on a busy machine, as a multiple of the processor time allowed."""
STOPPED = "vaultseek is stopping; the remaining files are read after the next start"


class ReaderEnded(Exception):
    """Raised when the process ended while it was reading a file. The file is not necessarily the cause."""


class ExtractionProcess:
    """A process that reads one file after another. If it ends, only the current file is lost."""

    def __init__(self) -> None:
        self._process: ChildProcess | None = None
        self._ocr = False
        self._busy = threading.Lock()
        self._stopped = False

    def extract(self, kind: Kind, path: str, data: bytes, *, ocr: bool = False, alone: bool = False) -> Note:
        """Return the text of a file or, if it cannot be read, its name and a problem.

        With ``alone``, the file is read in a process that has read no other file. Raises ReaderEnded,
        Cancelled after ``stop``, or OSError if no process can be started.
        """
        with self._busy:
            if alone:
                self._end()
            for _ in range(2):
                with contextlib.suppress(ChildEnded, ValueError, TypeError, KeyError):
                    seconds = limits.OCR_SECONDS if ocr else EXTRACTORS[kind].seconds
                    return decode(self._ask({"kind": kind, "path": path, "ocr": ocr}, data, seconds))
                ending = self._end()
                if self._stopped:
                    raise Cancelled(STOPPED)
                if ending == -signal.SIGPROF:
                    return named_only(path, "too_slow", "reading the file takes too long")
                if ending != 0:
                    break  # status 0 means that the process had just ended because it was idle
            raise ReaderEnded(path)

    def page(self, data: bytes, number: int) -> bytes | None:
        """Return a page of a PDF as a PNG; None if it cannot be rendered. ``number`` is 1-based. Raises
        OSError.
        """
        with self._busy:
            for _ in range(2):
                with contextlib.suppress(ChildEnded):
                    return self._ask({"page": number, "ocr": False}, data, EXTRACTORS["pdf"].seconds) or None
                if self._end() != 0:
                    break
        return None

    def stop(self) -> None:
        """End the process, even in the middle of a file. A running ``extract`` call raises Cancelled."""
        self._stopped = True
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        """End the process and close its files."""
        self.stop()
        with self._busy:
            self._end()

    def _ask(self, job: JSON, data: bytes, seconds: float) -> bytes:
        """Send a job to the process and return its answer. Raises ChildEnded."""
        process = self._running(ocr=job["ocr"])
        process.send(job, data)
        return process.receive(seconds * PATIENCE)[1]

    def _running(self, *, ocr: bool) -> ChildProcess:
        process = self._process
        if process is not None and (process.has_ended or self._ocr != ocr):
            self._end()
            process = None
        if process is None:
            process = ChildProcess(
                COMMAND,
                "ocr" if ocr else "text",
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={"OMP_NUM_THREADS": "1", **bare_environment()},
            )
            self._process, self._ocr = process, ocr
        if self._stopped:
            self._end()
            raise Cancelled(STOPPED)
        return process

    def _end(self) -> int:
        """End the process and return its exit status."""
        process, self._process = self._process, None
        return 0 if process is None else process.end(0.2)


def main() -> None:
    """Run jobs from standard input until it is closed or has been idle for a while."""
    incoming, outgoing = reserve_pipes()
    memory = limits.OCR_MEMORY_BYTES if sys.argv[2] == "ocr" else limits.EXTRACTION_MEMORY_BYTES
    apply_child_limits(NICENESS, memory)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    confine()
    with contextlib.suppress(BrokenPipeError):
        while select.select([incoming], [], [], limits.EXTRACTION_IDLE_SECONDS)[0]:
            job = read(incoming)
            if job is None:
                return
            write(outgoing, {}, _drawn(*job) if "page" in job[0] else encode(_extract(*job)))


def _extract(job: JSON, data: bytes) -> Note:
    path, ocr = job["path"], bool(job["ocr"])
    extractor = EXTRACTORS[job["kind"]]
    seconds = limits.OCR_SECONDS if ocr else extractor.seconds
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        failpoints.failpoint(f"extract {path}")
        read = extractor.function()
        return read(data, path, ocr=ocr) if job["kind"] == "pdf" else read(data, path)
    except (MemoryError, RecursionError):
        return named_only(path, "too_complex", "reading the file takes too much memory")
    except Exception as error:
        return named_only(path, "not_indexed", f"this file could not be read ({type(error).__name__})")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _drawn(job: JSON, data: bytes) -> bytes:
    from vaultseek.content.extractors.pdf import draw

    signal.setitimer(signal.ITIMER_PROF, EXTRACTORS["pdf"].seconds)
    try:
        return draw(data, job["page"])
    except Exception:
        return b""
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


if __name__ == "__main__":
    main()
