"""Finding the daemon: the path of its socket, the process that holds its lock, and a connection."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import struct
import sys
import time

from vaultseek.base import paths
from vaultseek.base.limits import CLOSE_SECONDS, RECONNECT_FIRST_SECONDS
from vaultseek.errors import Busy, NotRunning, Unavailable
from vaultseek.protocol.wire import protocol
from vaultseek.protocol.wire.frame import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from vaultseek.protocol.wire.loopback import Secrets

SOCKET_PATH_BYTES = 103
"""Maximum length in bytes of a path in a socket address on macOS; Linux allows four more."""
LOCKED = (errno.EWOULDBLOCK, errno.EACCES)
"""Error numbers for a lock held by another process."""
OWNER_BYTES = 300
"""Maximum number of bytes read from a lock file."""


def holder(path: Path | None = None) -> int | None:
    """Return the process id of the daemon that holds the lock for the socket ``path``; 0 if the id is
    unknown, None if no daemon is running.

    Does not connect, because connecting to a service manager's socket would start a daemon.
    """
    name = paths.socket_name() if path is None else os.fspath(path)
    try:
        lock = os.open(_beside(name, ".lock"), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        # Take a shared lock, so that two concurrent checks do not mistake each other for the daemon.
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in LOCKED:
            return None
        return read_owner(lock)
    finally:
        os.close(lock)
    return None


def owner() -> str:
    """Return the content for the lock file: this process's id and machine."""
    return f"{os.getpid()} {_machine()}\n"


def read_owner(lock: int) -> int:
    """Return the process id in an open lock file; 0 if the process is on another machine.

    Machines that share a home directory over the network also share its locks.
    """
    pid, _, machine = os.pread(lock, OWNER_BYTES, 0).decode("utf-8", "replace").strip().partition(" ")
    is_pid = pid.isascii() and pid.isdecimal() and len(pid) < 20
    return int(pid) if is_pid and machine == _machine() else 0


def _machine() -> str:
    # The part after the first dot depends on the network to which a laptop is connected.
    return os.uname().nodename.partition(".")[0]


def connect(path: Path | str, until: float | None) -> socket.socket:
    """Return a blocking socket connected to the daemon at ``path``; the deadline ``until`` is a monotonic
    time, or None.

    Raises NotRunning if there is no daemon, Unavailable if the daemon belongs to another user, and Busy if
    the daemon does not accept the connection in time.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with address(path) as place:
            _connect(connection, place, until)
        if not peer_is_us(connection):
            raise Unavailable(f"the socket {path} belongs to another user, so no request was sent; remove it")
    except (FileNotFoundError, ConnectionError):
        connection.close()
        raise NotRunning from None
    except OSError as error:
        connection.close()
        raise Unavailable(
            f"the socket {path} cannot be used: {error.strerror or error}; check its permissions"
        ) from None
    except BaseException:
        connection.close()
        raise
    return connection


def answers(path: Path | str, until: float) -> bool:
    """Return True if a daemon answers at ``path`` before the monotonic time ``until``."""
    initialize = protocol.request(
        1, protocol.INITIALIZE, {"protocol_version": protocol.VERSION, "client": __name__}
    )
    try:
        with connect(path, until) as connection:
            connection.settimeout(max(RECONNECT_FIRST_SECONDS, until - time.monotonic()))
            # A daemon with too many clients answers and disconnects before it reads the request.
            with contextlib.suppress(ConnectionError):
                connection.sendall(encode(initialize))
            return bool(connection.recv(1))
    except Busy:
        return True
    except (Unavailable, OSError):
        return False


def reach(path: Path | str, until: float | None) -> tuple[socket.socket, Secrets | None]:
    """Return a blocking socket connected to the daemon at ``path``, and the secrets (None for a Unix socket).

    ``path`` is the Unix socket, or the address file of the loopback port. If there is no Unix socket, the
    address file next to it is used. Raises NotRunning, Unavailable, Busy and Forbidden.
    """
    file = _beside(os.fspath(path), ".tcp")
    if os.fspath(path) != file and hasattr(socket, "AF_UNIX"):
        with contextlib.suppress(NotRunning):
            return connect(path, until), None
    from pathlib import Path

    from vaultseek.protocol.wire import loopback

    try:
        return loopback.connect(Path(file), until)
    except (FileNotFoundError, ConnectionError):
        raise NotRunning from None
    except OSError as error:
        fault = f"the port in {file} cannot be used: {error.strerror or error}"
        raise Unavailable(f"{fault}; remove the file and start the daemon again") from None


def _beside(name: str, suffix: str) -> str:
    return os.path.splitext(name)[0] + suffix


def make_folders(folder: Path) -> None:
    """Create ``folder`` and its missing parents, all with mode 0700."""
    for missing in reversed([place for place in (folder, *folder.parents) if not place.exists()]):
        with contextlib.suppress(FileExistsError):
            missing.mkdir(mode=0o700)


def peer_uid(connection: socket.socket) -> int | None:
    """Return the user id of the process at the socket's other end, or None if the system does not provide
    it."""
    if hasattr(socket, "SO_PEERCRED"):
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", raw)[1])
    if sys.platform == "darwin":
        local_level, local_peer_credentials = 0, 1
        raw = connection.getsockopt(local_level, local_peer_credentials, struct.calcsize("2I"))
        return int(struct.unpack("2I", raw)[1])
    return None


def peer_is_us(connection: socket.socket) -> bool:
    """Return True if the process at the socket's other end runs as this user."""
    return peer_uid(connection) == os.geteuid()


@contextlib.contextmanager
def address(path: Path | str) -> Iterator[str]:
    """Yield a socket address for ``path``, even if ``path`` is longer than a socket address allows.

    Raises Unavailable for a path that is too long on a system without ``/proc``.
    """
    name = os.fspath(path)
    if len(os.fsencode(name)) <= SOCKET_PATH_BYTES:
        yield name
        return
    if not os.access("/proc/self/fd", os.X_OK):
        raise Unavailable(f"the socket's path is too long for this system; choose a shorter path than {name}")
    folder = os.open(os.path.dirname(name), os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{os.path.basename(name)}"
    finally:
        os.close(folder)


def _connect(connection: socket.socket, place: str, until: float | None) -> None:
    connection.settimeout(CLOSE_SECONDS)
    while True:
        try:
            return connection.connect(place)
        except BlockingIOError:
            # The socket's backlog is full.
            if until is not None and time.monotonic() >= until:
                raise Busy("the daemon is not accepting connections; try again") from None
            time.sleep(RECONNECT_FIRST_SECONDS)
