"""Make a process that reads untrusted files expendable: private, bounded, and gone with its parent."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
from pathlib import Path

_LIKELY_VICTIM = "800"
_PR_SET_PDEATHSIG = 1


def become_expendable(parent: int, memory: int, niceness: int) -> None:
    """Create private files, leave Ctrl-C to the parent, give way to searches, and die with ``parent``.

    ``memory`` bounds the address space in bytes. A timer of processor time ends the process.
    """
    os.umask(0o077)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    os.nice(niceness)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_LIKELY_VICTIM)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)
