"""Child processes that may crash, hang or be killed: message frames, resource limits, exit.

A frame consists of a magic number, the lengths of its two parts, a JSON object in UTF-8, and a payload of
bytes. Pickle is never used.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from typing import IO, Any, BinaryIO

from vaultseek.base import limits, precedence
from vaultseek.base.failpoints import VARIABLE
from vaultseek.base.model import JSON
from vaultseek.errors import FrameLost, FrameTooLarge

PREFIX = struct.Struct("<4sII")
_MAGIC = b"vsw1"
_PR_SET_PDEATHSIG = 1
_LIKELY_VICTIM = "800"
_OUTPUT_BUFFER = 1 << 18
CRASH_KILLS = 3
"""Number of kills by other programs that count as one crash. The process might not be at fault: when memory
runs out, the system kills whichever process asks for more."""
HANDED_ON = ("PYTHONPATH", "LD_LIBRARY_PATH", VARIABLE)
"""Environment variables that are passed on to every child process."""
_SIGNALS_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def is_from_outside(status: int) -> bool:
    """Return true if an exit status means that another program killed the process.

    Not meaningful if vaultseek itself killed the process.
    """
    return -status in _SIGNALS_FROM_OUTSIDE


class ChildEnded(ConnectionError):
    """Raised when a child process has ended, has missed a deadline, or has written an invalid frame."""


class ChildProcess:
    """A child process used by one thread at a time; any thread may kill it."""

    def __init__(self, command: Sequence[str], *arguments: str, **options: Any) -> None:
        """Start ``command``; its arguments are this process's ID and ``arguments``. Raises OSError on
        failure.

        ``options`` are passed to `subprocess.Popen`.
        """
        # A process that is given its own environment reads hostile input, so it gets nothing that it could
        # write to.
        files, variables = ((), {}) if "env" in options else precedence.handed_on()
        self._process = subprocess.Popen(
            [*command, str(os.getpid()), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=(*options.pop("pass_fds", ()), *files),
            env={**options.pop("env", os.environ), **variables},
            **options,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        self.pid = self._process.pid
        # Reaps a child that ends on its own, for example when idle; otherwise it would remain as a zombie.
        threading.Thread(target=self._process.wait, daemon=True, name=f"parent of {self.pid}").start()

    @property
    def has_ended(self) -> bool:
        """True if the child process has ended."""
        return self._process.poll() is not None

    def send(self, header: JSON, payload: bytes = b"") -> None:
        """Write a frame. Raises ChildEnded on failure."""
        try:
            write(self._input, header, payload)
        except (OSError, ValueError) as error:  # ValueError if the pipe was closed in the meantime
            raise ChildEnded(str(error)) from None

    def receive(self, seconds: float | None = None) -> tuple[JSON, bytes]:
        """Return the next frame, waiting at most ``seconds`` for its first byte (None: no limit). Raises
        ChildEnded."""
        try:
            frame = read(self._output) if seconds is None or _is_ready(self._output, seconds) else None
        except (OSError, FrameLost, ValueError) as error:
            raise ChildEnded(str(error)) from None
        if frame is None:
            raise ChildEnded("the child process has ended")
        return frame

    def kill(self) -> None:
        """Kill the process; a pending ``receive`` raises ChildEnded."""
        self._process.kill()

    def end(self, seconds: float | None = 0.0) -> int:
        """Close the process's input, wait up to ``seconds`` (None: no limit), kill it if necessary, and
        return its exit status."""
        with contextlib.suppress(OSError):
            self._input.close()
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
        status = self._process.wait()
        self._output.close()
        return status


def pack(header: JSON, payload: bytes = b"") -> bytes:
    """Return the bytes of a frame. Raises `FrameTooLarge` if the receiver would refuse it."""
    # A path may hold surrogates for bytes that are not UTF-8.
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":"), check_circular=False)
    head = text.encode("utf-8", "surrogatepass")
    _check_lengths(len(head), len(payload))
    return PREFIX.pack(_MAGIC, len(head), len(payload)) + head + payload


def write(stream: IO[bytes], header: JSON, payload: bytes = b"") -> None:
    """Write a frame to ``stream``. Raises OSError."""
    stream.write(pack(header, payload))
    stream.flush()


def read(stream: IO[bytes]) -> tuple[JSON, bytes] | None:
    """Return the next frame, or None at the end of the stream. Raises `FrameLost` if the stream is broken."""
    prefix = stream.read(PREFIX.size)
    if not prefix:
        return None
    head, payload = lengths_of(prefix)
    return parse(stream.read(head), stream.read(payload), payload)


def lengths_of(prefix: bytes) -> tuple[int, int]:
    """Return the lengths of a frame's header and payload. Raises `FrameLost` if ``prefix`` is invalid."""
    if len(prefix) < PREFIX.size:
        raise FrameLost("a child process's message was cut off")
    magic, head, payload = PREFIX.unpack(prefix)
    if magic != _MAGIC:
        raise FrameLost("a child process sent invalid data")
    try:
        _check_lengths(head, payload)
    except FrameTooLarge as error:
        raise FrameLost(str(error)) from None
    return head, payload


def parse(head: bytes, payload: bytes, size: int) -> tuple[JSON, bytes]:
    """Parse a frame's header, and return it with the payload. Raises `FrameLost` if the header is invalid, or
    if the payload does not have ``size`` bytes."""
    try:
        header = json.loads(head.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or len(payload) != size:
        raise FrameLost("a child process sent an unreadable message")
    return header, payload


def bare_environment() -> dict[str, str]:
    """Return the environment for a child process that reads hostile input. It omits vaultseek's own
    variables, which may contain server keys."""
    return {name: os.environ[name] for name in HANDED_ON if name in os.environ}


def processor_count() -> int:
    """Return the number of processors that this process and its children may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def processor_flags() -> frozenset[str]:
    """Return the names of the processor's instruction sets; empty if the system does not report them."""
    try:
        return frozenset(Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").split())
    except OSError:
        return frozenset()


def memory_bytes(pid: int) -> int | None:
    """Return the resident memory of a process, in bytes; None if it is unavailable."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_bytes().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * resource.getpagesize()


def starved_seconds(pid: int) -> float:
    """Return the total number of seconds that a process's threads have spent waiting for a processor; 0 if
    the system does not report it."""
    nanoseconds = 0
    with contextlib.suppress(OSError, ValueError, IndexError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError):  # the process has just ended
                nanoseconds += int((thread / "schedstat").read_bytes().split()[1])
    return nanoseconds / 1e9


def effort(pid: int) -> tuple[int, int, int] | None:
    """Return three measures of the work that a process has done so far; None if the system does not report
    them.

    The measures are the seconds in which its threads ran or waited for a processor, the number of pages read
    from disk, and the number of bytes read from disk. Only whole seconds count, so that a timer in a hanging
    process does not count as work.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        pages, ticks = int(fields[9]), int(fields[11]) + int(fields[12])
    except (OSError, ValueError, IndexError):
        return None
    read = 0
    with contextlib.suppress(OSError, ValueError, IndexError):
        read = int(Path(f"/proc/{pid}/io").read_bytes().split(b"\nread_bytes:")[1].split()[0])
    return int(ticks / os.sysconf("SC_CLK_TCK") + starved_seconds(pid)), pages, read


def peak_bytes() -> int:
    """Return the peak resident memory of this process, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * limits.KIB


def reserve_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Reserve standard input and output for frames, and redirect libraries' output to standard error. Return
    the two reserved streams."""
    incoming = os.fdopen(os.dup(0), "rb")
    outgoing = os.fdopen(os.dup(1), "wb", _OUTPUT_BUFFER)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return incoming, outgoing


def apply_child_limits(niceness: int = 0, memory: int | None = None) -> None:
    """Make this child process create private files, ignore Ctrl-C, yield to searches, and die with its
    parent.

    The parent's process ID is the first command-line argument. ``memory`` limits the address space, in bytes.
    A signal from a CPU timer (SIGPROF) ends this process. If the machine runs out of memory, the kernel kills
    this process first. A crash leaves no core dump, because a dump would contain the text of notes.
    """
    os.umask(0o077)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    os.nice(niceness)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_LIKELY_VICTIM)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory is not None:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != int(sys.argv[1]):
        os._exit(0)


def return_free_memory() -> None:
    """Return freed memory to the system, if the C library can do so."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _check_lengths(head: int, payload: int) -> None:
    if max(head, payload) > limits.CHILD_FRAME_BYTES:
        raise FrameTooLarge("a message to or from a child process is too large")


def _is_ready(stream: IO[bytes], seconds: float) -> bool:
    with DefaultSelector() as selector:  # select.select rejects file descriptors above 1,023
        selector.register(stream, EVENT_READ)
        return bool(selector.select(seconds))
