"""Fixtures for a real daemon in separate directories, driven through the real command line."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest

from forks import forks
from vaultseek.client import Client
from vaultseek.errors import VaultseekError
from worlds import own_directories, write_files

DEADLINE = 90.0
SECONDS = 90.0
"""Maximum duration of a command."""


class Daemon:
    """``vaultseek`` as a user runs it. ``model`` "hashing" needs no torch and starts at once."""

    def __init__(
        self, home: Path, model: str = "hashing", directories: Mapping[str, str] | None = None
    ) -> None:
        """``directories`` replace the directories of the test's environment."""
        self.home = home
        self.directories = dict(directories or {})
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("VAULTSEEK_")}
        self.environment |= {"VAULTSEEK_MODEL__NAME": model, "HOME": str(home), **self.directories}

    def run(self, *arguments: str, cwd: Path | None = None, **more: Any) -> subprocess.CompletedProcess[str]:
        """Run a command and wait for it to end."""
        environment = self.environment | more.pop("env", {})
        place = cwd or self.home
        if not more.keys() - {"input"} and forks().can_run(environment):
            return forks().run(list(arguments), place, environment, more.get("input"), SECONDS)
        command = [sys.executable, "-m", "vaultseek", *arguments]
        return subprocess.run(
            command, cwd=place, env=environment, capture_output=True, text=True, timeout=SECONDS, **more
        )

    def indexed(self, root: Path) -> Path:
        """Index the vault at ``root`` and return it."""
        done = self.run("index", "--wait", "--vault", str(root))
        assert done.returncode == 0, done.stderr
        return root

    def json(self, *arguments: str, **more: Any) -> Any:
        """Return a command's output with ``--json``; assert that its exit code is 0 or 1."""
        done = self.run(*arguments, "--json", **more)
        assert done.returncode in (0, 1), done.stderr
        return json.loads(done.stdout)

    def paths(self, *arguments: str, **more: Any) -> list[str]:
        """Return the paths of a search's results, best first."""
        return [result["path"] for result in self.json("search", *arguments, **more)["results"]]

    def pid(self) -> int:
        """Return the process id of the running daemon."""
        return int(self.json("status")["daemon"]["pid"])

    def kill(self) -> None:
        """Send SIGKILL to the daemon and wait for its end."""
        process = psutil.Process(self.pid())
        os.kill(process.pid, signal.SIGKILL)
        psutil.wait_procs([process], timeout=DEADLINE)

    @property
    def socket(self) -> Path:
        """The path of the daemon's socket."""
        return Path(self.environment["XDG_DATA_HOME"], "vaultseek", "run", "daemon.sock")

    def stop(self) -> None:
        """Stop the daemon if one runs."""
        self.run("stop")

    def log(self) -> str:
        """Return the text of the daemon's log."""
        file = Path(self.environment["XDG_STATE_HOME"]) / "vaultseek" / "daemon.log"
        return file.read_text() if file.exists() else ""


def eventually(condition: Callable[[], Any], what: str = "", seconds: float = DEADLINE) -> Any:
    """Return the first true value of ``condition``; fail after ``seconds``."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"did not happen in {seconds} s: {what}"
        time.sleep(0.05)


@pytest.fixture(name="eventually")
def _eventually() -> Callable[..., Any]:
    return eventually


INDEXED = "indexed"
"""Prefix of the name of a vault folder that a module's tests share; a number follows."""


@pytest.fixture(scope="session")
def shared_daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon for all tests of a process that do not need their own; starting one takes two seconds."""
    place = tmp_path_factory.mktemp("shared")
    (place / "home").mkdir()
    started = Daemon(place / "home", directories=own_directories(place))
    yield started
    started.stop()


def connection(daemon: Daemon) -> Client:
    """Return a connection to a daemon, which is started if it has ended."""
    with contextlib.suppress(VaultseekError):
        return Client(daemon.socket)
    eventually(lambda: daemon.run("start").returncode == 0, "it is not just ending")
    return Client(daemon.socket)


def remove_vaults(daemon: Daemon, is_unused: Callable[[Path], bool]) -> None:
    """Remove unused vaults and their indexes from a daemon."""
    with contextlib.closing(connection(daemon)) as client:
        for vault in client.vaults()["vaults"]:
            if is_unused(Path(vault["path"])):
                client.remove_vault(vault["path"], delete_index=True)


@pytest.fixture
def daemon(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Daemon]:
    """A daemon that the first command starts and that is stopped at the end.

    For a test marked ``shared_daemon``, it is the shared daemon, without the vaults of other tests.
    """
    if request.node.get_closest_marker("shared_daemon"):
        shared = request.getfixturevalue("shared_daemon")
        for name, value in shared.directories.items():
            monkeypatch.setenv(name, value)
        yield Daemon(shared.home, directories=shared.directories)
        remove_vaults(shared, lambda root: not root.parent.name.startswith(INDEXED))
        return
    home = tmp_path / "home"
    home.mkdir()
    started = Daemon(home)
    yield started
    started.stop()


class Indexed(NamedTuple):
    """A daemon and its indexed vault, shared by tests that change neither."""

    daemon: Daemon
    root: Path

    def run(self, *arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
        """Run a command on the vault."""
        return self.daemon.run(*arguments, "--vault", str(self.root), **more)

    def json(self, *arguments: str, **more: Any) -> Any:
        """Return the JSON of a command on the vault."""
        return self.daemon.json(*arguments, "--vault", str(self.root), **more)

    def paths(self, *arguments: str, **more: Any) -> list[str]:
        """Return the paths of a search in the vault."""
        return self.daemon.paths(*arguments, "--vault", str(self.root), **more)


@pytest.fixture(scope="module")
def indexed_vault(
    shared_daemon: Daemon, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Indexed]]:
    """``indexed_vault({"a.md": "# A"})`` indexes a vault for all tests of a module."""
    places: list[Path] = []

    def index(files: Mapping[str, str]) -> Indexed:
        places.append(tmp_path_factory.mktemp(INDEXED))
        daemon = Daemon(shared_daemon.home, directories=shared_daemon.directories)
        indexed = Indexed(daemon, write_files(places[-1] / "vault", files))
        assert indexed.run("index", "--wait").returncode == 0
        return indexed

    yield index
    remove_vaults(shared_daemon, lambda root: root.parent in places)
