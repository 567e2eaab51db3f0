"""The connection to the daemon, which is started when it is needed and told apart from other errors."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

from vaultseek.base.model import JSON
from vaultseek.client import AsyncClient
from vaultseek.errors import NotRunning, Unavailable, VaultseekError

START_AGAIN_SECONDS = 30.0
"""Time after a failed start before the next one is tried."""
SUBSCRIBE_AGAIN_SECONDS = 2.0
"""Time between two looks for a daemon that has ended."""

log = logging.getLogger(__name__)


class Daemon:
    """The daemon: ``start`` starts one unless it runs, or raises VaultseekError.

    ``on_notification`` gets what the daemon tells its subscribers, ``on_return`` is called when it does so
    again after a pause; ``on_failure`` is told why it cannot be asked, each time the cause is another.
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
        self._starting = asyncio.Lock()
        self._failed_at = -START_AGAIN_SECONDS
        self._failure = ""
        self._client = AsyncClient(
            name="vaultseek.lsp",
            validate=False,
            on_notification=on_notification,
            on_disconnect=self._lost,
        )
        self._subscribing: asyncio.Task[None] | None = None
        self._lost_before = False
        self._closed = False

    async def ask(self, method: str, params: JSON) -> Any:
        """Return the daemon's answer. Raises VaultseekError."""
        try:
            answer = await self._ask(method, params)
        except Unavailable as error:
            self._tell(str(error))
            raise
        self._failure = ""
        return answer

    async def close(self) -> None:
        """Disconnect."""
        self._closed = True
        await self._client.close()

    def subscribe(self) -> None:
        """Have the daemon tell of changes and progress from now on."""
        if self._subscribing is None or self._subscribing.done():
            self._subscribing = asyncio.create_task(self._subscribe())

    async def _ask(self, method: str, params: JSON) -> Any:
        try:
            return await self._client.call(method, params)
        except NotRunning:
            pass
        async with self._starting:
            if time.monotonic() - self._failed_at < START_AGAIN_SECONDS:
                raise Unavailable(self._failure or "no daemon is running; run `vaultseek start`")
            try:
                await asyncio.to_thread(self._start)
            except VaultseekError as error:
                self._failed_at = time.monotonic()
                self._tell(str(error))
                raise
        self.subscribe()
        return await self._client.call(method, params)

    async def _subscribe(self) -> None:
        """Subscribe as soon as there is a daemon; none is started for this: the user may have ended it."""
        while not self._closed:
            try:
                await self._client.call("index/subscribe", {})
            except Unavailable:
                await asyncio.sleep(SUBSCRIBE_AGAIN_SECONDS)
            except VaultseekError as error:
                log.info("not subscribed: %s", error)
                return
            else:
                break
        if self._lost_before:
            self._lost_before = False
            self._on_return()

    def _lost(self) -> None:
        self._lost_before = True
        if not self._closed:
            self.subscribe()

    def _tell(self, message: str) -> None:
        if message != self._failure:
            self._failure = message
            self._on_failure(message)
