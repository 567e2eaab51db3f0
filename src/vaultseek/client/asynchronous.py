"""The asyncio twin of the blocking client: many calls at once over one connection. ::

async with AsyncClient() as client:
    found, status = await asyncio.gather(client.search("tomato soup"), client.status())
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from vaultseek import messages
from vaultseek.client.blocking import NEVER_REPEATED, Verbs, read_message, went_away
from vaultseek.errors import Cancelled, Unavailable, VaultseekError
from vaultseek.limits import (
    ANSWER_BYTES,
    CALL_SECONDS,
    RECEIVE_BYTES,
    RECONNECT_FIRST_SECONDS,
    RECONNECT_SECONDS,
    UNSENT_BYTES,
)
from vaultseek.model import JSON
from vaultseek.text import quote
from vaultseek.wire import endpoint, protocol
from vaultseek.wire.frame import FrameReader, encode
from vaultseek.wire.outbox import Outbox

_DEFAULT = -1.0


class AsyncClient(Verbs):
    """A connection to the daemon, made when it is entered or first used; for one event loop.

    A call that is cancelled is cancelled in the daemon too. Notifications go to ``on_notification`` as they
    come. Calls after a restart of the daemon connect again; subscriptions have to be made again, which
    ``on_disconnect`` is there for. Requests and answers are checked by the schema of the protocol, unless
    ``validate`` is false.
    """

    def __init__(
        self,
        socket_path: Path | None = None,
        timeout: float | None = CALL_SECONDS,
        *,
        name: str = "vaultseek.client.asynchronous",
        validate: bool = True,
        on_notification: Callable[[str, JSON], object] = lambda method, params: None,
        on_disconnect: Callable[[], object] = lambda: None,
    ) -> None:
        self.server: JSON = {}
        self._path = socket_path or endpoint.default_path()
        self._timeout = timeout
        self._name = name
        self._validate = validate
        self._told = on_notification
        self._lost = on_disconnect
        self._last_id = 0
        self._line: _Line | None = None
        self._connecting = asyncio.Lock()
        self._connected_before = False

    async def __aenter__(self) -> Self:
        await self._ready()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Leave. Requests that still run in the daemon are cancelled there, calls that wait fail."""
        line, self._line = self._line, None
        if line is not None:
            await line.close()

    async def call(self, method: str, params: JSON | None = None, *, timeout: float | None = _DEFAULT) -> Any:
        """The daemon's answer to ``method``; arguments and errors as for ``Client.call``."""
        seconds = self._timeout if timeout == _DEFAULT else timeout
        if self._validate:
            messages.check_request(method, params or {})
        try:
            async with asyncio.timeout(seconds):
                answer = await self._call(method, params or {})
        except TimeoutError:
            raise Cancelled(f"the daemon did not answer {quote(method)} in time; try again") from None
        if self._validate:
            messages.check_answer(method, answer)
        return answer

    async def notify(self, method: str, params: JSON | None = None) -> None:
        """Tell the daemon something that needs no answer."""
        try:
            await (await self._ready()).send(encode(protocol.notification(method, params or {})))
        except ConnectionError:
            raise went_away(method) from None

    async def _call(self, method: str, params: JSON) -> Any:
        old = self._line
        try:
            return await self._exchange(await self._ready(), method, params)
        except ConnectionError:
            # A line that broke in the middle may only be the old daemon's; once is enough to find out.
            if old is None or method in NEVER_REPEATED:
                raise went_away(method) from None
        try:
            return await self._exchange(await self._ready(), method, params)
        except ConnectionError:
            raise went_away(method) from None

    async def _exchange(self, line: _Line, method: str, params: JSON) -> Any:
        self._last_id += 1
        return await line.ask(self._last_id, method, params)

    async def _ready(self) -> _Line:
        async with self._connecting:
            if self._line is None or self._line.broken:
                await self.close()
                self._line = await self._reconnect()
            return self._line

    async def _reconnect(self) -> _Line:
        give_up = time.monotonic() + (RECONNECT_SECONDS if self._connected_before else 0.0)
        pause = RECONNECT_FIRST_SECONDS
        while True:
            try:
                return await self._connect()
            except Unavailable:
                if time.monotonic() + pause >= give_up:
                    raise
            await asyncio.sleep(pause)
            pause *= 2

    async def _connect(self) -> _Line:
        line = _Line(self._path, self._told, self._lost)
        params = {"protocol_version": protocol.VERSION, "client": self._name, **line.shown()}
        try:
            server = await self._exchange(line, protocol.INITIALIZE, params)
            line.check(server)
            self.server = server
        except ConnectionError:
            await line.close()
            raise Unavailable(f"the daemon at {self._path} does not answer; its log may say why") from None
        except BaseException:
            await line.close()
            raise
        self._connected_before = True
        return line


class _Line:
    """One connection: what is asked waits in ``_asked`` until the reader brings the answer."""

    def __init__(self, path: Path, told: Callable[[str, JSON], object], lost: Callable[[], object]) -> None:
        self.broken = False
        self._told = told
        self._lost = lost
        self._asked: dict[int, asyncio.Future[Any]] = {}
        # Ends at once either way: on the same machine they connect or they do not.
        self._socket, self._secrets = endpoint.reach(path, time.monotonic())
        self._socket.setblocking(False)
        self._outbox = Outbox(self._socket, cap=UNSENT_BYTES, patience=None)
        self._tasks = (asyncio.create_task(self._read()), asyncio.create_task(self._write()))

    def shown(self) -> JSON:
        """What has to go with ``initialize``."""
        return {"token": self._secrets.token} if self._secrets else {}

    def check(self, server: JSON) -> None:
        """Raise Unavailable if the answer to ``initialize`` is not our daemon's."""
        if self._secrets:
            self._secrets.check(server)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        try:
            await asyncio.gather(*self._tasks, return_exceptions=True)
        finally:
            self._socket.close()

    async def send(self, frame: bytes) -> None:
        if self.broken:
            raise ConnectionResetError
        await self._outbox.room()
        self._outbox.put(frame)

    async def ask(self, id: int, method: str, params: JSON) -> Any:
        answer = self._asked[id] = asyncio.get_running_loop().create_future()
        try:
            await self.send(encode(protocol.request(id, method, params)))
            return await answer
        except asyncio.CancelledError:
            self._outbox.put(encode(protocol.notification(protocol.CANCEL, {"id": id})))
            raise
        finally:
            del self._asked[id]
            if not answer.cancel() and not answer.cancelled():
                answer.exception()

    async def _write(self) -> None:
        # Why the daemon closed the connection may still wait to be read; the reader sees the end.
        with contextlib.suppress(OSError):
            await self._outbox.run()
        self._outbox.abandon()

    async def _read(self) -> None:
        error: Exception = ConnectionResetError("the daemon closed the connection")
        try:
            frames = FrameReader(ANSWER_BYTES)
            loop = asyncio.get_running_loop()
            while data := await loop.sock_recv(self._socket, RECEIVE_BYTES):
                frames.feed(data)
                while (body := frames.next()) is not None:
                    self._take(read_message(body))
        except (OSError, VaultseekError) as told:
            error = told if isinstance(told, VaultseekError) else error
        finally:
            self.broken = True
            self._outbox.abandon()
            for answer in self._asked.values():
                if not answer.done():
                    answer.set_exception(error)
        asyncio.get_running_loop().call_soon(self._lost)

    def _take(self, message: JSON) -> None:
        id = message.get("id")
        if "method" in message:
            # Not called from here: what goes wrong in it must not end the connection.
            notice = (str(message["method"]), message.get("params") or {})
            asyncio.get_running_loop().call_soon(self._told, *notice)
        elif id is None and "error" in message:
            raise protocol.raised(message["error"])
        elif isinstance(id, int) and (answer := self._asked.get(id)) is not None and not answer.done():
            if "error" in message:
                answer.set_exception(protocol.raised(message["error"]))
            else:
                answer.set_result(message.get("result"))
