"""The ledger of a searcher: a copy of what an engine has of a shard, which an indexer elsewhere writes.

The engine tells by its position up to which revision of the indexer's ledger it is. Then the notes that have
changed since are copied, whole and as they are there. Nothing is ever written to the engine.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from vaultseek.base.model import Reason
from vaultseek.engines.heartbeat import Heartbeat, ReceivedHeartbeat, heartbeat_name
from vaultseek.engines.milvus.backend import MilvusBackend
from vaultseek.engines.writer import filling_of, size_of, writer_name
from vaultseek.errors import Unavailable
from vaultseek.store.keyword.analysis import ANALYZER_VERSION
from vaultseek.store.ledger import Ledger, NoteCopy
from vaultseek.store.ledger.vectors import FIRST

PAGE_NOTES = 256
"""Notes copied in one commit."""
PAGES_IN_VAIN = 8
"""Pages of notes without a new vector after which the engine is asked again only with the next look."""

log = logging.getLogger(__name__)


class ShardReplica:
    """A shard of an engine, copied into a ledger. ``space`` names its vectors."""

    def __init__(
        self,
        backend: MilvusBackend,
        ledger: Ledger,
        space: str,
        on_language: Callable[[str | None], None] = lambda language: None,
    ) -> None:
        """``on_language`` is called with the language that the indexer's settings give all notes."""
        self._heartbeat = ReceivedHeartbeat()
        self._rows: dict[str, dict[str, Any]] = {}
        """Rows that the engine had about the shard just now; taken by ``step``."""
        self._difference = ""
        """Difference between the indexer and this searcher, by which they give other answers."""
        self._asked = 0
        """The last note whose vectors the engine was asked for; 0 to begin with the first."""
        self._language: str | None = None
        self._on_language = on_language
        self._backend = backend
        self._ledger = ledger
        self._space = space

    def is_behind(self) -> bool:
        """True if the engine has changed since the last copy. Raises Unavailable as ``step`` does."""
        self._rows = self._look()
        return _source(self._position(self._rows), self._filling(self._rows)) != self._ledger.copies.source()

    def step(self) -> bool:
        """Copy what has changed; true if anything has. Runs in the writer thread.

        Raises Unavailable if the engine does not answer, or has no such shard any more.
        """
        changed = False
        rows, self._rows = self._rows or self._look(), {}
        position = self._position(rows)
        before, source = self._ledger.copies.source(), _source(position, self._filling(rows))
        if source != before:
            self._copy(before, source, size_of(rows.get(self._backend.options.shard, {})))
            with self._ledger.commit():
                self._ledger.copies.set_source(source)
            changed = True
        changed |= self._read_heartbeat(rows)
        version = rows.get(self._version_name, {}).get("position")
        self._difference = self._other_analysis(position) or self._other_model(version)
        return self._mark_vectors(version) or changed

    def reason(self) -> Reason | None:
        """Return why the shard may be behind the folder of its indexer, as far as that has said; or None."""
        return self._heartbeat.reason() or (Reason("behind", self._difference) if self._difference else None)

    def is_left(self) -> bool:
        """True if no indexer is at work on the shard, as far as that can be told."""
        return self._heartbeat.is_dead()

    def _look(self) -> dict[str, dict[str, Any]]:
        """Return what the engine has about the shard, asked for at once: it is done again and again."""
        shard = self._backend.options.shard
        return self._backend.states.of([shard, writer_name(shard), heartbeat_name(shard), self._version_name])

    def _filling(self, rows: Mapping[str, Any]) -> str:
        return filling_of(rows.get(writer_name(self._backend.options.shard), {}))

    @property
    def _version_name(self) -> str:
        return f"{self._backend.options.shard}/{self._space}/passages"

    def _other_analysis(self, position: str) -> str:
        """Return, in words, that the indexer makes other terms of words; "" if it does not."""
        version = position.split(":")[1].partition(".")[0] if position.count(":") == 2 else ""
        if version in ("", str(ANALYZER_VERSION)):
            return ""
        return (
            f"its indexer is another version of vaultseek, which analyses words otherwise ({version}, here "
            f"{ANALYZER_VERSION}); run the same on all machines"
        )

    def _other_model(self, version: str | None) -> str:
        """Return, in words, that the engine has vectors of another model alone; "" if it has not."""
        if version or not self._ledger.counts().pending:
            return ""
        names = (name.split("/") for name in self._backend.states.names())
        if any(name[::2] == [self._backend.options.shard, "passages"] for name in names):
            return "its vectors are of another model; set model.name to the same on all machines"
        return ""

    def _read_heartbeat(self, rows: Mapping[str, Any]) -> bool:
        """Take in the word of the indexer; true if its language is another one."""
        beat = Heartbeat.of_text(rows.get(heartbeat_name(self._backend.options.shard), {}).get("facts"))
        self._heartbeat.update(beat)
        if beat is None or beat.language == self._language:
            return False
        self._language = beat.language
        self._on_language(beat.language)
        return True

    def _position(self, rows: Mapping[str, Any]) -> str:
        position: str | None = rows.get(self._backend.options.shard, {}).get("position")
        if position is None:
            missing = f"the engine has no shard {self._backend.options.shard}"
            advice = self._backend.copies.other_version() or "start the indexer that keeps it"
            raise Unavailable(f"{missing}; {advice}", "vault_missing")
        return position

    def _copy(self, before: str, source: str, size: int | None) -> None:
        """Copy the notes that were written between two states of the engine, and remove those gone.

        ``size`` is the number of notes there, None if it has to be counted.
        """
        revision = _revision_before(before, source)
        if before and _ledger_of(before) != _ledger_of(source):
            self._remove(self._ledger.notes.ids())  # the notes of another ledger have other ids
        changed = self._backend.copies.changed_since(revision)
        for page in _pages(changed):
            self._put(page)
        gone = 0
        if (self._backend.copies.count() if size is None else size) != self._ledger.counts().notes:
            there = set(self._backend.copies.notes())
            gone = self._remove([id for id in self._ledger.notes.ids() if id not in there])
        log.info("%s: %d notes copied, %d removed", self._backend.options.shard, len(changed), gone)

    def _put(self, page: Sequence[int]) -> None:
        try:
            copies = [NoteCopy.of_text(text) for text in self._backend.copies.texts(page)]
        except ValueError as error:
            raise Unavailable(
                f"the notes of this shard were written by another version of vaultseek ({error}); "
                "run the same on all machines",
                "unavailable",
            ) from error
        with self._ledger.commit() as revision:
            self._ledger.copies.put(copies, revision)

    def _remove(self, notes: Sequence[int]) -> int:
        for page in _pages(notes):
            paths = self._ledger.paths_of(page)
            with self._ledger.commit() as revision:
                for path in paths.values():
                    self._ledger.notes.remove(path, revision)
        return len(notes)

    def _mark_vectors(self, version: str | None) -> bool:
        """Mark the chunks and notes whose vectors the engine has; true if any are new.

        While the indexer computes them, the engine is asked for some of those that are missing at a time.
        """
        ledger, backend = self._ledger, self._backend
        if not version:
            return False
        if version != ledger.space.store():
            ledger.space.begin_store(version)
        left = before = ledger.counts().pending
        in_vain = 0
        while left and in_vain < PAGES_IN_VAIN:
            notes = [note for (note,) in ledger.select(_PENDING, self._asked, PAGE_NOTES)]
            self._asked = notes[-1] if notes else 0
            if not notes:
                break
            chunks = backend.numbers(self._space, "passages", notes)
            whole = backend.numbers(self._space, "notes", notes)
            ledger.space.remove_stored(chunks, whole)
            # A vector that is there is nothing to be left out, whoever had its number before.
            ledger.space.remove_orphans(chunks, whole)
            pending = ledger.counts().pending
            in_vain, left = 0 if pending != left else in_vain + 1, pending
        self._asked = self._asked if left else 0
        return left != before


_PENDING = (
    f"SELECT DISTINCT note FROM unsynced WHERE space = {FIRST} AND gone = 0 AND note > ?"
    " ORDER BY note LIMIT ?"
)


def _pages(notes: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(notes), PAGE_NOTES):
        yield notes[start : start + PAGE_NOTES]


def _source(position: str, filling: str) -> str:
    """Return the state that a shard is in: its position, and which filling of the engine that is one of."""
    return f"{filling}@{position}"


def _ledger_of(source: str) -> str:
    """Return the name of the ledger that the engine was filled from."""
    return source.rpartition("@")[2].partition(":")[0]


def _revision_before(before: str, source: str) -> int:
    """Return the revision after which notes differ; -1 if all may, as the engine was filled anew."""
    begin, _, revision = before.rpartition(":")
    new_begin, _, new_revision = source.rpartition(":")
    if begin != new_begin or not (revision.isdigit() and new_revision.isdigit()):
        return -1
    return int(revision) if int(revision) <= int(new_revision) else -1
