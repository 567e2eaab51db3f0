"""Queues in which requests wait for a turn or for a thread, and a record of whether a request has started."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


class Waiting:
    """Record of how long a request waits in queues before its work starts.

    ``since`` is the monotonic time at which the wait began, or None if the request is not waiting. After the
    request has had its turn, further waiting counts as part of its work.
    """

    __slots__ = ("had_turn", "since")

    def __init__(self) -> None:
        self.since: float | None = None
        self.had_turn = False


waiting: ContextVar[Waiting | None] = ContextVar("waiting", default=None)
"""The state of the current request's wait in a queue."""
requester: ContextVar[object | None] = ContextVar("requester", default=None)
"""The client connection of the current request; None if a program uses the library directly."""


class Turns:
    """A limit on concurrent requests that take several steps. If all of them ran at once, none would meet its
    deadline."""

    def __init__(self, most: int) -> None:
        self._free = asyncio.Semaphore(most)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn and hold it until the ``with`` block ends; a request that already has a turn
        continues at once."""
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
        """Queue a call of ``function`` in the pool."""
        request, context = waiting.get(), copy_context()
        if request is None or request.had_turn:
            return super().submit(context.run, function, *arguments, **more)

        def run() -> T:
            request.since = None
            return context.run(function, *arguments, **more)

        request.since = request.since or time.monotonic()
        return super().submit(run)


class FairThreads(Threads):
    """A thread pool that gives each connection at most one thread at a time."""

    def __init__(self, most: int, *, thread_name_prefix: str) -> None:
        super().__init__(most, thread_name_prefix=thread_name_prefix)
        self._lock = threading.Lock()
        self._ends: WeakKeyDictionary[object, Future[None]] = WeakKeyDictionary()
        """For each connection, a future that completes when the connection's latest work ends."""

    def submit(self, function: Callable[..., T], /, *arguments: Any, **more: Any) -> Future[T]:
        """Queue a call of ``function`` behind the other work of its connection."""
        client, request, context = requester.get(), waiting.get(), copy_context()
        if client is None:
            return super().submit(function, *arguments, **more)
        result: Future[T] = Future()
        end: Future[None] = Future()

        def work() -> None:
            try:
                if result.set_running_or_notify_cancel():
                    result.set_result(function(*arguments, **more))
            except BaseException as error:  # raised where the result is awaited
                result.set_exception(error)
            finally:
                end.set_result(None)

        with self._lock:
            former = self._ends.get(client)
            self._ends[client] = end
        if former is None:
            super().submit(work)
        else:
            if request is not None and not request.had_turn:
                request.since = time.monotonic()
            former.add_done_callback(lambda _: context.run(Threads.submit, self, work))
        return result
