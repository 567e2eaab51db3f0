"""Starting the daemon in the background; concurrent starts produce only one daemon."""

import fcntl
import os
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from vaultseek.base import paths
from vaultseek.base.limits import ERROR_CHARS, KIB
from vaultseek.base.text import one_line
from vaultseek.errors import ConfigError, Unavailable
from vaultseek.protocol.wire.reach import answers, make_folders

LAUNCH_POLL_SECONDS = 0.005
LAUNCH_LOST_SECONDS = 1.0
"""Seconds to wait for an answer from another daemon that acquired the lock first."""
LAUNCH_TAIL_BYTES = 4 * KIB

_OPEN_LOCK = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
_OPEN_LOG = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW


def start_daemon(command: Sequence[str], log: Path, deadline: float) -> None:
    """Run ``command`` in the background; return when a daemon answers, even if another process started it.

    The daemon's output is appended to ``log`` (mode 0600). ``deadline`` is a timeout in seconds. If the
    daemon exits, raises ConfigError or Unavailable with its last line of output; raises Unavailable if it
    does not answer in time.
    """
    path = paths.socket_file()
    until = time.monotonic() + deadline
    with _turn(path, until):
        if not answers(path, until):
            _launch(command, log, path, until)


@contextmanager
def _turn(path: Path, until: float) -> Iterator[None]:
    # The daemon's own lock ensures that only one daemon runs; this lock avoids starting twenty at once.
    try:
        make_folders(path.parent)
        lock = os.open(path.parent / "launch.lock", _OPEN_LOCK, 0o600)
    except OSError as error:
        raise Unavailable(
            f"{path.parent} cannot be used for the socket: {error.strerror}; set XDG_DATA_HOME"
        ) from error
    try:
        while time.monotonic() < until:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                time.sleep(LAUNCH_POLL_SECONDS)
        yield
    finally:
        os.close(lock)


def _launch(command: Sequence[str], log: Path, path: Path, until: float) -> None:
    paths.private_directory(log.parent)
    output = os.open(log, _OPEN_LOG, 0o600)
    try:
        offset = os.fstat(output).st_size
        child = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            # Each client sends its own time zone; a client that sends none must not get the first client's
            # zone.
            env={name: value for name, value in os.environ.items() if name != "TZ"},
        )
    except OSError as error:
        raise Unavailable(
            f"{command[0]} cannot be started: {error.strerror}; install vaultseek again"
        ) from error
    finally:
        os.close(output)
    # Reap the child process whenever it ends.
    threading.Thread(target=child.wait, daemon=True, name="daemon's parent").start()
    _wait(child, log, offset, path, until)


def _wait(child: subprocess.Popen[bytes], log: Path, offset: int, path: Path, until: float) -> None:
    while time.monotonic() < until:
        ended = child.poll()
        if answers(path, until):
            return None
        if ended is not None:
            return _explain(ended, log, offset, path, until)
        time.sleep(LAUNCH_POLL_SECONDS)
    raise Unavailable(f"the daemon has not answered yet; see its log {log}")


def _explain(ended: int, log: Path, offset: int, path: Path, until: float) -> None:
    message = _last_line(log, offset) or f"the daemon exited with status {ended}; see its log {log}"
    if ended == ConfigError.exit_code:
        raise ConfigError(message)
    # Another daemon may have acquired the lock first and be about to bind the socket.
    lost = min(until, time.monotonic() + LAUNCH_LOST_SECONDS)
    while ended == Unavailable.exit_code and time.monotonic() < lost:
        if answers(path, until):
            return
        time.sleep(LAUNCH_POLL_SECONDS)
    raise Unavailable(message)


def _last_line(log: Path, offset: int) -> str:
    with log.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(offset, end - LAUNCH_TAIL_BYTES))
        lines = [line for line in file.read(LAUNCH_TAIL_BYTES).splitlines() if line.strip()]
    return one_line(lines[-1].decode(errors="replace"), ERROR_CHARS) if lines else ""
