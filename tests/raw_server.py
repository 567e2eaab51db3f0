"""A server on its own socket, and clients that send arbitrary bytes."""

import asyncio
import contextlib
import json
import socket
import tempfile
from pathlib import Path

import pytest

from vaultseek.protocol.wire.frame import FrameReader, encode
from vaultseek.protocol.wire.server import Limits, Server

PATIENCE = 10.0


class Raw:
    """A client without error handling. ``read`` returns the next message, None if the daemon closed."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._frames = FrameReader(1 << 24)

    async def send(self, data: bytes) -> None:
        async with asyncio.timeout(PATIENCE):
            await asyncio.get_running_loop().sock_sendall(self.socket, data)

    async def ask(self, id, method, params=None, **extra) -> None:
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}, **extra}
        await self.send(encode(message))

    async def body(self, body: bytes) -> None:
        await self.send(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    async def tell(self, method, params=None) -> None:
        await self.send(encode({"jsonrpc": "2.0", "method": method, "params": params or {}}))

    async def read(self):
        async with asyncio.timeout(PATIENCE):
            while (body := self._frames.next()) is None:
                try:
                    data = await asyncio.get_running_loop().sock_recv(self.socket, 1 << 16)
                except ConnectionResetError:
                    return None
                if not data:
                    return None
                self._frames.feed(data)
        return json.loads(body)

    async def answers(self, count: int) -> dict:
        found = [await self.read() for _ in range(count)]
        return {message["id"]: message for message in found}

    def close(self) -> None:
        self.socket.close()


class Wire:
    """``await wire.start(handlers)``, then ``await wire.client()`` as often as needed."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "daemon.sock"
        self._stack = contextlib.ExitStack()
        self._serving: list[asyncio.Task] = []
        self.server: Server | None = None

    async def start(self, handlers, *, admits=None, **bounds) -> Server:
        listening = self._stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        listening.bind(str(self.path))
        listening.listen(128)
        listening.setblocking(False)
        more = {"admits": admits} if admits else {}
        self.server = Server(handlers, bounds=Limits(**bounds), **more)
        self._serving.append(asyncio.create_task(self.server.serve(listening)))
        return self.server

    async def client(self) -> Raw:
        connection = self._stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        connection.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connection, str(self.path))
        return Raw(connection)

    async def client_of(self, principal: str) -> Raw:
        """Return a client that was admitted as this principal."""
        own, theirs = socket.socketpair()
        self._stack.callback(own.close)
        own.setblocking(False)
        self.server.add_client(theirs, principal=principal)
        return Raw(own)

    async def stop(self) -> None:
        if self.server:
            await self.server.close(0.0)
        await asyncio.gather(*self._serving)
        self._serving.clear()
        self._stack.close()
        self.path.unlink(missing_ok=True)


@pytest.fixture
async def wire():
    with tempfile.TemporaryDirectory(prefix="vs") as folder:
        wire = Wire(Path(folder))
        yield wire
        await wire.stop()
