"""The right to write to a shard, held by one indexer at a time, and its record in the index folder.

Each write is a transaction that replaces the shard's mark. A write fails if the mark is not the one that this
index left there: either a different index, such as a copied folder, writes to the shard, or the server was
restored.
"""

import json
import logging
import re
import socket
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vaultseek.base import paths
from vaultseek.errors import Unavailable
from vaultseek_server.engines.heartbeat import STOPPED, Heartbeat
from vaultseek_server.engines.postgres.backend import PostgresBackend

log = logging.getLogger(__name__)


class ShardFile:
    """The file in the index folder that records the index's shard.

    ``name``: the shard's name, or "" before it has one. ``run``: the id of the last program run that held the
    shard. ``marks``: the marks before and after the last write; the shard has one of these two.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / "shard"
        self.name, self.run = "", ""
        self.marks: list[str] = []
        with suppress(OSError, ValueError, AttributeError, TypeError, LookupError):
            known = {key: list(map(str, values)) for key, values in paths.read_json(self._file).items()}
            self.name = known["name"][0]
            self.run, *self.marks = known["written"]

    def give_name(self, vault: str) -> str:
        """Return the shard's name, creating a name if necessary. The name does not change when the vault is
        renamed."""
        if not self.name:
            plain = re.sub(r"[^A-Za-z0-9]+", "-", vault)[:40].strip("-") or "vault"
            self.name = f"{plain}-{uuid.uuid4().hex[:12]}"
            self.write()
        return self.name

    def write(self) -> None:
        """Replace the file with the current values."""
        paths.private_directory(self._file.parent)
        paths.write_atomically(
            self._file, json.dumps({"name": [self.name], "written": [self.run, *self.marks]})
        )


class ShardWriter:
    """Writer of a shard, as the shard's only indexer."""

    def __init__(self, backend: PostgresBackend, folder: Path, vault: str) -> None:
        """Prepare to write; ``vault`` is the name that searchers show for the vault."""
        self.lost: Unavailable | None = None
        """The reason why the shard must be compared with the ledger before it can be written to, or None."""
        self._backend = backend
        self._folder = folder
        self._vault = vault
        self._file = ShardFile(folder)
        self._run = uuid.uuid4().hex
        self._beat: Heartbeat | None = None
        """The last heartbeat that the daemon has published, or None."""
        self._writing = threading.RLock()
        self._marks: tuple[str, ...] = ()
        """Possible marks of the shard: none before ``acquire``, two after a failed write."""

    def acquire(self) -> bool:
        """Take over the right to write to the shard. If its content was not written by this index, empty the
        shard and return False.

        Raises Unavailable while another indexer is active.
        """
        if self._marks:
            return True
        with self._writing, self._backend.transaction() as state:
            is_own = state["mark"] in self._file.marks
            if not is_own:
                owner = state.get("owner")
                if owner and owner not in (self._run, self._file.run):
                    self._check_ended(Heartbeat.of_state(state))
                if owner:
                    log.warning("%s was changed by another program; refilling it", state.get("shard"))
                self._backend.empty()
            mark = uuid.uuid4().hex
            self._file.run, self._file.marks = self._run, [*([state["mark"]] if is_own else []), mark]
            self._file.write()
            shard = self._backend.options.shard
            facts = {"shard": shard, "vault": self._vault, "owner": self._run, "mark": mark}
            for name, value in facts.items():
                self._backend.set_state(name, value)
            beat = self._beat or Heartbeat(socket.gethostname(), "ready")
            self._backend.set_state("heartbeat", beat.as_text())
        self._marks, self.lost = (mark,), None
        return is_own

    @contextmanager
    def transaction(self) -> Iterator[PostgresBackend]:
        """Write in one transaction. Raises Unavailable unless the shard is as this index left it."""
        with self._writing:
            mark = uuid.uuid4().hex
            with self._backend.transaction() as state:
                self._check(state["mark"] in self._marks)
                self._marks = (state["mark"], mark)
                self._file.marks = list(self._marks)
                self._file.write()
                self._backend.set_state("mark", mark)
                yield self._backend
            self._marks = (mark,)

    def publish(self, beat: Heartbeat) -> None:
        """Write a heartbeat. Raises Unavailable if the server does not answer, or if another indexer has
        taken over the shard."""
        marks = None
        while marks != self._marks:  # if they are equal, another client has written
            marks = self._marks
            if self._backend.set_heartbeat(beat, marks):
                self._beat = beat
                return
        self._check(False)

    def close(self) -> None:
        """Record the shard's final state. If no daemon has published a heartbeat, mark the shard as no longer
        written to."""
        if len(self._marks) == 1:
            self._file.marks = list(self._marks)
            self._file.write()
        if self._marks and self._beat is None and self._backend.server.outage is None:
            with suppress(Unavailable):
                self.publish(Heartbeat(socket.gethostname(), STOPPED))

    def _check(self, is_own: bool) -> None:
        if not is_own:
            if self._marks:
                self.lost = Unavailable("the shard changed outside vaultseek; re-checking it", "behind")
            self._marks = ()
            raise self.lost or Unavailable("the engine is being compared with the index", "behind")

    def _check_ended(self, beat: Heartbeat | None) -> None:
        """Raise Unavailable if another writer may still be active. A writer counts as inactive once it has
        been silent for a while."""
        if beat is not None and not beat.is_last:
            raise Unavailable(
                f"an indexer on {beat.host} writes to the same shard, {self._backend.options.shard}: one "
                "index is a copy of the other. Stop one of them; or, for a separate shard, stop this "
                f"indexer and delete {self._folder.parent}",
                "behind",
            )
