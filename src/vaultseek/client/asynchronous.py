"""The asyncio client, which makes many calls at once over one connection. ::

async with AsyncClient() as client:
    answer, status = await asyncio.gather(client.search("tomato soup"), client.status())
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Self

from vaultseek.base import paths
from vaultseek.base.limits import CALL_SECONDS, RECEIVE_BYTES, RECONNECT_SECONDS, UNSENT_BYTES
from vaultseek.base.model import JSON
from vaultseek.client.conversation import (
    DEFAULT_TIMEOUT,
    Answer,
    Conversation,
    Notification,
    attempts,
    connection_lost,
    notification,
    pauses,
    timed_out,
)
from vaultseek.client.methods import AsyncMethods
from vaultseek.errors import NotRunning, Unavailable, VaultseekError
from vaultseek.protocol.wire import reach
from vaultseek.protocol.wire.outbox import Outbox

OnNotification = Callable[[str, JSON], object]
OnDisconnect = Callable[[], object]


class AsyncClient(AsyncMethods):
    """A connection to the daemon for one event loop, opened by ``async with`` or by the first call.

    A cancelled call is also cancelled in the daemon. Notifications are passed to ``on_notification`` as they
    arrive. With ``agent``, answers exclude everything hidden from agents. After a restart of the daemon, the
    next call reconnects; subscribe again in ``on_disconnect``. Requests and answers are checked against the
    protocol's schema, unless ``validate`` is false.
    """

    def __init__(
        self,
        socket_path: Path | None = None,
        timeout: float | None = CALL_SECONDS,
        *,
        name: str = "vaultseek.client.asynchronous",
        validate: bool = True,
        agent: bool = False,
        on_notification: OnNotification = lambda method, params: None,
        on_disconnect: OnDisconnect = lambda: None,
    ) -> None:
        self.server: JSON = {}
        self._path = socket_path or paths.socket_file()
        self._timeout = timeout
        self._name = name
        self._agent = agent
        self._validate = validate
        if validate:
            # imported here: it is the slowest import, and an interactive screen would wait for it
            import vaultseek.protocol.messages.check  # noqa: F401
        self._on_notification = on_notification
        self._on_disconnect = on_disconnect
        self._ids = count(1)
        self._connection: _Connection | None = None
        self._connecting = asyncio.Lock()
        self._connected_before = False

    async def __aenter__(self) -> Self:
        await self._connected()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Disconnect. Requests that are still running in the daemon are cancelled, and waiting calls fail."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def call(
        self, method: str, params: JSON | None = None, *, timeout: float | None = DEFAULT_TIMEOUT
    ) -> Any:
        """Return the daemon's answer to ``method``. Arguments and errors are the same as for
        ``Client.call``."""
        seconds = self._timeout if timeout == DEFAULT_TIMEOUT else timeout
        if self._validate:
            from vaultseek.protocol.messages.check import check_answer, check_request

            check_request(method, params or {})
        try:
            async with asyncio.timeout(seconds):
                answer = await self._call(method, params or {})
        except TimeoutError:
            raise timed_out(method) from None
        if self._validate:
            check_answer(method, answer)
        return answer

    async def notify(self, method: str, params: JSON | None = None) -> None:
        """Send a message to the daemon without expecting an answer."""
        try:
            await (await self._connected()).send(notification(method, params))
        except ConnectionError:
            raise connection_lost(method) from None

    async def _call(self, method: str, params: JSON) -> Any:
        for _ in range(attempts(method, connected_before=self._connection is not None)):
            with contextlib.suppress(ConnectionError):
                return await (await self._connected()).call(method, params)
        raise connection_lost(method)

    async def _connected(self) -> _Connection:
        async with self._connecting:
            if self._connection is None or self._connection.broken:
                await self.close()
                self._connection = await self._reconnect()
            return self._connection

    async def _reconnect(self) -> _Connection:
        remaining = pauses(time.monotonic() + (RECONNECT_SECONDS if self._connected_before else 0.0))
        while True:
            try:
                return await self._connect()
            except Unavailable:
                if (pause := next(remaining, None)) is None:
                    raise
            await asyncio.sleep(pause)

    async def _connect(self) -> _Connection:
        connection = _Connection(self._path, self._ids, self._on_notification, self._on_disconnect)
        try:
            self.server = await connection.initialize(self._name, agent=self._agent)
        except ConnectionError:
            await connection.close()
            raise NotRunning from None  # the daemon is stopping
        except BaseException:
            await connection.close()
            raise
        self._connected_before = True
        return connection


class _Connection:
    """One connection, on which each request waits in ``_waiting`` until the reading task receives the
    answer."""

    def __init__(
        self, path: Path, ids: Iterator[int], on_notification: OnNotification, on_disconnect: OnDisconnect
    ) -> None:
        self._on_notification = on_notification
        self._on_disconnect = on_disconnect
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        # The deadline is now, because on the same machine a connection succeeds or fails without waiting.
        self._socket, secrets = reach.reach(path, time.monotonic())
        self._socket.setblocking(False)
        self._conversation = Conversation(ids, secrets)
        self._outbox = Outbox(self._socket, cap=UNSENT_BYTES, send_seconds=None)
        self._tasks = (asyncio.create_task(self._read()), asyncio.create_task(self._write()))

    @property
    def broken(self) -> bool:
        """True once the connection can no longer be used."""
        return self._conversation.broken

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        try:
            await asyncio.gather(*self._tasks, return_exceptions=True)
        finally:
            self._socket.close()

    async def initialize(self, name: str, *, agent: bool) -> JSON:
        """Return the daemon's answer to ``initialize``. Raises Unavailable if another program sent the
        answer."""
        server: JSON = await self._exchange(*self._conversation.initialize(name, agent=agent))
        self._conversation.verify(server)
        return server

    async def call(self, method: str, params: JSON) -> Any:
        """Return the daemon's answer to ``method``. Raises ConnectionError if the connection breaks first."""
        return await self._exchange(*self._conversation.request(method, params))

    async def send(self, frame: bytes) -> None:
        """Send a frame as soon as the send buffer has room. Raises ConnectionError if the connection is
        broken."""
        if self.broken:
            raise ConnectionResetError
        await self._outbox.room()
        self._outbox.put(frame)

    async def _exchange(self, id: int, frame: bytes) -> Any:
        answer = self._waiting[id] = asyncio.get_running_loop().create_future()
        try:
            await self.send(frame)
            return await answer
        except asyncio.CancelledError:
            self._outbox.put(self._conversation.cancel(id))
            raise
        finally:
            del self._waiting[id]
            if not answer.cancel() and not answer.cancelled():
                answer.exception()

    async def _write(self) -> None:
        # The daemon's reason for closing the connection may not have been read yet, so the reading task
        # handles the end of the connection.
        with contextlib.suppress(OSError):
            await self._outbox.run()
        self._outbox.abandon()

    async def _read(self) -> None:
        failure: Exception = ConnectionResetError("the daemon closed the connection")
        loop = asyncio.get_running_loop()
        try:
            while data := await loop.sock_recv(self._socket, RECEIVE_BYTES):
                self._conversation.receive(data)
                while (event := self._conversation.next_event()) is not None:
                    self._dispatch(event)
        except OSError:
            pass
        except VaultseekError as error:
            failure = error
        finally:
            self._conversation.broken = True
            self._outbox.abandon()
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(failure)
        loop.call_soon(self._on_disconnect)

    def _dispatch(self, event: Answer | Notification) -> None:
        if isinstance(event, Notification):
            # Called from the event loop, because an exception in the callback must not end the connection.
            asyncio.get_running_loop().call_soon(self._on_notification, event.method, event.params)
            return
        answer = self._waiting.get(event.id)
        if answer is None or answer.done():
            return
        if event.error is not None:
            answer.set_exception(event.error)
        else:
            answer.set_result(event.result)


class OnDemand:
    """A client whose calls start the daemon if necessary. ``start`` starts the daemon, and may raise
    VaultseekError."""

    def __init__(self, client: AsyncClient, start: Callable[[], Awaitable[object]]) -> None:
        self._client = client
        self._start = start
        self._starting = asyncio.Lock()

    async def call(self, method: str, params: JSON) -> JSON:
        """Return the answer to ``method``, after starting the daemon if necessary. Raises VaultseekError."""
        answer: JSON
        with suppress(NotRunning):
            answer = await self._client.call(method, params)
            return answer
        async with self._starting:
            await self._start()
        answer = await self._client.call(method, params)
        return answer


def on_demand(start: Callable[[], object], name: str, *, agent: bool = False) -> OnDemand:
    """Return a client that starts the daemon on demand, with this ``name`` in the daemon's log.

    ``start`` is called in a thread. With ``agent``, answers exclude everything hidden from agents.
    """
    return OnDemand(AsyncClient(name=name, agent=agent), partial(asyncio.to_thread, start))
