"""Work queues inside the semantic worker. Each queue has its own thread and is first in, first out.

``answer`` is for interactive requests, ``lookup`` for requests that read vectors while a query is being
embedded, ``embed`` for background embedding at the lowest priority, ``store`` for writing vectors, and
``rerank`` for the cross-encoder. The queues run in parallel, so a query never waits for a batch.
"""

import contextlib
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence

from vaultseek.base.model import JSON
from vaultseek.base.precedence import WAIT_SECONDS, give_way
from vaultseek.errors import Cancelled, VaultseekError
from vaultseek.semantic.worker.pipe import Array, Frame

ANSWER, LOOKUP, EMBED, STORE, RERANK = "answer", "lookup", "embed", "store", "rerank"
QUEUES = (ANSWER, LOOKUP, EMBED, STORE, RERANK)
LOWEST_PRIORITY = 19
_RECEIVE_SECONDS = 0.001

Reply = tuple[JSON, Sequence[Array]]
Handle = Callable[[Frame], Reply]
Send = Callable[[JSON, Sequence[Array]], None]


class Queues:
    """The worker's queues; each queue passes its frames to ``handle`` and the replies to ``send``."""

    def __init__(self, handle: Handle, send: Send) -> None:
        self._queues = {name: _Queue(name, handle, send) for name in QUEUES}

    def put(self, frame: Frame) -> None:
        """Append a frame to the queue named in its header."""
        self._queues[frame.header["queue"]].put(frame)

    def cancel(self, id: int) -> None:
        """If the request ``id`` is still waiting, answer it with an error instead of starting it."""
        for work_queue in self._queues.values():
            work_queue.cancelled.add(id)

    def yield_to_answers(self) -> None:
        """Wait briefly while a search or another interactive request runs; called by background work between
        batches."""
        time.sleep(_RECEIVE_SECONDS)  # lets the reading thread have the interpreter lock
        self._queues[ANSWER].idle.wait(WAIT_SECONDS)
        give_way()

    def finish(self, seconds: float) -> None:
        """Wait up to ``seconds`` for the current write, if any, to finish."""
        self._queues[STORE].idle.wait(seconds)


class _Queue:
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
        if self._name == EMBED and sys.platform == "linux":
            # On Linux, this sets the priority of this thread only, and torch's threads inherit it.
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWEST_PRIORITY)
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
                raise Cancelled("the request was cancelled")
            header, arrays = self._handle(frame)
        except VaultseekError as error:
            more = {"cause": error.cause, "advice": error.advice}
            self._send({"id": id, "error": error.code, "message": str(error), **more}, ())
        except BaseException as error:  # native code may panic; the queue must continue
            traceback.print_exc(limit=-5, file=sys.stderr)
            line = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            self._send({"id": id, "error": "internal", "message": line}, ())
        else:
            self._send({"id": id, **header}, arrays)
