"""The loopback port for programs that cannot use the Unix socket: authentication and its errors."""

import asyncio
import contextlib
import json
import os
import socket
import stat
from pathlib import Path

import pytest

from vaultseek.base import limits, paths
from vaultseek.client import AsyncClient, Client
from vaultseek.errors import Forbidden, Unavailable
from vaultseek.protocol.wire import loopback
from vaultseek.protocol.wire.auth import Authenticator, LoopbackVerifier
from vaultseek.protocol.wire.frame import encode
from vaultseek.protocol.wire.loopback import LoopbackPort
from vaultseek.protocol.wire.server import Limits, Server

PATIENCE = 10.0


async def echo(params, context):
    return params


class Port:
    """A server that listens on its port only."""

    def __init__(self, handlers=None, **bounds) -> None:
        self.socket_path = paths.private_directory(paths.socket_file().parent) / "daemon.sock"
        self.port = LoopbackPort.open(self.socket_path)
        self.file = self.port.file
        self.address = json.loads(self.file.read_text())
        self.server = Server(handlers or {"echo": echo}, bounds=Limits(**bounds))
        self.authenticator = Authenticator(LoopbackVerifier(self.port.secrets), self.server.add_client)
        self.serving = asyncio.create_task(self.server.serve(self.port.socket, self.authenticator.accept))

    async def exchange(self, data: bytes, *, hold: bool = False) -> bytes:
        """Send ``data`` and return everything the daemon sends until it disconnects."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port.number)
        try:
            writer.write(data)
            async with asyncio.timeout(PATIENCE):
                return await (reader.read(1 << 16) if hold else reader.read())
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def close(self) -> None:
        await self.authenticator.close()
        await self.server.close(0.0)
        await self.serving
        self.port.close()


@pytest.fixture
async def port():
    server = Port()
    yield server
    await server.close()


def message(method: str, params: dict, id: int | None = 1) -> bytes:
    return encode({"jsonrpc": "2.0", "id": id, "method": method, "params": params})


def hello(token: object = None) -> bytes:
    return message("initialize", {"protocol_version": 1} | ({} if token is None else {"token": token}))


def error_code(answer: bytes) -> str:
    return json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["data"]["code"]


async def test_it_listens_on_loopback_and_its_address_file_is_private(port):
    assert port.port.socket.getsockname()[0] == "127.0.0.1"
    state = port.file.lstat()
    assert stat.S_IMODE(state.st_mode) == 0o600
    assert state.st_uid == os.geteuid()
    assert len(port.address["token"]) >= 40
    assert port.address["token"] != port.address["proof"]
    assert not list(port.file.parent.glob("*.new"))


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o277])
def test_the_file_is_private_under_any_umask(umask, tmp_path):
    before = os.umask(umask)
    try:
        opened = LoopbackPort.open(tmp_path / "daemon.sock")
    finally:
        os.umask(before)
    assert stat.S_IMODE(opened.file.lstat().st_mode) == 0o600
    opened.close()
    assert not opened.file.exists()


async def test_both_clients_find_it_through_the_file_beside_the_socket(port):
    for path in (None, port.file, port.socket_path):
        async with AsyncClient(path) as client:
            assert await client.call("echo", {"n": 1}) == {"n": 1}

        def ask(path=path):
            with Client(path) as client:
                return client.call("echo", {"n": 2})

        assert await asyncio.to_thread(ask) == {"n": 2}


async def test_a_request_sent_with_the_token_is_answered(port):
    token = port.address["token"]
    reader, writer = await asyncio.open_connection("127.0.0.1", port.port.number)
    whole = hello(token) + message("echo", {"n": 7}, 2)
    writer.write(whole[:30])
    await writer.drain()
    writer.write(whole[30:])
    async with asyncio.timeout(PATIENCE):
        received = b""
        while received.count(b"Content-Length") < 2:
            received += await reader.read(1 << 16)
    assert b'"n":7' in received
    writer.close()


@pytest.mark.parametrize("token", ["", "x", "ä" * 43, "\x00", 5, True, ["token"], {}, "A" * 43])
async def test_a_wrong_token_is_refused_and_the_connection_closed(port, token):
    answer = await port.exchange(hello(token) + message("echo", {"n": "secret"}, 2))
    assert error_code(answer) == "forbidden"
    assert b"secret" not in answer
    assert port.address["token"].encode() not in answer
    assert port.address["proof"].encode() not in answer
    assert not port.server.clients


@pytest.mark.parametrize(
    "first",
    [
        hello(),
        message("echo", {"n": 1}),
        message("search", {"query": "pump"}),
        message("shutdown", {}),
        message("$/cancelRequest", {"id": 1}),
        encode({"jsonrpc": "2.0", "id": 1, "result": {}}),
    ],
)
async def test_nothing_is_answered_before_the_token(port, first):
    assert error_code(await port.exchange(first)) == "forbidden"
    assert not port.server.clients


@pytest.mark.parametrize(
    "request_",
    [
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://evil.example\r\nContent-Length: 2\r\n\r\n{}",
        b"OPTIONS * HTTP/1.0\r\nOrigin: null\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"Host: 127.0.0.1\r\nContent-Length: 2\r\n\r\n{}",
        b"Content-Length: 2\r\nOrigin: http://evil.example\r\n\r\n{}",
        b"\x16\x03\x01\x02\x00\x01",
        b"Content-Length: 999999\r\n\r\n",
        b"\r\n\r\n",
    ],
)
async def test_other_protocols_get_no_answer(port, request_):
    real = hello(port.address["token"])
    assert await port.exchange(request_ + real) == b""
    assert not port.server.clients


async def test_silent_connections_are_closed_and_their_number_is_limited(port, monkeypatch):
    monkeypatch.setattr(limits, "HALF_FRAME_SECONDS", 0.5)
    silent = [await asyncio.open_connection("127.0.0.1", port.port.number) for _ in range(40)]
    async with asyncio.timeout(PATIENCE):
        assert {await reader.read() for reader, _ in silent} == {b""}
    for _, writer in silent:
        writer.close()
    async with AsyncClient(port.file) as client:
        assert await client.call("echo", {}) == {}


async def test_silent_connections_keep_nobody_out(port):
    silent = [await asyncio.open_connection("127.0.0.1", port.port.number) for _ in range(60)]
    async with asyncio.timeout(PATIENCE), AsyncClient(port.file) as client:
        assert await client.call("echo", {}) == {}
    for _, writer in silent:
        writer.close()


async def test_unauthenticated_connections_do_not_count_as_clients(monkeypatch):
    port = Port(clients=2)
    try:
        silent = [await asyncio.open_connection("127.0.0.1", port.port.number) for _ in range(5)]
        async with AsyncClient(port.file) as one, AsyncClient(port.file) as two:
            assert await asyncio.gather(one.call("echo", {}), two.call("echo", {})) == [{}, {}]
            assert b"result" in await port.exchange(hello(port.address["token"]), hold=True)
            assert await two.call("echo", {}) == {}, "the one that was silent for longest made room"
        for _, writer in silent:
            writer.close()
    finally:
        await port.close()


async def test_a_stranger_on_the_port_of_a_dead_daemon_gets_no_request(tmp_path):
    heard = []

    async def play(reader, writer):
        heard.append(await reader.read(1 << 16))
        writer.write(encode({"jsonrpc": "2.0", "id": 1, "result": {"protocol_version": 1, "proof": "guess"}}))
        heard.append(await reader.read(1 << 16))
        writer.close()

    file = tmp_path / "daemon.tcp"
    async with await asyncio.start_server(play, "127.0.0.1", 0) as stranger:
        number = stranger.sockets[0].getsockname()[1]
        file.touch(mode=0o600)
        file.write_text(json.dumps({"port": number, "token": "t" * 43, "proof": "p" * 43}))
        with pytest.raises(Unavailable, match="another program answers"):
            await AsyncClient(file).call("search", {"query": "secret"})
        with pytest.raises(Unavailable, match="another program answers"):
            await asyncio.to_thread(Client, file)
    assert not any(b"secret" in data for data in heard)


async def test_the_stale_file_of_a_dead_daemon_is_detected_and_replaced(port):
    stale = port.file.read_text()
    await port.close()
    assert not port.file.exists()
    port.file.touch(mode=0o600)
    port.file.write_text(stale)
    with pytest.raises(Unavailable, match="start one"):
        await asyncio.to_thread(Client)
    with pytest.raises(Unavailable, match="start one"):
        await AsyncClient().call("echo")
    again = Port()
    assert again.address["token"] != json.loads(stale)["token"]
    async with AsyncClient() as client:
        assert await client.call("echo", {"n": 3}) == {"n": 3}
    await again.close()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o622, 0o666])
async def test_a_token_that_others_can_read_is_not_used(port, mode):
    port.file.chmod(mode)
    with pytest.raises(Forbidden, match="others"):
        await asyncio.to_thread(Client, port.file)


@pytest.mark.parametrize("kind", ["link", "folder", "fifo"])
async def test_a_foreign_address_file_is_not_read(port, tmp_path, kind):
    secret = tmp_path / "elsewhere"
    port.file.rename(secret)
    if kind == "link":
        port.file.symlink_to(secret)
    elif kind == "folder":
        port.file.mkdir()
    else:
        os.mkfifo(port.file, 0o600)
    with pytest.raises(Unavailable):
        await asyncio.to_thread(Client, port.file)
    port.file.rmdir() if kind == "folder" else port.file.unlink()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"port": 80}',
        '{"port": 70000, "token": "t", "proof": "p"}',
        '{"port": "80", "token": "t", "proof": "p"}',
        '{"port": 80, "token": 1, "proof": "p"}',
        "[" * 5000,
    ],
)
def test_an_invalid_address_file_is_reported(tmp_path, text):
    file = tmp_path / "daemon.tcp"
    file.touch(mode=0o600)
    file.write_text(text)
    with pytest.raises(Unavailable, match=r"daemon\.tcp"):
        Client(file)


def test_a_file_in_the_way_is_replaced_and_a_link_is_not_followed(tmp_path):
    treasure = tmp_path / "treasure"
    treasure.write_text("gold")
    (tmp_path / "daemon.tcp").symlink_to(treasure)
    (tmp_path / "daemon.tcp.new").symlink_to(treasure)
    opened = LoopbackPort.open(tmp_path / "daemon.sock")
    assert treasure.read_text() == "gold"
    assert stat.S_ISREG(opened.file.lstat().st_mode)
    opened.close()


def test_without_a_writable_folder_there_is_no_port(tmp_path):
    (tmp_path / "daemon.tcp").mkdir()
    with pytest.raises(Unavailable, match=r"daemon\.tcp"):
        LoopbackPort.open(tmp_path / "daemon.sock")


async def test_on_a_system_without_unix_sockets_the_port_is_used(port, monkeypatch):
    monkeypatch.delattr(socket, "AF_UNIX")

    def ask():
        with Client() as client:
            return client.call("echo", {"n": 4})

    assert await asyncio.to_thread(ask) == {"n": 4}


async def test_requests_of_a_disconnected_client_are_cancelled():
    begun, ended = asyncio.Event(), asyncio.Event()

    async def hangs(params, context):
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    port = Port({"hangs": hangs})
    raw = await asyncio.to_thread(loopback.connect, port.file, None)
    raw[0].sendall(hello(port.address["token"]) + message("hangs", {}, 2))
    async with asyncio.timeout(PATIENCE):
        await begun.wait()
        raw[0].close()
        await ended.wait()
    await port.close()


def test_secrets_are_not_in_their_repr():
    assert "abc" not in repr(loopback.Secrets("abc", "abc"))


def test_the_port_is_not_imported_when_there_is_a_socket(tmp_path: Path):
    import subprocess
    import sys

    program = "import sys, vaultseek.client; print('vaultseek.protocol.wire.loopback' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
