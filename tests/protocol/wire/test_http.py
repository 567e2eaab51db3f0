"""The limits of the HTTP servers: headers, incomplete requests, silence, and clients that do not read."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import psutil
import pytest

from vaultseek.base import limits
from vaultseek.protocol.wire.http import serving_http
from vaultseek.protocol.wire.loopback import listen_on
from worlds import until

PATIENCE = 20.0
LARGE = b"x" * (16 << 20)
released = asyncio.Event()


async def app(scope, receive, send):
    if scope["path"] == "/slow":
        await released.wait()
    body = LARGE if scope["path"] == "/large" else b"fine"
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class Door:
    """A server, and connections to it."""

    def __init__(self, port: int, connections: contextlib.AsyncExitStack) -> None:
        self.port = port
        self._connections = connections

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self._connections.callback(writer.close)
        return reader, writer

    def served(self) -> int:
        """Return the number of open connections of the server."""
        own = psutil.Process().net_connections("tcp")
        return sum(each.status == psutil.CONN_ESTABLISHED and each.laddr.port == self.port for each in own)

    async def ask(self, path: str = "/", more: bytes = b"") -> bytes:
        """Return the answer to a request on a new connection."""
        reader, writer = await self.connect()
        with contextlib.suppress(ConnectionError):
            writer.write(b"GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" % path.encode())
            writer.write(more + b"\r\n")
            await writer.drain()
        async with asyncio.timeout(PATIENCE):
            return await _rest(reader)


async def _rest(reader: asyncio.StreamReader) -> bytes:
    """Return the remaining data until the server closes the connection."""
    received = b""
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(1 << 20):
            received += data
    return received


@pytest.fixture
async def door() -> AsyncIterator[Door]:
    async with contextlib.AsyncExitStack() as connections:
        listening: socket.socket = listen_on(0)
        await connections.enter_async_context(serving_http(app, listening))
        yield Door(listening.getsockname()[1], connections)


@pytest.mark.fault("K5")
async def test_a_header_without_end_is_refused_soon(door):
    reader, writer = await door.connect()
    writer.write(b"GET / HTTP/1.1\r\nX: ")
    sent = 0
    with contextlib.suppress(ConnectionError):
        async with asyncio.timeout(PATIENCE):
            while sent < 64 * limits.MIB and not writer.is_closing():
                writer.write(b"a" * limits.MIB)
                sent += limits.MIB
                await writer.drain()
    assert sent < 64 * limits.MIB
    assert b" 400 " in await _rest(reader) or reader.exception()
    assert b"fine" in await door.ask()


@pytest.mark.fault("K5")
async def test_a_thousand_half_requests_keep_nobody_out(door):
    halves = []
    for number in range(1000):
        reader, writer = await door.connect()
        writer.write(b"GET / HTTP/1.1\r\nHost" if number % 2 else b"")
        halves.append(reader)
        if number % 100 == 0:
            assert b"fine" in await door.ask()
    assert b"fine" in await door.ask()
    await until(
        lambda: sum(not each.at_eof() and not each.exception() for each in halves) < limits.HTTP_CLIENTS
    )


@pytest.mark.fault("K5")
@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: x\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{",
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHo",
    ],
    ids=["silence", "half a head", "half a body", "half a second request"],
)
async def test_whoever_does_not_go_on_is_disconnected(door, begun, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "HTTP_REQUEST_SECONDS", 0.2)
    reader, writer = await door.connect()
    writer.write(begun)
    async with asyncio.timeout(PATIENCE):
        await _rest(reader)


@pytest.mark.fault("K5")
async def test_whoever_does_not_read_an_answer_is_disconnected(door, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "SLOW_READER_SECONDS", 0.2)
    with socket.create_connection(("127.0.0.1", door.port)) as connection:
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        await until(lambda: door.served() > 0)
        await until(lambda: not door.served())


@pytest.mark.fault("K5")
async def test_a_head_that_drips_ends_in_time(door, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "HTTP_REQUEST_SECONDS", 0.3)
    reader, writer = await door.connect()
    with contextlib.suppress(ConnectionError):
        async with asyncio.timeout(PATIENCE):
            while not reader.at_eof() and not reader.exception():
                writer.write(b"G" if not reader.at_eof() else b"")
                await asyncio.sleep(0.02)
    assert b"fine" in await door.ask()


async def test_requests_one_after_the_other_share_a_connection(door):
    reader, writer = await door.connect()
    for _ in range(3):
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        async with asyncio.timeout(PATIENCE):
            assert b"200" in await reader.readuntil(b"\r\n\r\n")
            assert await reader.readexactly(4) == b"fine"


@pytest.mark.fault("L9")
async def test_l9_a_crowd_of_requests_gets_answers_and_no_resets(door, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "HTTP_REFUSED_SECONDS", PATIENCE)
    asked = [asyncio.create_task(door.ask("/slow")) for _ in range(200)]
    await until(lambda: sum(each.done() for each in asked) == 200 - limits.HTTP_CLIENTS)
    released.set()
    answers = await asyncio.gather(*asked)
    statuses = [answer[9:12] for answer in answers]
    assert statuses.count(b"200") == limits.HTTP_CLIENTS
    assert statuses.count(b"503") == 200 - limits.HTTP_CLIENTS
    assert (
        b'{"error": {"code": "busy", "message": "too many requests at once; try again"}}'
        in answers[statuses.index(b"503")]
    )
    assert b"fine" in await door.ask()
