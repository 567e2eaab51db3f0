"""Hints from the operating system that something in a vault may have changed. A hint is never a fact."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

OnHint = Callable[[str], None]
OnDoubt = Callable[[str], None]


class Watcher:
    """Calls ``on_hint`` with vault-relative paths of files and folders, from a thread of its own.

    ``on_doubt`` is called with a reason whenever changes may have been lost: the whole vault has to be
    compared again.
    """

    def __init__(self, root: Path, on_hint: OnHint, on_doubt: OnDoubt) -> None:
        self._root = root
        self._on_hint = on_hint
        self._on_doubt = on_doubt
        self._observer: Any = None
        self._overflow = _Overflow(on_doubt)
        self._identity: tuple[int, int] | None = None
        self.gap: str | None = None
        """Why changes may go unnoticed and the vault has to be compared often; None if all is watched."""

    def start(self) -> None:
        """Begin to watch; a watch that cannot be had is a doubt, not an error."""
        from watchdog import events
        from watchdog.observers import Observer

        # Opening and reading are left out: our own indexing would feed the queue.
        wanted = [
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
        observer = Observer()
        self._identity = _identity(self._root)
        try:
            handler: Any = _Handler(self)
            observer.schedule(handler, str(self._root), recursive=True, event_filter=wanted)
            observer.start()
        except OSError as error:
            self.gap = f"cannot watch for changes: {error.strerror or error}; comparing often instead"
            return
        self.gap = _remote(self._root) or _out_of_watches(self._root)
        logging.getLogger("watchdog").addHandler(self._overflow)
        self._observer = observer

    def stop(self) -> None:
        """Stop watching; returns when the threads have ended."""
        logging.getLogger("watchdog").removeHandler(self._overflow)
        if self._observer is not None:
            self._observer.stop()
            self._observer.join(timeout=5)
            self._observer = None

    def alive(self) -> bool:
        """Whether hints can still come; false as well after the vault's folder was replaced."""
        observer = self._observer
        if _identity(self._root) != self._identity:
            return False
        if observer is None:
            return self.gap is not None
        if not observer.is_alive():
            return False
        return all(emitter.is_alive() for emitter in observer.emitters)

    def hint(self, path: str | bytes) -> None:
        """Pass on one path of an event."""
        text = os.fsdecode(path)
        relative = os.path.relpath(text, self._root) if text else ""
        if relative and relative != "." and not relative.startswith("../"):
            self._on_hint(relative.replace(os.sep, "/"))
        elif relative == ".":
            self._on_doubt("the vault's folder itself changed")


def _identity(root: Path) -> tuple[int, int] | None:
    """What tells a folder from another one in its place."""
    try:
        status = root.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _out_of_watches(root: Path) -> str | None:
    """Whether there is no room for one more watch: then watchdog may have left folders out without a word."""
    if sys.platform != "linux":
        return None
    from watchdog.observers.inotify_c import inotify_add_watch, inotify_init

    probe = inotify_init()
    if probe == -1:
        return None
    try:
        if inotify_add_watch(probe, os.fsencode(root), _IN_DELETE_SELF) != -1:
            return None
    finally:
        os.close(probe)
    return (
        "the limit of watched folders is reached, some changes are seen late; "
        "raise it with `sudo sysctl fs.inotify.max_user_watches=1048576`"
    )


def _remote(root: Path) -> str | None:
    """Whether the folder lies on a file system whose changes by others make no events."""
    try:
        mounts = Path("/proc/self/mounts").read_text(errors="replace").splitlines()
    except OSError:
        return None
    found = kind = ""
    for line in mounts:
        _, place, name, *_ = line.split(" ")
        place = place.replace("\\040", " ")
        if len(place) >= len(found) and root.is_relative_to(place):
            found, kind = place, name
    if kind not in _REMOTE and not kind.startswith("fuse."):
        return None
    return f"{found} is a {kind} file system, which tells of no changes; comparing often instead"


_IN_DELETE_SELF = 0x400
_REMOTE = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse", "virtiofs", "vboxsf", "drvfs", "ceph"}
)


class _Handler:
    """What watchdog calls. Both ends of a move are hints, and the type of an event is never trusted."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def dispatch(self, event: Any) -> None:
        if event.is_directory and event.event_type == "modified":
            return
        if event.src_path:
            self._watcher.hint(event.src_path)
        if getattr(event, "dest_path", ""):
            self._watcher.hint(event.dest_path)


class _Overflow(logging.Handler):
    """Watchdog reports a lost queue only in its log."""

    def __init__(self, on_doubt: OnDoubt) -> None:
        super().__init__(logging.WARNING)
        self._on_doubt = on_doubt

    def emit(self, record: logging.LogRecord) -> None:
        self._on_doubt(record.getMessage())
