"""The single thread that writes to a vault's ledger and keyword index."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")
InWriter = Callable[..., Awaitable[Any]]
"""Type of ``WriterThread.run``, bound to the vault's writer thread."""
log = logging.getLogger(__name__)


class WriterThread:
    """Thread that runs functions one at a time, in the order of the calls."""

    def __init__(self, name: str) -> None:
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=f"writer-{name}")
        self._unawaited: Future[Any] | None = None

    async def run(self, work: Callable[..., T], *arguments: Any) -> T:
        """Run ``work`` in the thread and return its result."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, work, *arguments)

    def submit(self, work: Callable[..., None], *arguments: Any) -> None:
        """Run ``work`` in the thread without waiting for it; log errors."""
        self._unawaited = self._executor.submit(work, *arguments)
        self._unawaited.add_done_callback(_log_error)

    def close(self) -> None:
        """End the thread after its current work."""
        if self._unawaited is not None:
            self._unawaited.cancel()
        self._executor.shutdown()


def _log_error(future: Future[Any]) -> None:
    if not future.cancelled() and future.exception() is not None:
        log.error("a task in the writer thread failed", exc_info=future.exception())
