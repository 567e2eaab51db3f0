"""The right to write to a shard, which one indexer has at a time.

Each write is a transaction that leaves a new mark. By it an indexer notices in the next one that the shard is
no longer as it left it: another index writes there, such as a copied folder, or the server was restored.
"""

import logging
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from vaultseek.engines.heartbeat import SILENCE_SECONDS, STOPPED, Heartbeat
from vaultseek.engines.postgres.backend import PostgresBackend
from vaultseek.engines.shard_file import RUNS, ShardFile
from vaultseek.errors import Unavailable

log = logging.getLogger(__name__)


class ShardWriter:
    """The writing to a shard by its one indexer.

    ``on_unverified`` is called if the shard has to be compared with the ledger again, with the reason.
    """

    def __init__(
        self,
        backend: PostgresBackend,
        folder: Path,
        vault: str,
        on_unverified: Callable[[Unavailable], None],
    ) -> None:
        """``vault`` is the name of the vault, for searchers."""
        self._on_unverified = on_unverified
        self._backend = backend
        self._folder = folder
        self._file = ShardFile(folder)
        self._facts = {"shard": backend.options.shard, "vault": vault, "host": socket.gethostname()}
        self._run = uuid.uuid4().hex
        self._writing = threading.RLock()
        self._stamps: tuple[str, ...] = ()
        """The marks of which the shard has one, none before ``acquire``: two after a write that failed."""
        self._other: tuple[object, float] = (None, 0.0)
        """The last heartbeat of another writer, and when it was first read."""
        self._file.open(f"{backend.options.place} {backend.options.prefix}", backend.options.shard)

    def acquire(self) -> bool:
        """Write to the shard from now on; return false if it has not what this index has given it.

        It is empty then. Raises Unavailable while another indexer is at work.
        """
        with self._writing, self._backend.transaction() as state:
            owner = state.get("owner")
            is_own = state.get("stamp") in self._file.stamps
            if not is_own:
                if owner and owner not in (self._run, *self._file.runs):
                    self._wait_for_end(state)
                if owner:
                    log.warning("%s is not as this index left it; filling it again", state.get("shard"))
                self._backend.empty()
            runs = [self._run, *(run for run in self._file.runs if run != self._run)]
            stamp = uuid.uuid4().hex
            self._file.write(runs=runs[:RUNS], stamps=[*self._file.stamps[-1:], stamp])
            for name, value in {**self._facts, "owner": self._run, "stamp": stamp}.items():
                self._backend.set_state(name, value)
        self._stamps = (stamp,)
        self._other = (None, 0.0)
        return is_own

    @contextmanager
    def transaction(self) -> Iterator[PostgresBackend]:
        """Write in one transaction. Raises Unavailable unless the shard is as this run left it."""
        with self._writing:
            stamp = uuid.uuid4().hex
            with self._backend.transaction() as state:
                self._check(state)
                self._stamps = (state["stamp"], stamp)
                self._file.write(stamps=list(self._stamps))
                yield self._backend
                self._backend.set_state("stamp", stamp)
            self._stamps = (stamp,)

    def publish(self, beat: Heartbeat) -> None:
        """Write the heartbeat. Raises Unavailable, also if another indexer has the shard."""
        with self._backend.transaction() as state:
            self._check(state)
            self._backend.set_state("heartbeat", beat.as_text())

    def close(self) -> None:
        """Release the shard."""
        if len(self._stamps) == 1:
            self._file.write(stamps=list(self._stamps))
        self._file.close()

    def _check(self, state: Mapping[str, str]) -> None:
        if not self._stamps:
            raise Unavailable(
                "the engine is being compared with the index; it is tried again by itself", "behind"
            )
        if state.get("owner") != self._run or state.get("stamp") not in self._stamps:
            self._stamps = ()
            error = Unavailable("the shard changed outside vaultseek; re-checking it", "behind")
            self._on_unverified(error)
            raise error

    def _wait_for_end(self, state: Mapping[str, str]) -> None:
        """Raise Unavailable while another writer may be at work: it is silent for a while if it is not."""
        beat = Heartbeat.of_text(state.get("heartbeat"))
        if beat is not None and beat.state == STOPPED:
            return
        word, now = (state["owner"], state.get("heartbeat")), time.monotonic()
        if self._other[0] != word:
            self._other = (word, now)
        if now - self._other[1] > SILENCE_SECONDS:
            return
        host = state.get("host", "another machine") if beat is None else beat.host
        raise Unavailable(
            f"an indexer on {host} writes to the same shard, {self._facts['shard']}: one index is a "
            "copy of the other. Stop one of them; or, for a shard of its own, stop this one and delete "
            f"{self._folder.parent}",
            "behind",
        )
