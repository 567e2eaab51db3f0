"""The semantic worker's own side: a child process that lives and dies with the daemon's pipe.

Run as ``python -P -m vaultseek.worker.main``; it is of no use to a person.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from vaultseek.errors import ProtocolError, VaultseekError
from vaultseek.model import JSON
from vaultseek.worker import pipe
from vaultseek.worker.pipe import Array, Frame

_PR_SET_PDEATHSIG = 1
_LIKELY_VICTIM = "800"
_FINISH_SECONDS = 2.0


def main() -> None:
    """Serve frames from standard input until it ends. Never returns."""
    incoming, outgoing = _take_pipes()
    _become_expendable()
    outbox = _Outbox(outgoing)
    try:
        hello = pipe.read(incoming)
        if hello is None:
            os._exit(0)
        _die_with(hello.header["parent"])
        _serve(hello, incoming, outbox)
    except VaultseekError as error:
        outbox.send({"unfit": str(error)})
        os._exit(2)
    os._exit(0)


def _serve(hello: Frame, incoming: BinaryIO, outbox: _Outbox) -> None:
    from vaultseek.models.embed import load
    from vaultseek.worker.desk import Desk, open_directory
    from vaultseek.worker.lanes import Lanes

    settings = hello.header
    stores = open_directory(settings["stores"])
    folder = settings["directory"]
    encoder = load(settings["model"], Path(folder) if folder else None, precision=settings["precision"])
    encoder.encode(["warm up"])
    lanes = Lanes(lambda frame: desk.handle(frame), outbox.send)
    desk = Desk(encoder, stores, lanes.let_answers_pass)
    ready = {"ready": True, "model": encoder.fingerprint}
    outbox.send({**ready, "dimension": encoder.dimension, "window": encoder.window})
    with contextlib.suppress(ProtocolError):
        while (frame := pipe.read(incoming)) is not None:
            if "cancel" in frame.header:
                lanes.cancel(frame.header["cancel"])
            else:
                lanes.put(frame)
    lanes.finish(_FINISH_SECONDS)


class _Outbox:
    """The pipe to the daemon, for several threads. When nobody reads it any more the process ends."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def send(self, header: JSON, arrays: Sequence[Array] = ()) -> None:
        data = pipe.pack({**header, "peak": _peak_bytes()}, arrays)
        with self._lock:
            try:
                self._stream.write(data)
                self._stream.flush()
            except OSError:
                os._exit(0)


def _take_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Keep standard input and output for frames; what libraries print goes to standard error."""
    incoming = os.fdopen(os.dup(0), "rb")
    outgoing = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return incoming, outgoing


def _become_expendable() -> None:
    """Private files; Ctrl-C is the daemon's business; if memory runs out, this process goes first."""
    os.umask(0o077)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_LIKELY_VICTIM)


def _die_with(parent: int) -> None:
    """Be killed when the daemon dies, even while native code hangs and nobody reads the pipe."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


def _peak_bytes() -> int:
    if sys.platform == "win32":
        return 0
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


if __name__ == "__main__":
    main()
