"""Queues in which requests wait for a turn or a thread, with a record of whether their work has started."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

T = TypeVar("T")


class Waiting:
    """The wait of one request in a queue, until its work starts.

    ``since`` is a monotonic time, None while it does not wait. After its turn, any further waiting is part of
    its work.
    """

    __slots__ = ("had_turn", "since")

    def __init__(self) -> None:
        self.since: float | None = None
        self.had_turn = False


waiting: ContextVar[Waiting | None] = ContextVar("waiting", default=None)
"""State of the current request's wait in a queue."""


class Turns:
    """A limit on concurrent multi-step requests: if all of them ran, none would meet its deadline."""

    def __init__(self, most: int) -> None:
        self._free = asyncio.Semaphore(most)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn and keep it; a request that already had one continues."""
        request = waiting.get() or Waiting()
        if request.had_turn:
            yield
            return
        request.since = time.monotonic()
        async with self._free:
            request.since, request.had_turn = None, True
            yield


class Threads(ThreadPoolExecutor):
    """A thread pool that records in ``waiting`` when work is queued and when it starts.

    Work runs in the context of the request that queued it.
    """

    def submit(self, function: Callable[..., T], /, *arguments: Any, **more: Any) -> Future[T]:
        """Queue work in the pool."""
        request, context = waiting.get(), copy_context()
        if request is None or request.had_turn:
            return super().submit(context.run, function, *arguments, **more)

        def run() -> T:
            request.since = None
            return context.run(function, *arguments, **more)

        request.since = time.monotonic()
        return super().submit(run)
