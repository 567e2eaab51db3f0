"""Threads that requests wait for: whoever answers a request can see that its work has not begun yet."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")


class Waiting:
    """The wait of one request for a thread; ``since`` is a monotonic time, None while it does not wait."""

    __slots__ = ("since",)

    def __init__(self) -> None:
        self.since: float | None = None


waiting: ContextVar[Waiting | None] = ContextVar("waiting", default=None)
"""The wait of the request that is being answered."""


class Threads(ThreadPoolExecutor):
    """A pool that records in ``waiting`` when work is queued and when it begins."""

    def submit(self, function: Callable[..., T], /, *arguments: Any, **more: Any) -> Future[T]:
        """Queue work."""
        request = waiting.get()
        if request is None:
            return super().submit(function, *arguments, **more)

        def begun() -> T:
            request.since = None
            return function(*arguments, **more)

        request.since = time.monotonic()
        return super().submit(begun)
