"""The daemon under a service manager: started by the unit's command, notifying through a socket."""

import contextlib
import os
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vaultseek.base import paths
from vaultseek.client import Client
from vaultseek.errors import Unavailable
from vaultseek.protocol.wire import reach

DEADLINE = 30.0


class Manager:
    """A service manager that records notifications and can pass a listening socket."""

    def __init__(self, tmp_path: Path, environment: dict[str, str]) -> None:
        self.received: list[str] = []
        self.answered_when_ready: bool | None = None
        self._environment = environment
        self._address = str(tmp_path / "notify.sock")
        self._inbox = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._inbox.bind(self._address)
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, command: list[str], listening: socket.socket | None = None, **more: str) -> None:
        """Run the command; ``listening`` becomes descriptor 3, as with socket activation."""
        environment = self._environment | {"NOTIFY_SOCKET": self._address, "WATCHDOG_USEC": "500000"} | more
        code = (
            "import os, sys; os.environ['LISTEN_PID'] = str(os.getpid()); os.execv(sys.argv[1], sys.argv[1:])"
        )
        if listening is not None:
            # The protocol requires a fixed descriptor number, so a separate program sets it.
            code = f"import os; os.dup2({listening.fileno()}, 3); os.set_inheritable(3, True); {code}"
            environment["LISTEN_FDS"] = "1"
        handed = [] if listening is None else [listening.fileno()]
        started = [sys.executable, "-c", code, *command]
        self.processes.append(
            subprocess.Popen(started, env=environment, pass_fds=handed, stderr=subprocess.PIPE)
        )

    def wait_for(self, line: str, number: int = 1) -> None:
        """Wait until the line has been received ``number`` times."""
        self._inbox.settimeout(DEADLINE)
        while self.received.count(line) < number:
            lines = self._inbox.recv(4096).decode().split("\n")
            if "READY=1" in lines:
                self.answered_when_ready = answers()
            self.received += lines

    def silent_for(self, seconds: float) -> bool:
        """Return true if nothing arrives for this many seconds after the messages already sent."""
        self._inbox.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                self._inbox.recv(4096)
        return not select.select([self._inbox], [], [], seconds)[0]

    def end(self) -> None:
        for process in self.processes:
            process.kill()
            process.communicate()
        self._inbox.close()


def answers() -> bool:
    try:
        with Client(timeout=2.0) as client:
            return bool(client.status())
    except Unavailable:
        return False


@pytest.fixture(autouse=True)
def _short_directory(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Use a short directory, because the path of a service manager's socket is at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="vs-") as folder:
        monkeypatch.setenv("XDG_DATA_HOME", folder)
        yield


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("VAULTSEEK_")}
    return ours | {"VAULTSEEK_MODEL__NAME": "hashing", "HOME": str(tmp_path)}


@pytest.fixture
def manager(tmp_path: Path, environment: dict[str, str]) -> Iterator[Manager]:
    made = Manager(tmp_path, environment)
    yield made
    made.end()


@pytest.fixture
def units(environment: dict[str, str]) -> Callable[..., dict[str, str]]:
    """``units("--no-sandbox")`` returns the output of ``service install --print`` by file name."""

    def printed(*arguments: str) -> dict[str, str]:
        command = [sys.executable, "-m", "vaultseek", "service", "install", "--print", *arguments]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=60, check=True
        )
        files: dict[str, str] = {}
        for part in done.stdout.split("\n# /"):
            path, _, text = part.removeprefix("# /").partition("\n")
            files[Path(path).name] = text.partition("\n$ ")[0] + "\n"
        return files

    return printed


def value(unit: str, key: str) -> str:
    return next(line.removeprefix(f"{key}=") for line in unit.splitlines() if line.startswith(f"{key}="))


@pytest.fixture
def command(units: Callable[..., dict[str, str]]) -> list[str]:
    """The command of the unit, split as systemd does."""
    return shlex.split(value(units()["vaultseek.service"], "ExecStart"))


@pytest.mark.fault("G15")
def test_the_daemon_notifies_readiness_liveness_and_its_end(manager: Manager, command: list[str]) -> None:
    manager.start(command)
    manager.wait_for("READY=1")
    assert manager.answered_when_ready
    manager.wait_for("WATCHDOG=1", 3)
    assert "STATUS=no vault is open" in manager.received
    manager.processes[0].terminate()
    manager.wait_for("STOPPING=1")
    assert manager.processes[0].wait(DEADLINE) == 0


@pytest.mark.fault("G15")
def test_a_hanging_daemon_sends_no_watchdog_notification(manager: Manager, command: list[str]) -> None:
    manager.start(command)
    manager.wait_for("WATCHDOG=1", 2)
    os.kill(manager.processes[0].pid, signal.SIGSTOP)
    assert manager.silent_for(1.5)


@contextlib.contextmanager
def listening(path: Path, mode: int = 0o600) -> Iterator[socket.socket]:
    paths.private_directory(path.parent)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
        door.bind(str(path))
        path.chmod(mode)
        door.listen()
        yield door


@pytest.mark.fault("G15")
def test_a_socket_of_the_managers_is_used_and_outlives_the_daemon(
    manager: Manager, command: list[str], units: Callable[..., dict[str, str]]
) -> None:
    place = Path(value(units()["vaultseek.socket"], "ListenStream"))
    assert place == paths.socket_file()
    with listening(place) as door:
        inode = place.lstat().st_ino
        manager.start(command, door)
        manager.wait_for("READY=1")
        assert manager.answered_when_ready
        with Client() as client:
            client.shutdown()
        manager.wait_for("STOPPING=1")
        assert manager.processes[0].wait(DEADLINE) == 0
        assert place.lstat().st_ino == inode
        assert reach.holder() is None


@pytest.mark.parametrize(
    ("where", "mode", "message"),
    [("elsewhere.sock", 0o600, "but clients look for"), (None, 0o666, "which other users can use")],
)
def test_a_socket_that_does_not_fit_is_refused(
    manager: Manager, command: list[str], tmp_path: Path, where: str | None, mode: int, message: str
) -> None:
    with listening(tmp_path / where if where else paths.socket_file(), mode) as door:
        manager.start(command, door)
        _, complaint = manager.processes[0].communicate(timeout=DEADLINE)
        assert manager.processes[0].returncode == Unavailable.exit_code
        assert message in complaint.decode()


def test_stop_does_not_start_what_it_ended(
    manager: Manager, command: list[str], environment: dict[str, str]
) -> None:
    with listening(paths.socket_file()) as door:
        manager.start(command, door)
        manager.wait_for("READY=1")
        vaultseek = [sys.executable, "-m", "vaultseek"]
        for arguments, message in (
            (["stop"], "stopped"),
            (["stop"], "no daemon is running"),
            (["status"], "no daemon is running; start one with `vaultseek start`"),
        ):
            done = subprocess.run(
                [*vaultseek, *arguments], env=environment, capture_output=True, text=True, timeout=60
            )
            assert done.stdout == f"{message}\n"
        door.setblocking(False)
        with pytest.raises(BlockingIOError):
            door.accept()


def test_stop_ends_a_daemon_whose_socket_file_was_just_deleted(
    manager: Manager, command: list[str], environment: dict[str, str]
) -> None:
    manager.start(command)
    manager.wait_for("READY=1")
    paths.socket_file().unlink()
    vaultseek = [sys.executable, "-m", "vaultseek", "stop"]
    done = subprocess.run(vaultseek, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "stopped\n")
    assert manager.processes[0].wait(DEADLINE) == 0


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
@pytest.mark.parametrize("sandbox", ["--sandbox", "--no-sandbox"])
def test_systemd_reads_the_units(units: Callable[..., dict[str, str]], tmp_path: Path, sandbox: str) -> None:
    odd = tmp_path / 'a "100%" $HOME folder.toml'
    odd.write_text("")
    folder = tmp_path / "units"
    folder.mkdir()
    for name, text in units(sandbox, "--config", str(odd)).items():
        (folder / name).write_text(text)
    files = sorted(map(str, folder.iterdir()))
    checked = subprocess.run(
        ["systemd-analyze", "--user", "verify", *files], capture_output=True, text=True, timeout=60
    )
    assert (checked.returncode, checked.stderr) == (0, "")


def test_the_daemon_is_not_looked_for_in_the_current_folder(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    """A vault is untrusted: a file in it named like a module must not be run."""
    here = tmp_path / "vault"
    here.mkdir()
    (here / "whoosh.py").write_text(f"open({str(tmp_path / 'run')!r}, 'w')")
    vaultseek = Path(sys.executable).parent / "vaultseek"
    try:
        subprocess.run([vaultseek, "start"], cwd=here, env=environment, timeout=60, check=True)
    finally:
        subprocess.run([vaultseek, "stop"], cwd=here, env=environment, timeout=60, check=True)
    assert not (tmp_path / "run").exists()
