"""Lines of work inside the semantic worker: one thread each, first come, first served.

``answer`` is for what somebody waits for, ``embed`` for background embedding at the lowest priority,
``store`` for writing vectors, ``rerank`` for a second look at answers. The lanes run side by side, so a
query never stands behind a batch.
"""

from __future__ import annotations

import contextlib
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence

from vaultseek.errors import Cancelled, VaultseekError
from vaultseek.model import JSON
from vaultseek.worker.pipe import Array, Frame

ANSWER, EMBED, STORE, RERANK = "answer", "embed", "store", "rerank"
LOWEST_PRIORITY = 19
_TAKE_IN_SECONDS = 0.001
_YIELD_SECONDS = 0.5

Reply = tuple[JSON, Sequence[Array]]
Handle = Callable[[Frame], Reply]
Send = Callable[[JSON, Sequence[Array]], None]


class Lanes:
    """The lanes, each handing its frames to ``handle`` and what comes of it to ``send``."""

    def __init__(self, handle: Handle, send: Send) -> None:
        self._lanes = {name: _Lane(name, handle, send) for name in (ANSWER, EMBED, STORE, RERANK)}

    def put(self, frame: Frame) -> None:
        """Line a frame up in the lane that its header names."""
        self._lanes[frame.header["lane"]].put(frame)

    def cancel(self, id: int) -> None:
        """Do not begin the work ``id`` if it is still waiting; it is answered all the same."""
        for lane in self._lanes.values():
            lane.cancelled.add(id)

    def let_answers_pass(self) -> None:
        """Wait a moment while somebody's answer is being worked on; for background work between batches."""
        time.sleep(_TAKE_IN_SECONDS)  # a frame that waits for the interpreter lock is taken in now
        self._lanes[ANSWER].idle.wait(_YIELD_SECONDS)

    def finish(self, seconds: float) -> None:
        """Wait for the write that is under way, if any, but not longer than ``seconds``."""
        self._lanes[STORE].idle.wait(seconds)


class _Lane:
    def __init__(self, name: str, handle: Handle, send: Send) -> None:
        self._name = name
        self._handle = handle
        self._send = send
        self._waiting: queue.SimpleQueue[Frame] = queue.SimpleQueue()
        self.cancelled: set[int] = set()
        self.idle = threading.Event()
        self.idle.set()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def put(self, frame: Frame) -> None:
        self.idle.clear()
        self._waiting.put(frame)

    def _run(self) -> None:
        if self._name == EMBED:
            _lower_priority()
        while True:
            frame = self._waiting.get()
            self._work(frame)
            if self._waiting.empty():
                self.idle.set()
                self.cancelled.clear()
                if not self._waiting.empty():
                    self.idle.clear()

    def _work(self, frame: Frame) -> None:
        id = frame.header["id"]
        try:
            if id in self.cancelled:
                raise Cancelled("the request was taken back")
            self._send({"began": id}, ())
            header, arrays = self._handle(frame)
        except VaultseekError as error:
            self._send({"id": id, "error": error.code, "cause": error.cause, "message": str(error)}, ())
        except BaseException as error:  # native code may panic with one; the lane must go on
            traceback.print_exc(limit=-5, file=sys.stderr)
            line = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            self._send({"id": id, "error": "internal", "message": line}, ())
        else:
            self._send({"id": id, **header}, arrays)


def _lower_priority() -> None:
    """On Linux a thread has a priority of its own, and threads that torch starts from it inherit it."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWEST_PRIORITY)
