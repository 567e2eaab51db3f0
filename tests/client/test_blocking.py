"""The blocking client against a daemon in a thread of the test."""

import asyncio
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from vaultseek.base import paths
from vaultseek.client import Client
from vaultseek.doors.cli.connect import connect_to_running, wait_for_running
from vaultseek.errors import (
    BadQuery,
    Busy,
    Cancelled,
    NotRunning,
    ProtocolError,
    Unavailable,
    UsageError,
    VaultseekError,
    advise,
)
from vaultseek.protocol.wire import reach
from vaultseek.protocol.wire.endpoint import Endpoint
from vaultseek.protocol.wire.frame import encode
from vaultseek.protocol.wire.server import Limits, Server


async def echo(params, context):
    return params


async def who(params, context):
    return {"name": context.client.name, "id": context.request_id}


async def fails(params, context):
    raise BadQuery("unbalanced quote")


async def hangs(params, context):
    await asyncio.Event().wait()


async def reports(params, context):
    for done in range(params["times"]):
        context.notify("progress", {"done": done})
    return "ready"


HANDLERS = {"echo": echo, "who": who, "fails": fails, "hangs": hangs, "reports": reports}


class Daemon:
    """A daemon in a thread: ``start``, ``stop``, and again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.server: Server | None = None
        self._stopping = threading.Lock()

    def start(self, handlers=HANDLERS, **bounds) -> None:
        self.endpoint = Endpoint.open(self.path)
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(handlers, bounds, ready)))
        self._thread.start()
        ready.wait(10)

    async def _serve(self, handlers, bounds, ready) -> None:
        self.loop = asyncio.get_running_loop()
        self.server = Server(handlers, bounds=Limits(**bounds))
        serving = asyncio.create_task(self.server.serve(self.endpoint.socket))
        ready.set()
        await serving
        self.endpoint.close()

    def stop(self) -> None:
        with self._stopping:
            if self.server:
                asyncio.run_coroutine_threadsafe(self.server.close(0.0), self.loop).result(10)
                self._thread.join(10)
                self.server = None


@pytest.fixture
def daemon():
    daemon = Daemon(paths.socket_file())
    yield daemon
    daemon.stop()


@pytest.fixture
def listening():
    """A socket on which a test plays the daemon itself."""
    paths.private_directory(paths.socket_file().parent)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        with reach.address(paths.socket_file()) as place:
            listening.bind(place)
        listening.listen()
        yield listening


def play(listening: socket.socket, *said: bytes) -> threading.Thread:
    """Answer each message of one client with the next of ``said``, then hang up."""

    def run() -> None:
        connection, _ = listening.accept()
        with connection:
            for data in said:
                connection.recv(1 << 16)
                connection.sendall(data)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


GREETING = encode({"jsonrpc": "2.0", "id": 1, "result": {"protocol_version": 1}})


def test_a_call_brings_the_answer(daemon):
    daemon.start()
    with Client() as client:
        assert client.call("echo", {"a": "ü"}) == {"a": "ü"}
        assert client.call("echo") == {}
        assert client.server["server"]["name"] == "vaultseek"


def test_clients_have_a_name_and_ids_of_their_own(daemon):
    daemon.start()
    with Client(name="test") as client:
        first, second = client.call("who"), client.call("who")
    assert first["name"] == "test"
    assert first["id"] != second["id"]


def test_errors_of_the_daemon_are_raised_as_what_they_are_and_the_line_goes_on(daemon):
    daemon.start()
    with Client() as client:
        with pytest.raises(BadQuery, match="unbalanced quote"):
            client.call("fails")
        with pytest.raises(UsageError, match='unknown method "serach"') as raised:
            client.call("serach")
        assert raised.value.code == "unknown_method"
        assert client.call("echo") == {}


def test_without_a_daemon_the_message_says_what_to_do():
    with pytest.raises(Unavailable, match="no daemon is running; start one") as caught:
        Client()
    assert caught.value.advice == advise("start")


def test_a_socket_that_nobody_answers_on_is_no_daemon():
    paths.private_directory(paths.socket_file().parent)
    dead = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with dead, reach.address(paths.socket_file()) as place:
        dead.bind(place)
    with pytest.raises(Unavailable, match="no daemon is running"):
        Client()


def test_notifications_go_to_the_caller_as_they_come(daemon):
    daemon.start()
    told = []
    with Client() as client:
        answer = client.call("reports", {"times": 3}, on_notification=lambda *notice: told.append(notice))
    assert answer == "ready"
    assert told == [("progress", {"done": n}) for n in range(3)]


def test_notifications_nobody_asked_for_are_kept_in_bounds(daemon):
    daemon.start()
    with Client() as client:
        client.call("reports", {"times": 1500})
        kept = [params["done"] for _, params in client.notifications(timeout=0.0)]
    assert kept == list(range(500, 1500))


def test_notifications_can_be_waited_for(daemon):
    kept = []

    async def subscribe(params, context):
        kept.append(context)

    daemon.start({"subscribe": subscribe})
    with Client() as client:
        client.call("subscribe")
        threading.Timer(0.05, daemon.loop.call_soon_threadsafe, (kept[0].notify, "changed", {"n": 1})).start()
        assert next(client.notifications(timeout=10)) == ("changed", {"n": 1})
        assert list(client.notifications(timeout=0.01)) == []
        daemon.loop.call_soon_threadsafe(kept[0].notify, "changed", {"n": 2})
        client.call("subscribe")
        assert list(client.notifications(timeout=0.0)) == [("changed", {"n": 2})]


def test_the_end_of_the_daemon_ends_the_waiting(daemon):
    daemon.start()
    with Client() as client:
        threading.Timer(0.05, daemon.stop).start()
        with pytest.raises(Unavailable, match="disconnected"):
            list(client.notifications())


def test_no_answer_in_time_cancels_the_request_and_the_line_goes_on(daemon):
    cancelled = threading.Event()

    async def slow(params, context):
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    daemon.start({"slow": slow, "echo": echo})
    with Client() as client:
        with pytest.raises(Cancelled, match='did not answer "slow" in time'):
            client.call("slow", timeout=0.05)
        assert cancelled.wait(10)
        assert client.call("echo", {"n": 1}) == {"n": 1}


def test_no_timeout_waits_as_long_as_it_takes(daemon):
    async def slow(params, context):
        await asyncio.sleep(0.8)
        return "done"

    daemon.start({"slow": slow})
    with Client(timeout=0.4) as client:
        assert client.call("slow", timeout=None) == "done"
        with pytest.raises(Cancelled):
            client.call("slow")


@pytest.mark.fault("F13")
def test_a_daemon_that_was_restarted_is_found_again_and_ids_go_on(daemon):
    daemon.start()
    with Client() as client:
        before = client.call("who")["id"]
        daemon.stop()
        daemon.start()
        assert client.call("who")["id"] > before
        daemon.stop()
        daemon.start()
        client.notify("echo")
        assert client.call("echo") == {}


def test_a_daemon_that_is_just_restarting_is_waited_for(daemon):
    daemon.start()
    with Client() as client:
        daemon.stop()
        threading.Timer(0.1, daemon.start).start()
        assert client.call("echo") == {}


def test_a_daemon_that_does_not_come_back_is_reported(daemon, monkeypatch):
    monkeypatch.setattr("vaultseek.client.caller.RECONNECT_SECONDS", 0.1)
    daemon.start()
    with Client() as client:
        daemon.stop()
        for _ in range(2):
            with pytest.raises(Unavailable, match="no daemon is running"):
                client.call("echo")


def test_a_request_that_ends_the_daemon_is_repeated_once_only(listening):
    died = encode({"jsonrpc": "2.0", "method": "progress", "params": {}})
    first = play(listening, GREETING, died)
    client = Client()
    second = play(listening, encode({"jsonrpc": "2.0", "id": 3, "result": {}}), died)
    with pytest.raises(Unavailable, match='disconnected before it answered "search"'):
        client.search("x")
    client.close()
    first.join(10)
    second.join(10)


def test_shutdown_is_never_repeated(listening):
    playing = play(listening, GREETING, b"")
    with Client() as client, pytest.raises(Unavailable, match="disconnected"):
        client.shutdown()
    playing.join(10)
    listening.setblocking(False)
    with pytest.raises(BlockingIOError):
        listening.accept()


def test_too_many_clients_is_reported(daemon):
    begun = threading.Event()

    async def waits(params, context):
        begun.set()
        await asyncio.Event().wait()

    def call(client):
        with pytest.raises(Unavailable):
            client.call("waits")

    daemon.start({"waits": waits}, clients=1)
    with Client() as first:  # an idle client would be closed to make room
        calling = threading.Thread(target=call, args=(first,))
        calling.start()
        assert begun.wait(10)
        with pytest.raises(Busy):
            Client()
        daemon.stop()
        calling.join(10)


def test_a_daemon_that_hangs_up_at_once_is_stopping(listening):
    playing = play(listening)
    with pytest.raises(NotRunning):
        Client()
    playing.join(10)


def test_a_command_asks_again_while_the_daemon_stops(listening, monkeypatch):
    monkeypatch.setattr("vaultseek.doors.cli.connect.daemon_pid", lambda: 1)
    stopping = play(listening)
    assert connect_to_running() is None
    stopping.join(10)
    started = play(listening, GREETING)
    with wait_for_running() as client:
        assert client.server["protocol_version"] == 1
    started.join(10)


def test_a_daemon_that_says_nothing_is_reported_in_time(listening):
    with pytest.raises(Unavailable, match="does not answer"):
        Client(timeout=0.05)


@pytest.mark.parametrize(
    "noise",
    [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"Content-Length: 2\r\n\r\n[]", b"Content-Length: 1\r\n\r\n{"],
)
def test_something_that_is_no_daemon_is_reported(listening, noise):
    playing = play(listening, noise)
    with pytest.raises(ProtocolError):
        Client()
    playing.join(10)


def test_answers_may_hold_what_requests_may_not(listening):
    answer = b'{"jsonrpc":"2.0","id":2,"result":{"isbn":97802013616150000000000}}'
    playing = play(listening, GREETING, b"Content-Length: %d\r\n\r\n%b" % (len(answer), answer))
    with Client() as client:
        assert client.call("note/get") == {"isbn": 97802013616150000000000}
    playing.join(10)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_nothing_is_said_to_the_daemon_of_another_user(tmp_path, monkeypatch):
    monkeypatch.setattr("vaultseek.protocol.wire.reach.os.geteuid", lambda: 12345)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as squatter:
        squatter.bind(str(tmp_path / "s"))
        squatter.listen()
        with pytest.raises(Unavailable, match="belongs to another user"):
            Client(tmp_path / "s")


def test_importing_the_client_loads_nothing_heavy():
    heavy = "asyncio typing dataclasses pathlib subprocess logging inspect pydantic click"
    code = f"""if True:
        import sys
        before = set(sys.modules)
        import vaultseek.client.blocking
        print(set({heavy!r}.split()) & (set(sys.modules) - before))"""
    command = [sys.executable, "-S", "-c", code]
    root = str(Path(sys.modules["vaultseek"].__file__).parents[1])
    found = subprocess.run(command, capture_output=True, text=True, check=True, env={"PYTHONPATH": root})
    assert found.stdout.strip() == "set()"


@pytest.mark.fault("J2")
def test_a_client_survives_a_hundred_errors_without_losing_descriptors(daemon):
    daemon.start()
    before = sum(1 for _ in Path("/proc/self/fd").iterdir())
    for _ in range(100):
        with Client() as client, pytest.raises(VaultseekError):
            client.call("fails")
    until = time.monotonic() + 10
    while sum(1 for _ in Path("/proc/self/fd").iterdir()) > before and time.monotonic() < until:
        time.sleep(0.01)
    assert sum(1 for _ in Path("/proc/self/fd").iterdir()) <= before


async def half_an_answer(params, context):
    return {"name": "notes"}


def test_a_client_that_validates_checks_both_directions(daemon):
    daemon.start({"vault/add": half_an_answer, "echo": echo})
    with Client(validate=True) as client:
        with pytest.raises(UsageError, match="path"):
            client.call("vault/add", {"name": "notes"})
        with pytest.raises(ProtocolError, match=r"vault/add.*path"):
            client.call("vault/add", {"path": "/notes"})
        assert client.call("echo", {"n": 1}) == {"n": 1}, (
            "what is not documented passes, and the line goes on"
        )
    with Client() as client:
        assert client.call("vault/add", {"path": "/notes"}) == {"name": "notes"}
