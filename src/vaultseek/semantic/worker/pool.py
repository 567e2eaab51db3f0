"""Semantic workers of a process: one child process per model, so that ending a child frees its model's
memory."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from vaultseek.errors import WorkerUnavailable
from vaultseek.semantic.models.catalogue import LocalModel
from vaultseek.semantic.worker.semantic import SemanticWorker

IDLE_SECONDS = 60.0
"""Number of seconds without use after which a worker is stopped, unless it is kept."""

MakeWorker = Callable[[LocalModel], SemanticWorker]


class WorkerPool:
    """Workers of one event loop, by model.

    A worker that is kept runs until it is released; other workers run while in use, and for a while
    afterwards.
    """

    def __init__(self, make: MakeWorker, idle_seconds: float = IDLE_SECONDS) -> None:
        self._make = make
        self._idle_seconds = idle_seconds
        self._leases: dict[tuple[str, Path | None], _Lease] = {}
        self._stopped = False

    def worker(self, model: LocalModel) -> SemanticWorker:
        """Return the worker for ``model``, whether started or not."""
        return self._lease(model).worker

    async def keep(self, model: LocalModel) -> SemanticWorker:
        """Start the worker for ``model``, and keep it running until ``release`` has been called as often as
        ``keep``.

        Raises WorkerUnavailable once the pool is stopped.
        """
        if self._stopped:
            raise WorkerUnavailable("the semantic workers are stopped")
        lease = self._lease(model)
        try:
            await lease.keep()
        except BaseException:  # also if the request that waits for the worker is cancelled
            self.release(model)
            raise
        return lease.worker

    def release(self, model: LocalModel) -> None:
        """Undo one ``keep``; after the last one, the worker ends once it has been idle for a while."""
        lease = self._lease(model)
        lease.users -= 1
        lease.end_later(self._idle_seconds)

    @contextlib.asynccontextmanager
    async def use(self, model: LocalModel) -> AsyncIterator[SemanticWorker]:
        """Yield the worker for ``model``, starting it if necessary and keeping it running until the ``with``
        block ends."""
        worker = await self.keep(model)
        try:
            yield worker
        finally:
            self.release(model)

    async def stop(self) -> None:
        """End all workers permanently."""
        self._stopped = True
        for lease in self._leases.values():
            lease.stop_timer()
        await asyncio.gather(*(lease.worker.stop() for lease in self._leases.values()))

    def _lease(self, model: LocalModel) -> _Lease:
        key = (model.name, model.directory)
        if key not in self._leases:
            self._leases[key] = _Lease(self._make(model))
        return self._leases[key]


class _Lease:
    """A worker, the number of its users, and the timer that ends the worker when it has no users."""

    def __init__(self, worker: SemanticWorker) -> None:
        self.worker = worker
        self.users = 0
        self._ending: asyncio.Task[None] | None = None
        self._changing = asyncio.Lock()

    async def keep(self) -> None:
        """Count one more user and start the worker. If the worker is just being ended, wait for its end
        first."""
        self.users += 1
        self.stop_timer()
        async with self._changing:
            await self.worker.start()

    def stop_timer(self) -> None:
        if self._ending is not None:
            self._ending.cancel()
            self._ending = None

    def end_later(self, seconds: float) -> None:
        """Start the timer that ends the worker after ``seconds``, if the worker has no users."""
        self.stop_timer()
        if self.users <= 0:
            self._ending = asyncio.get_running_loop().create_task(self._end(seconds))

    async def _end(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._ending = None  # must not be cancelled any more: stopping halfway would leave a child behind
        async with self._changing:
            if self.users <= 0:
                await self.worker.stop()


def log_name(model: LocalModel) -> str:
    """Return the name of the log file for a model's worker."""
    name = "".join(c if c.isalnum() or c in "-." else "-" for c in Path(model.name).name)
    return "worker.log" if name == "bundled" else f"worker-{name}.log"
