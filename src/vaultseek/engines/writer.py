"""The right to write to a shard, which one indexer has at a time, and the state that it left the engine in.

An index folder that is copied, or restored from a backup, is a second indexer of the same shard. An engine
that was restored or emptied lacks what was written to it. Both are noticed before the next write.
"""

from __future__ import annotations

import json
import logging
import socket
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

from vaultseek.base import paths
from vaultseek.engines.heartbeat import SILENCE_SECONDS, STOPPED, Heartbeat, heartbeat_name
from vaultseek.engines.port import NOTES_AND_TEXT, Batch, ShardRows
from vaultseek.engines.shard_names import forget_name
from vaultseek.errors import Unavailable

RUNS = 10
"""Last runs of this index by which its own writing is recognised."""
RUNS_FILE, POSITION_FILE = "writer", "position"

log = logging.getLogger(__name__)
_open: dict[tuple[str, str, str], Path] = {}
_runs: dict[Path, list[str]] = {}
"""Runs of this process by folder, in case the folder is deleted while its vault is open."""
_lock = threading.Lock()


class ShardWriter:
    """The writing to an engine by the one indexer of a shard; ``folder`` is what that keeps beside it.

    ``on_unverified`` is called if the engine has to be compared with the ledger again, with the reason.
    """

    def __init__(
        self,
        backend: ShardRows,
        folder: Path,
        name: str = "",
        on_unverified: Callable[[Unavailable], None] = lambda error: None,
    ) -> None:
        """``name`` is that of the vault, for searchers."""
        self.on_unverified = on_unverified
        self._name = name
        self._backend = backend
        self._folder = folder
        self._run = uuid.uuid4().hex
        self._positions: set[str | None] | None = None
        """The positions that the engine may be at; None before ``acquire``."""
        self._other_writer: tuple[object, float] = (None, 0.0)
        """The last heartbeat of another writer, and when it was first read."""
        options = backend.options
        self._shard = (options.place, options.prefix, options.shard)
        with _lock:
            other = _open.setdefault(self._shard, folder)
        if other != folder:
            forget_name(folder)
            raise Unavailable(
                f"this index is a copy of the one in {other.parent}: both are the shard {options.shard}; "
                f"delete {folder.parent}, and it is made anew",
                "unavailable",
            )

    def acquire(self) -> str | None:
        """Write to the shard from now on, and return the position it is at, None if it is empty.

        A shard that another indexer has written to meanwhile is emptied. Raises Unavailable if that is still
        at work.
        """
        rows = self._backend.states.of(self._names())
        shard, writer, heartbeat = (rows.get(name, {}) for name in self._names())
        owner, position = writer.get("position"), shard.get("position")
        runs = [*own_runs(self._folder), *_runs.get(self._folder, ())]
        if owner and owner not in (self._run, *runs):
            self._wait_for_end(writer, heartbeat)
            log.warning("%s was written to by another indexer; filling it again", self._backend.options.shard)
            self._forget()
            owner, position, writer = None, None, {}
        if owner != self._run:
            paths.write_atomically(self._folder / RUNS_FILE, "\n".join([self._run, *runs][:RUNS]))
            _runs[self._folder] = [self._run, *_runs.get(self._folder, ())][:RUNS]
            self._write_owner()
        self._positions = {position}
        self._other_writer = (None, 0.0)
        return position

    def empty(self) -> None:
        """Delete all that the shard has."""
        self.check()
        self._positions = {*(self._positions or ()), None}
        self._forget()
        self._write_owner()
        self._positions = {None}

    def has_begun(self, position: str | None) -> bool:
        """True if this index has written up to a position last, or begun to; also if that is not known."""
        try:
            return position in (self._folder / POSITION_FILE).read_text().split("\n")
        except FileNotFoundError:
            return True
        except (OSError, UnicodeDecodeError):
            return False

    def check(self) -> None:
        """Raise Unavailable unless this run is the writer, and the engine is as it left it."""
        if self._positions is None:
            raise Unavailable(
                "the engine is being compared with the index; it is tried again by itself", "behind"
            )
        names = self._names()[:2]
        rows = self._backend.states.of(names)
        position, owner = (rows.get(name, {}).get("position") for name in names)
        if owner == self._run and position in (self._positions or ()):
            return
        self._positions = None
        error = Unavailable("the shard changed outside vaultseek; re-checking it", "behind")
        self.on_unverified(error)
        raise error

    def apply(self, batch: Batch) -> None:
        """See ``Backend.apply``."""
        self._write(batch.position, lambda: self._backend.apply(batch))

    def drop(self, *parts: str) -> None:
        """See ``Backend.drop``."""
        is_all = not parts or NOTES_AND_TEXT in parts
        self._write(None, lambda: self._backend.drop(*parts), is_new=is_all)

    def set_state(self, name: str, position: str, facts: str = "{}") -> None:
        """See ``PostgresBackend.set_state``."""
        with self._backend.transaction():
            self.check()
            self._backend.set_state(name, position, facts)

    def transaction(self) -> AbstractContextManager[None]:
        """Return a transaction of the engine, if it has any, in which nobody else writes to the shard."""
        return self._backend.transaction()

    def optimize(self) -> None:
        """Index what was written last, so that it is as fast to search as the rest."""
        self._backend.optimize()

    def close(self) -> None:
        """Close the engine and release the shard."""
        with _lock:
            if _open.get(self._shard) == self._folder:
                del _open[self._shard]
        self._backend.close()

    def _write(self, position: str | None, write: Callable[[], None], *, is_new: bool = False) -> None:
        """Write, which leaves the engine at ``position`` unless that is None and not new."""
        with self._backend.transaction():
            self.check()
            if position is None and not is_new:
                write()
                return
            self._positions = {*(self._positions or ()), position}  # whichever, if it fails
            if position is not None:
                before = next((each for each in self._positions if each not in (None, position)), "")
                paths.write_atomically(self._folder / POSITION_FILE, f"{before}\n{position}")
            write()
        self._positions = {position}

    def _forget(self) -> None:
        self._backend.drop()
        self._backend.states.forget()

    def _write_owner(self) -> None:
        facts = {"host": socket.gethostname(), "name": self._name}
        self._backend.set_state(self._names()[1], self._run, json.dumps(facts))

    def _names(self) -> tuple[str, str, str]:
        shard = self._backend.options.shard
        return shard, writer_name(shard), heartbeat_name(shard)

    def _wait_for_end(self, writer: Any, heartbeat: Any) -> None:
        """Raise Unavailable while another writer may be at work: it is silent for a while if it is not."""
        beat = Heartbeat.of_text(heartbeat.get("facts"))
        if beat is not None and beat.state == STOPPED:
            return
        word, now = (writer.get("position"), heartbeat.get("facts")), time.monotonic()
        if self._other_writer[0] != word:
            self._other_writer = (word, now)
        if now - self._other_writer[1] > SILENCE_SECONDS:
            return
        host = beat.host if beat is not None else _host(writer)
        raise Unavailable(
            f"an indexer on {host} writes to the same shard, {self._backend.options.shard}: one index is a "
            "copy of the other. Stop one of them; or, for a shard of its own, stop this one and delete "
            f"{self._folder.parent}",
            "behind",
        )


def own_runs(folder: Path) -> list[str]:
    """Return the last runs that wrote to the engine from this folder."""
    with suppress(OSError, UnicodeDecodeError):
        return (folder / RUNS_FILE).read_text().split()
    return []


def writer_name(shard: str) -> str:
    """Return the name under which an engine has the writer of a shard."""
    return f"{shard}/writer"


def _host(writer: Any) -> str:
    return fact_of(writer, "host") or "another machine"


def fact_of(writer: Any, name: str) -> str:
    """Return a fact from the row of a writer or shard; "" if it is not there."""
    with suppress(ValueError, TypeError, KeyError):
        return str(json.loads(writer["facts"])[name])
    return ""
