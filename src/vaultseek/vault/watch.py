"""Hints from the operating system that something in a vault may have changed. A hint is never a fact."""

from __future__ import annotations

import logging
import os
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

    def start(self) -> None:
        """Begin to watch; a watch that cannot be had is a doubt, not an error."""
        from watchdog.events import (
            DirCreatedEvent,
            DirDeletedEvent,
            DirMovedEvent,
            FileAttribEvent,
            FileClosedEvent,
            FileCreatedEvent,
            FileDeletedEvent,
            FileModifiedEvent,
            FileMovedEvent,
        )
        from watchdog.observers import Observer

        # Opening and reading are left out: our own indexing would feed the queue.
        wanted = [
            DirCreatedEvent,
            DirDeletedEvent,
            DirMovedEvent,
            FileAttribEvent,
            FileClosedEvent,
            FileCreatedEvent,
            FileDeletedEvent,
            FileModifiedEvent,
            FileMovedEvent,
        ]
        observer = Observer()
        try:
            handler: Any = _Handler(self)
            observer.schedule(handler, str(self._root), recursive=True, event_filter=wanted)
            observer.start()
        except OSError as error:
            self._on_doubt(f"cannot watch: {error.strerror or error}")
            return
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
        if observer is None or not observer.is_alive():
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
