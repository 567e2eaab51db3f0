"""Receive hints from the operating system that a vault may have changed. A hint is never treated as a
fact.
"""

import ctypes
import errno
import logging
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from vaultseek.base.text import printable

RESTART_SECONDS = 10.0
"""Seconds before a failed watch is retried."""
STOP_SECONDS = 5.0
"""Maximum seconds to wait for a watch's thread to end."""

OnHint = Callable[[str], None]
OnRescan = Callable[[str], None]


class Watcher:
    """A recursive watch on a vault's folder, with its own thread.

    ``on_hint`` is called with the vault-relative path of each file or folder that may have changed.
    ``on_rescan`` is called with a reason if changes may have been lost, so that the whole vault must be
    compared.
    """

    def __init__(self, root: Path, on_hint: OnHint, on_rescan: OnRescan) -> None:
        self._root = root
        self._on_hint = on_hint
        self._on_rescan = on_rescan
        self._observer: Any = None
        self._overflow = _OverflowHandler(on_rescan)
        self._identity: _Identity | None = None
        self._started = 0.0
        self._remote = False
        self.may_have_lost_folders = False
        """True after a folder was moved, because watchdog may then watch a different folder in its place."""
        self.poll_reason: str | None = None
        """Reason why changes may go unnoticed; the vault is then polled. None if everything is watched."""

    def start(self) -> None:
        """Start watching. If the folder cannot be watched, sets ``poll_reason`` instead of raising an
        error.
        """
        from watchdog import events
        from watchdog.observers import Observer

        # Exclude open and read-only close events, because indexing itself would fill the queue with them.
        watched_events = [
            events.DirCreatedEvent,
            events.DirDeletedEvent,
            events.DirMovedEvent,
            events.FileAttribEvent,
            events.FileClosedEvent,
            events.FileCreatedEvent,
            events.FileDeletedEvent,
            events.FileModifiedEvent,
            events.FileMovedEvent,
        ]
        self._identity = _identity(self._root)
        self._started = time.monotonic()
        self.may_have_lost_folders = False
        observer: Any = None
        try:
            observer = Observer()
            handler: Any = EventHandler(self.hint, self._note_folder)
            observer.schedule(handler, str(self._root), recursive=True, event_filter=watched_events)
            observer.start()
        except (OSError, RuntimeError) as error:  # RuntimeError if no thread can be started
            _end(observer)
            self.poll_reason = _failure_reason(error)
            return
        remote = _remote_reason(self._root, mounts())
        self._remote = remote is not None
        self.poll_reason = remote or _watch_limit_reason(self._root)
        logging.getLogger("watchdog").addHandler(self._overflow)
        self._observer = observer

    def stop(self) -> None:
        """Stop watching, and wait until the watch's threads have ended."""
        logging.getLogger("watchdog").removeHandler(self._overflow)
        observer, self._observer = self._observer, None
        _end(observer)

    def alive(self) -> bool:
        """True while hints can arrive; False once the folder, or a mount below it, has been replaced."""
        observer = self._observer
        if _identity(self._root) != self._identity:
            return False
        if observer is None:
            return self.poll_reason is not None
        return all(thread.is_alive() for thread in _threads(observer))

    def look(self) -> None:
        """Check whether the system's limit on watches is reached; if so, new folders are not watched."""
        if self._observer is not None and self.poll_reason is None:
            self.poll_reason = _watch_limit_reason(self._root)

    def may_see_more(self) -> bool:
        """True if restarting the watch may reach folders that could not be watched before. Always False
        within ``RESTART_SECONDS`` of the last start.
        """
        if self.poll_reason is None or self._remote or time.monotonic() - self._started < RESTART_SECONDS:
            return False
        return self._observer is None or _watch_limit_reason(self._root) is None

    def hint(self, path: str | bytes) -> None:
        """Pass on the path of an event as a hint; a path outside the vault is ignored."""
        text = os.fsdecode(path)
        relative = os.path.relpath(text, self._root) if text else ""
        if relative and relative != "." and not relative.startswith("../"):
            self._on_hint(relative.replace(os.sep, "/"))
        elif relative == ".":
            self._on_rescan("the vault's folder itself changed")

    def _note_folder(self, moved: bool) -> None:
        self.may_have_lost_folders |= moved
        self.look()


class EventHandler:
    """Handler for watchdog's events. Both paths of a move are passed on as hints; event types are not
    trusted.

    ``on_folder`` is called for each folder that was created, moved or deleted, with True if it was moved.
    """

    def __init__(
        self, on_path: Callable[[str | bytes], None], on_folder: Callable[[bool], None] = lambda moved: None
    ) -> None:
        self._on_path = on_path
        self._on_folder = on_folder

    def dispatch(self, event: Any) -> None:
        """Pass on the paths in one event."""
        if event.is_directory and event.event_type == "modified":
            return
        if event.is_directory:
            self._on_folder(event.event_type == "moved")
        if event.src_path:
            self._on_path(event.src_path)
        if getattr(event, "dest_path", ""):
            self._on_path(event.dest_path)


def is_watching(thread: threading.Thread | None) -> bool:
    """True if ``thread`` belongs to watchdog. If such a thread ends, its `Watcher` is no longer ``alive`` and
    must be restarted.
    """
    from watchdog.utils import BaseThread

    return isinstance(thread, BaseThread)


def _threads(observer: Any) -> Iterator[threading.Thread]:
    """Yield all threads of an observer; if any of them has ended, events no longer arrive."""
    for part in (observer, *observer.emitters):
        yield part
        yield from (kept for kept in vars(part).values() if isinstance(kept, threading.Thread))


def _end(observer: Any) -> None:
    """Stop the threads of an observer and wait for them. The observer may be None, or not started yet."""
    if observer is None:
        return
    threads = list(_threads(observer))
    for emitter in observer.emitters:
        _stop_emitter(emitter)
    observer.stop()
    for thread in threads:
        if thread.is_alive():
            thread.join(STOP_SECONDS)


def _stop_emitter(emitter: Any) -> None:
    """Stop the thread of an emitter.

    If two removed folders had the same path, watchdog raises KeyError for the second one and drops it. The
    next call then continues with the other folders.
    """
    watches = getattr(emitter, "_inotify", None)
    stop = emitter.stop
    while stop is not None:
        try:
            stop()
            break
        except KeyError:
            stop = getattr(watches, "deactivate", None)


class _OverflowHandler(logging.Handler):
    """Log handler that detects overflows, which watchdog reports only in its log.

    Errors logged without an exception are ignored. They come from an emitter that is being stopped, perhaps
    one for another vault.
    """

    def __init__(self, on_rescan: OnRescan) -> None:
        super().__init__(logging.WARNING)
        self._on_rescan = on_rescan

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno < logging.ERROR or record.exc_info:
            self._on_rescan(record.getMessage())


class _Identity(NamedTuple):
    """Identity of the folder at a path, and of the mounts below it. Mounts change without an event."""

    device: int
    inode: int
    mounts: tuple[str, ...]


def _identity(root: Path) -> _Identity | None:
    try:
        status = root.stat()
    except OSError:
        return None
    return _Identity(status.st_dev, status.st_ino, _mounts_below(root, mounts()))


def _failure_reason(error: OSError | RuntimeError) -> str:
    advice = ""
    code, words = (error.errno, error.strerror) if isinstance(error, OSError) else (None, None)
    if code == errno.EMFILE and sys.platform == "linux":
        advice = "; raise the limit with `sudo sysctl fs.inotify.max_user_instances=1024`"
    return f"cannot watch for changes: {words or error}; rescanning the folder regularly instead{advice}"


def _watch_limit_reason(root: Path) -> str | None:
    """Return a reason for polling if the system allows no more watches; otherwise None. watchdog does not
    report this limit.
    """
    if sys.platform != "linux":
        return None
    from watchdog.observers.inotify_c import inotify_add_watch, inotify_init

    probe = inotify_init()
    if probe == -1:
        return None
    try:
        if inotify_add_watch(probe, os.fsencode(root), _IN_DELETE_SELF) != -1:
            return None
        if ctypes.get_errno() != errno.ENOSPC:
            return None  # another error, such as a missing folder
    finally:
        os.close(probe)
    return (
        "the limit on watched folders is reached, so some changes are noticed late; "
        "raise it with `sudo sysctl fs.inotify.max_user_watches=1048576`"
    )


def mounts() -> list[str]:
    """Return the lines of the system's table of mounted file systems; empty if the system has none."""
    try:
        table = os.fsdecode(Path("/proc/self/mounts").read_bytes())
    except OSError:
        return []
    return [line for line in table.split("\n") if line]


def _mounts_below(root: Path, table: list[str]) -> tuple[str, ...]:
    return tuple(line for line in table if _mount_point(line).startswith(f"{root}/"))


def _mount_point(line: str) -> str:
    return _ESCAPE.sub(lambda escape: chr(int(escape[1], 8)), line.split(" ", 2)[1])


def _remote_reason(root: Path, table: list[str]) -> str | None:
    """Return a reason for polling if other machines may change the vault's files unnoticed; otherwise
    None."""
    for folder in (root, *map(Path, map(_mount_point, _mounts_below(root, table)))):
        if (remote := remote_file_system(folder, table)) is not None:
            place, kind = remote
            return (
                f"{printable(place)} is a file system of type {kind}, which might not report all changes; "
                "rescanning the folder regularly instead"
            )
    return None


def remote_file_system(folder: Path, table: list[str]) -> tuple[str, str] | None:
    """Return the mount point and the type of the file system that contains ``folder``.

    Returns None if the file system is known to be local, or if the ``table`` of mounts is empty.
    """
    mount_point, kind = "/", "unknown"
    for line in table:
        place = _mount_point(line)
        if len(place) >= len(mount_point) and folder.is_relative_to(place):
            mount_point, kind = place, line.split(" ")[2]
    return (mount_point, kind) if table and not _LOCAL.fullmatch(kind) else None


_IN_DELETE_SELF = 0x400
_ESCAPE = re.compile(r"\\([0-7]{3})")
"""Pattern for an escaped space, tab, line break, backslash or # in the table of mounts."""
_LOCAL = re.compile(
    r"""(?x) apfs | aufs | bcachefs | btrfs | ecryptfs | erofs | exfat | ext[234] | f2fs | fuseblk | hfs
    | hfsplus | iso9660 | jffs2 | jfs | lxfs | minix | msdos | nilfs2 | ntfs | ntfs3 | overlay | ramfs
    | reiser4 | reiserfs | rootfs | squashfs | tmpfs | ubifs | udf | ufs | ufsd | vfat | wslfs | xfs | zfs
    """
)
"""Types of file systems that only this machine changes.

Other types may be shared with a server, a host or a cluster, and inotify reports only writes by this machine.
"""
