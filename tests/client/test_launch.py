"""Starting the daemon in the background, using a small daemon built on the real endpoint and server."""

import os
import signal
import stat
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from vaultseek.base import paths
from vaultseek.client import launch
from vaultseek.client.blocking import Client
from vaultseek.client.launch import start_daemon
from vaultseek.errors import ConfigError, Unavailable

PATIENCE = 30.0

DAEMON = """
    import asyncio, os, sys
    from vaultseek.errors import VaultseekError
    from vaultseek.protocol.wire.endpoint import Endpoint
    from vaultseek.protocol.wire.server import Server

    async def serve(endpoint):
        stopped = asyncio.Event()

        async def shutdown(params, context):
            stopped.set()

        async def session(params, context):
            return {"pid": os.getpid(), "session": os.getsid(0), "open": os.listdir("/proc/self/fd")}

        server = Server({"shutdown": shutdown, "session": session})
        serving = asyncio.create_task(server.serve(endpoint.socket))
        await stopped.wait()
        await server.close(1.0)
        await serving
        endpoint.close()

    with open(sys.argv[1], "a") as starts:
        starts.write("started\\n")
    try:
        endpoint = Endpoint.open()
    except VaultseekError as error:
        print(f"vaultseek: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    print("listening", flush=True)
    asyncio.run(serve(endpoint))
"""


@pytest.fixture
def starts(tmp_path):
    return tmp_path / "starts"


@pytest.fixture
def command(starts):
    yield [sys.executable, "-c", textwrap.dedent(DAEMON), str(starts)]
    try:
        with Client() as client:
            client.shutdown()
    except Unavailable:
        return
    until = time.monotonic() + PATIENCE
    while paths.socket_file().exists() and time.monotonic() < until:
        time.sleep(0.01)


@pytest.fixture
def log():
    return paths.log_file()


def failing(code: str) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(code)]


def test_a_daemon_is_started_detached_and_logs_in_private(command, log):
    start_daemon(command, log, PATIENCE)
    with Client() as client:
        daemon = client.call("session")
    assert daemon["session"] == daemon["pid"] != os.getsid(0)
    assert log.read_text() == "listening\n"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.parent.stat().st_mode) == 0o700


def test_a_daemon_that_runs_is_not_started_again(command, log, starts):
    for _ in range(3):
        start_daemon(command, log, PATIENCE)
    assert starts.read_text() == "started\n"


@pytest.mark.fault("F14")
def test_twenty_starts_at_once_give_one_daemon(command, log, starts):
    def start(_):
        start_daemon(command, log, PATIENCE)
        with Client() as client:
            return client.call("session")["pid"]

    with ThreadPoolExecutor(20) as pool:
        pids = set(pool.map(start, range(20)))
    assert len(pids) == 1
    assert starts.read_text() == "started\n"


def test_who_loses_the_race_for_the_lock_uses_the_daemon_that_won(command, log, monkeypatch):
    answers = launch.answers
    monkeypatch.setattr(launch, "answers", lambda *about: "already running" in read(log) and answers(*about))
    with subprocess.Popen(command, stdout=subprocess.PIPE) as winner:
        assert winner.stdout.readline() == b"listening\n"
        start_daemon(command, log, PATIENCE)
        with Client() as client:
            assert client.call("session")["pid"] == winner.pid
            client.shutdown()


def read(log: Path) -> str:
    return log.read_text() if log.exists() else ""


def test_a_wrong_setting_is_reported_with_the_last_line_of_the_daemon(log):
    log.parent.mkdir(parents=True)
    log.write_text("an older line\n")
    command = failing(
        "import sys; print('first', file=sys.stderr); sys.exit('\\x1b[31mconfig.toml: no such key\\n\\n')"
    )
    with pytest.raises(Unavailable, match=r"^\[31mconfig.toml: no such key$"):
        start_daemon(command, log, PATIENCE)
    command = failing("import sys; print('config.toml: no such key', file=sys.stderr); sys.exit(2)")
    with pytest.raises(ConfigError, match=r"^config.toml: no such key$"):
        start_daemon(command, log, PATIENCE)
    assert read(log).startswith("an older line\n")


def test_a_daemon_that_cannot_start_is_reported_with_its_last_line(log, monkeypatch):
    monkeypatch.setattr(launch, "LAUNCH_LOST_SECONDS", 0.05)
    with pytest.raises(Unavailable, match="the socket is in the way"):
        start_daemon(failing("import sys; print('the socket is in the way'); sys.exit(3)"), log, PATIENCE)


def test_a_daemon_that_dies_without_a_word_is_reported_with_its_status(log):
    with pytest.raises(Unavailable, match=f"exited with status -{int(signal.SIGKILL)}; see its log"):
        start_daemon(failing("import os; os.kill(os.getpid(), 9)"), log, PATIENCE)


def test_a_daemon_that_does_not_answer_in_time_is_reported(log):
    command = failing("import sys; print(flush=True); sys.stdin.read(); import time; time.sleep(1.5)")
    with pytest.raises(Unavailable, match="has not answered yet"):
        start_daemon(command, log, 0.3)


def test_a_command_that_is_not_there_is_named(log, tmp_path):
    with pytest.raises(Unavailable, match="no-such-program cannot be started"):
        start_daemon([str(tmp_path / "no-such-program")], log, PATIENCE)


def test_the_daemon_inherits_nothing_from_who_started_it(command, log, tmp_path):
    with (tmp_path / "open").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        start_daemon(command, log, PATIENCE)
        with Client() as client:
            daemon = client.call("session")
        places = [os.readlink(f"/proc/{daemon['pid']}/fd/{fd}") for fd in daemon["open"] if fd in "0123"]  # noqa: PTH115
    assert str(tmp_path / "open") not in places
    assert not [place for place in places if place.endswith("launch.lock")]
