"""The daemon's folder, lock and socket.

The order matters: the lock is taken first, so the process that holds it may replace a dead socket. A live
socket is never replaced, and a file that is not our socket is never removed. The locks are kernel locks,
which are released when the process ends; the process id in the lock file is only for display.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import stat
import sys
import time

from vaultseek.base import paths
from vaultseek.base.limits import BACKLOG
from vaultseek.errors import AlreadyRunning, Unavailable, advise
from vaultseek.protocol.wire.reach import LOCKED, address, make_folders, owner, read_owner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOCK_GLANCE_SECONDS = 0.1
"""Seconds to wait for the lock on the lock file; a process may hold this lock briefly just to check it."""
LOCK_SECONDS = 0.5
"""Seconds to wait for the lock on the folder; programs that clean up temporary files may hold it briefly."""

_OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_OPEN_LOCK = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_ACTIVATED = 3


class Endpoint:
    """The daemon's lock and its listening socket, from ``open`` to ``close``.

    ``socket`` is a non-blocking listener; clients find it at ``path``.
    """

    def __init__(self, path: Path, locks: _Locks, listening: socket.socket, *, activated: bool) -> None:
        self.path = path
        self.socket = listening
        self._locks = locks
        self._activated = activated
        self._inode = _inode(path)

    @classmethod
    def open(cls, path: Path | None = None) -> Endpoint:
        """Acquire the lock and the socket at ``path``, by default at the user's own path.

        A socket handed over by a supervisor (``LISTEN_FDS``) is used instead of a new one. Raises
        AlreadyRunning if another daemon holds the lock, and Unavailable if the folder cannot be made safe.
        """
        path = path or paths.socket_file()
        locks = _Locks(path)
        try:
            locks.take()
            inherited = _inherited_socket(path)
            listening = inherited or _bind(path)
            listening.setblocking(False)
            return cls(path, locks, listening, activated=inherited is not None)
        except BaseException:
            locks.release()
            raise

    def is_ours(self) -> bool:
        """Return True if clients still reach this daemon: its socket and its lock are in place."""
        return self._is_bound() and self._locks.are_in_place()

    def restore(self) -> socket.socket | None:
        """Recreate the folder, lock or socket file if it was removed; return the new ``socket``.

        Returns None if the socket file was still in place. The old socket stays open for its server. Raises
        AlreadyRunning if another daemon now holds the lock, and Unavailable if another file has replaced the
        socket.
        """
        self._locks.take()
        if self._is_bound():
            return None
        self.socket = _bind(self.path)
        self.socket.setblocking(False)
        self._inode = _inode(self.path)
        self._activated = False
        return self.socket

    def forget(self) -> None:
        """Remove the socket file if it is still this daemon's, so that no more clients can connect."""
        if not self._activated and self._is_bound():
            self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Stop listening, remove the socket file if it is still this daemon's, then release the lock."""
        self.forget()
        self.socket.close()
        self._locks.release()

    def _is_bound(self) -> bool:
        return self._inode is not None and _inode(self.path) == self._inode


class _Locks:
    """The locks on the socket's folder and on the lock file in the folder, from ``take`` to ``release``.

    The lock file can be deleted and created again while a daemon holds it, so the folder is locked as well.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.with_suffix(".lock")
        self._held: dict[Path, int] = {}

    def take(self) -> None:
        """Acquire the locks that are not held, or whose file or folder was removed. Raises AlreadyRunning."""
        taken: dict[Path, int] = {}
        try:
            for place, opened in ((self._file.parent, _private_folder), (self._file, _open_lock)):
                if place not in self._held or not _is_at(place, self._held[place]):
                    taken[place] = opened(place)
            lock = (self._held | taken)[self._file]
            for place, descriptor in taken.items():
                seconds = LOCK_GLANCE_SECONDS if place == self._file else LOCK_SECONDS
                _acquire(descriptor, lock, seconds=seconds)
            os.ftruncate(lock, 0)
            _write_owner(lock)
        except BaseException:
            _close(taken)
            raise
        _close({place: self._held[place] for place in taken if place in self._held})
        self._held |= taken

    def are_in_place(self) -> bool:
        """Return True unless the folder or the lock file was removed."""
        return all(_is_at(place, descriptor) for place, descriptor in self._held.items())

    def release(self) -> None:
        """Release the locks."""
        _close(self._held)
        self._held = {}


def _close(descriptors: dict[Path, int]) -> None:
    for descriptor in descriptors.values():
        os.close(descriptor)


def _private_folder(folder: Path) -> int:
    try:
        make_folders(folder)
        opened = os.open(folder, _OPEN_DIRECTORY)
    except OSError as error:
        raise Unavailable(
            f"{folder} cannot be used for the socket: {error.strerror}; set XDG_DATA_HOME"
        ) from error
    try:
        state = os.fstat(opened)
        if state.st_uid != os.geteuid():
            raise Unavailable(f"{folder} belongs to another user (uid {state.st_uid}); remove it")
        if state.st_mode & _OTHERS and folder == paths.socket_file().parent:
            os.fchmod(opened, 0o700)
        elif state.st_mode & _OTHERS_WRITE:
            raise Unavailable(
                f"other users can write to {folder}; run 'chmod 700' on it, or choose another folder"
            )
    except BaseException:
        os.close(opened)
        raise
    return opened


def _open_lock(path: Path) -> int:
    try:
        lock = os.open(path, _OPEN_LOCK, 0o600)
    except OSError as error:
        raise Unavailable(f"{path} cannot be used as a lock: {error.strerror}; remove it") from error
    state = os.fstat(lock)
    if stat.S_ISREG(state.st_mode) and state.st_uid == os.geteuid():
        return lock
    os.close(lock)
    raise Unavailable(f"{path} is not one of vaultseek's lock files; remove it")


def _acquire(descriptor: int, lock: int, *, seconds: float) -> None:
    until = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as error:
            if error.errno not in LOCKED:
                # Some network file systems cannot lock folders; the lock on the file is the decisive one.
                if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                    return
                advice = "set XDG_DATA_HOME to a folder on this machine"
                raise Unavailable(f"the lock cannot be acquired: {error.strerror}; {advice}") from error
        if time.monotonic() >= until:
            pid = read_owner(lock)
            running = f"another daemon is already running{f' (pid {pid})' if pid else ''}"
            raise AlreadyRunning(f"{running}; use it, or stop it", advice=advise("stop"))
        time.sleep(0.01)


def _bind(path: Path) -> socket.socket:
    _clear(path)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with address(path) as place, _private_mode(listening):
            listening.bind(place)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise Unavailable(
            f"the socket {path} cannot be created: {error.strerror or error}; check its folder"
        ) from error
    except BaseException:
        listening.close()
        raise
    return listening


def _write_owner(lock: int) -> None:
    """Write this process's id and machine to the lock file.

    On a full disk, the daemon runs without this entry, so that it can report the full disk.
    """
    try:
        os.pwrite(lock, owner().encode(), 0)
    except OSError as error:
        if not paths.is_disk_full(error):
            raise


@contextlib.contextmanager
def _private_mode(unbound: socket.socket) -> Iterator[None]:
    # Linux gives the socket file the mode of the descriptor. The umask, which all threads share, is used only
    # on other systems.
    if sys.platform == "linux":
        os.fchmod(unbound.fileno(), 0o600)
        yield
        return
    before = os.umask(0o177)
    try:
        yield
    finally:
        os.umask(before)


def _clear(path: Path) -> None:
    try:
        state = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(state.st_mode) or state.st_uid != os.geteuid():
        raise Unavailable(f"{path} is not vaultseek's socket; remove it")
    if _answers(path):
        raise AlreadyRunning(f"another program answers on {path} without holding the lock; stop it first")
    path.unlink(missing_ok=True)


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            with address(path) as place:
                probe.connect(place)
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            # The backlog is full or the socket is of another type: another process uses it.
            return True
        return True


def _is_at(path: Path, descriptor: int) -> bool:
    state = os.fstat(descriptor)
    return _inode(path) == (state.st_dev, state.st_ino)


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        state = os.lstat(path)
    except OSError:
        return None
    return state.st_dev, state.st_ino


def _inherited_socket(path: Path) -> socket.socket | None:
    is_for_us = os.environ.get("LISTEN_PID") == str(os.getpid())
    count = os.environ.get("LISTEN_FDS", "")
    if not is_for_us or not count.isdigit() or int(count) < 1:
        return None
    for name in ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"):
        os.environ.pop(name, None)
    if int(count) > 1:
        raise Unavailable(f"the service manager handed over {count} sockets; one ListenStream= is expected")
    try:
        inherited = socket.socket(fileno=_ACTIVATED)
    except OSError as error:
        raise Unavailable(
            f"the service manager did not hand over a socket: {error.strerror}; install the service again"
        ) from error
    if fault := _socket_fault(inherited, path):
        inherited.close()
        raise Unavailable(f"the service manager handed over {fault}; install the service again")
    inherited.set_inheritable(False)
    return inherited


def _socket_fault(inherited: socket.socket, path: Path) -> str | None:
    if inherited.family != socket.AF_UNIX or inherited.type != socket.SOCK_STREAM:
        return "something other than a Unix stream socket"
    if not inherited.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        return "a socket that does not listen"
    place = inherited.getsockname()
    if not isinstance(place, str) or _inode(path) is None or not _same_place(place, path):
        return f"the socket {place!r}, but clients look for {path}"
    if os.lstat(path).st_mode & _OTHERS:
        return f"the socket {path}, which other users can use (SocketMode=0600 is expected)"
    return None


def _same_place(one: str, other: Path) -> bool:
    try:
        return other.samefile(one)
    except OSError:
        return False
