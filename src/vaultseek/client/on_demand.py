"""A connection to the daemon that starts one when a call finds none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from vaultseek.base.model import JSON
from vaultseek.client.asynchronous import AsyncClient
from vaultseek.errors import NotRunning


class Daemon:
    """The daemon, started on demand, for one event loop.

    ``start`` is called in a thread when a daemon is needed; it starts one unless it runs, or raises
    VaultseekError. ``name`` is that of the client in the daemon's log.
    """

    def __init__(self, start: Callable[[], object], name: str) -> None:
        self._start = start
        self._starting = asyncio.Lock()
        self._client = AsyncClient(name=name)

    async def call(self, method: str, params: JSON) -> JSON:
        """Return the answer to ``method``. Raises VaultseekError."""
        with suppress(NotRunning):
            return await self._request(method, params)
        async with self._starting:
            await asyncio.to_thread(self._start)
        return await self._request(method, params)

    async def _request(self, method: str, params: JSON) -> JSON:
        answer: JSON = await self._client.call(method, params)
        return answer
