"""Requests from one client: a few run, the rest wait for a slot, and all can be cancelled."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from dataclasses import dataclass, field

from vaultseek.base import limits
from vaultseek.base.text import quote
from vaultseek.base.threads import Waiting, waiting
from vaultseek.errors import Cancelled, VaultseekError
from vaultseek.protocol.wire.protocol import Id, Request, is_id

DEADLINE_GRACE_SECONDS = 1.0
"""Seconds after the deadline of a request before its handler is cancelled."""
QUEUE_GRACE_SECONDS = 0.1
"""A request past its deadline is cancelled once it has been queued for this many seconds."""


@dataclass(eq=False, slots=True)
class Work:
    """A received request.

    ``deadline`` is a time on the event loop's clock, or None; ``reason`` is set when the request is
    cancelled.
    """

    request: Request
    size: int
    deadline: float | None = None
    timer: asyncio.TimerHandle | None = None
    task: asyncio.Task[bytes] | None = None
    reason: VaultseekError | None = None
    waiting: Waiting = field(default_factory=Waiting)
    """Record of the wait in queues: first for a slot, later for a thread."""


class Requests:
    """A queue that runs ``perform`` for at most ``slots`` requests at once and passes each outcome to
    ``finished``.

    ``finished`` is called with the frame to send, or with the error if the request was cancelled.
    """

    def __init__(
        self,
        slots: int,
        perform: Callable[[Work], Coroutine[None, None, bytes]],
        finished: Callable[[Request, bytes | VaultseekError], None],
    ) -> None:
        self._slots = slots
        self._perform = perform
        self._finished = finished
        self._by_id: dict[Id, Work] = {}
        self._running: set[Work] = set()
        self._waiting: deque[Work] = deque()
        self._waiting_bytes = 0
        self._changed = asyncio.Event()

    def __contains__(self, id: object) -> bool:
        return id in self._by_id

    @property
    def has_unanswered(self) -> bool:
        """True if any request is not answered yet."""
        return bool(self._by_id)

    def is_full(self, waiting_bytes: int) -> bool:
        """Return True if reading should pause, because too many requests, or more than ``waiting_bytes``, are
        waiting."""
        return self._waiting_bytes > waiting_bytes or len(self._waiting) > limits.REQUESTS_WAITING

    async def wait_for_change(self) -> None:
        """Wait until a request starts or finishes."""
        self._changed.clear()
        await self._changed.wait()

    def add(self, work: Work) -> None:
        """Run ``work`` as soon as a slot is free.

        ``work`` is cancelled at its deadline if it is still waiting, or a moment later if it is already
        running.
        """
        if work.request.id is not None:
            self._by_id[work.request.id] = work
        if work.deadline is not None:
            self._schedule_deadline(work, work.deadline)
        work.waiting.since = time.monotonic()
        self._waiting.append(work)
        self._waiting_bytes += work.size
        self._start()

    def cancel(self, id: object, reason: VaultseekError) -> None:
        """Cancel request ``id``; an unknown id is ignored."""
        work = self._by_id.get(id) if isinstance(id, int | str) and is_id(id) else None
        if work is not None:
            self._cancel(work, reason)

    def cancel_waiting(self, reason: VaultseekError) -> None:
        """Cancel all requests that are still waiting."""
        for work in list(self._waiting):
            self._cancel(work, reason)

    def cancel_all(self, reason: VaultseekError) -> None:
        """Cancel all requests."""
        self.cancel_waiting(reason)
        for work in list(self._running):
            self._cancel(work, reason)

    async def wait_until_finished(self, seconds: float) -> None:
        """Wait until the running requests are finished, for at most ``seconds``."""
        tasks = {work.task for work in self._running if work.task is not None}
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
            await asyncio.sleep(0)

    def _schedule_deadline(self, work: Work, deadline: float) -> None:
        """Cancel ``work`` at its deadline if it is still in a queue, or ``DEADLINE_GRACE_SECONDS`` later if
        it is running."""
        loop = asyncio.get_running_loop()

        def check() -> None:
            since = work.waiting.since
            queued = since is not None and time.monotonic() - since >= QUEUE_GRACE_SECONDS
            if queued or loop.time() >= last:
                self._cancel(work, Cancelled(f"the deadline for {quote(work.request.method)} passed"))
            else:
                work.timer = loop.call_at(min(last, loop.time() + QUEUE_GRACE_SECONDS), check)

        last = deadline + DEADLINE_GRACE_SECONDS
        work.timer = loop.call_at(deadline, check)

    def _start(self) -> None:
        while self._waiting and len(self._running) < self._slots:
            work = self._waiting.popleft()
            self._waiting_bytes -= work.size
            self._running.add(work)
            self._run(work)
        self._changed.set()

    def _run(self, work: Work) -> None:
        def done(task: asyncio.Task[bytes]) -> None:
            self._running.discard(work)
            self._end(work, None if task.cancelled() else task.result())
            self._start()

        work.waiting.since = None
        context = copy_context()
        context.run(waiting.set, work.waiting)
        work.task = asyncio.get_running_loop().create_task(self._perform(work), context=context)
        work.task.add_done_callback(done)

    def _cancel(self, work: Work, reason: VaultseekError) -> None:
        if work.reason is not None:
            return
        work.reason = reason
        if work.task is not None:
            work.task.cancel()
        else:
            self._waiting.remove(work)
            self._waiting_bytes -= work.size
            self._end(work, None)
            self._changed.set()

    def _end(self, work: Work, frame: bytes | None) -> None:
        if work.timer is not None:
            work.timer.cancel()
        if work.request.id is not None:
            self._by_id.pop(work.request.id, None)
        if frame is None:
            self._finished(work.request, work.reason or Cancelled("the request was abandoned"))
        else:
            self._finished(work.request, frame)
