"""The connection to the daemon (started on demand), and the daemon's notifications."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

from vaultseek.base.model import JSON
from vaultseek.client import AsyncClient
from vaultseek.client.asynchronous import OnDemand
from vaultseek.errors import Unavailable, VaultseekError

RESTART_SECONDS = 30.0
"""Seconds to wait after a failed start before the next attempt."""
RECONNECT_SECONDS = 2.0
"""Seconds between attempts to subscribe again after the daemon has ended."""

log = logging.getLogger(__name__)


class Daemon:
    """A connection to the daemon. ``start`` starts the daemon unless it is running, and may raise
    VaultseekError.

    ``on_notification`` is called with each notification. ``on_return`` is called when notifications resume
    after an interruption, and ``on_failure`` with each new reason why the daemon cannot be reached.
    """

    def __init__(
        self,
        start: Callable[[], object],
        on_notification: Callable[[str, JSON], object],
        on_return: Callable[[], object],
        on_failure: Callable[[str], object],
    ) -> None:
        self._start = start
        self._on_return = on_return
        self._on_failure = on_failure
        self._failed_at = -RESTART_SECONDS
        self._failure = ""
        self._client = AsyncClient(
            name="vaultseek.lsp", validate=False, on_notification=on_notification, on_disconnect=self._lost
        )
        self._daemon = OnDemand(self._client, self._restart)
        self._subscribing: asyncio.Task[None] | None = None
        self._lost_before = False

    async def ask(self, method: str, params: JSON) -> Any:
        """Return the daemon's answer to ``method``. Raises VaultseekError."""
        try:
            answer = await self._daemon.call(method, params)
        except Unavailable as error:
            self._report(str(error))
            raise
        self._failure = ""
        return answer

    def subscribe(self) -> None:
        """Subscribe to changes and to indexing progress."""
        if self._subscribing is None or self._subscribing.done():
            self._subscribing = asyncio.create_task(self._subscribe())

    async def _restart(self) -> None:
        if time.monotonic() - self._failed_at < RESTART_SECONDS:
            raise Unavailable(self._failure or "no daemon is running; run `vaultseek start`")
        try:
            await asyncio.to_thread(self._start)
        except VaultseekError as error:
            self._failed_at = time.monotonic()
            self._report(str(error))
            raise
        self.subscribe()

    async def _subscribe(self) -> None:
        """Subscribe once a daemon is running, but never start one, because the user may have stopped it."""
        while True:
            try:
                await self._client.call("index/subscribe", {})
                break
            except Unavailable:
                await asyncio.sleep(RECONNECT_SECONDS)
            except VaultseekError as error:
                log.info("not subscribed: %s", error)
                return
        if self._lost_before:
            self._lost_before = False
            self._on_return()

    def _lost(self) -> None:
        self._lost_before = True
        self.subscribe()

    def _report(self, message: str) -> None:
        if message != self._failure:
            self._failure = message
            self._on_failure(message)
