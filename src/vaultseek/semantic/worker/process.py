"""First steps of the worker's processes: claim the pipes, and never outlive whoever started them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from pathlib import Path
from typing import BinaryIO

_PR_SET_PDEATHSIG = 1
_LIKELY_VICTIM = "800"


def claim_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Keep standard input and output for frames, and redirect the output of libraries to standard error."""
    incoming = os.fdopen(os.dup(0), "rb")
    outgoing = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return incoming, outgoing


def become_expendable() -> None:
    """Create private files only, leave Ctrl-C to the daemon, and be the first victim if memory runs out."""
    os.umask(0o077)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_LIKELY_VICTIM)


def die_with(parent: int) -> None:
    """Have the kernel kill this process when the daemon dies, even while native code hangs."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)
