"""Turns and threads that requests wait for: whoever answers one can see that its work has not begun yet."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")


class Waiting:
    """The wait of one request for its turn, until its work begins.

    ``since`` is a monotonic time, None while it does not wait. Once it has had its turn, all that it waits
    for is part of its work.
    """

    __slots__ = ("begun", "since")

    def __init__(self) -> None:
        self.since: float | None = None
        self.begun = False


waiting: ContextVar[Waiting | None] = ContextVar("waiting", default=None)
"""The wait of the request that is being answered."""


class Turns:
    """Turns of requests whose work has several steps.

    A few take all their steps while the others wait. If all began, none would be ready by its deadline.
    """

    def __init__(self, most: int) -> None:
        self._free = asyncio.Semaphore(most)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn and keep it; a request that had one goes on."""
        request = waiting.get() or Waiting()
        if request.begun:
            yield
            return
        request.since = time.monotonic()
        async with self._free:
            request.since, request.begun = None, True
            yield


class Threads(ThreadPoolExecutor):
    """A pool that records in ``waiting`` when work is queued and when it begins."""

    def submit(self, function: Callable[..., T], /, *arguments: Any, **more: Any) -> Future[T]:
        """Queue work."""
        request = waiting.get()
        if request is None or request.begun:
            return super().submit(function, *arguments, **more)

        def begun() -> T:
            request.since = None
            return function(*arguments, **more)

        request.since = time.monotonic()
        return super().submit(begun)
