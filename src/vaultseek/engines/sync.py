"""Keeping the notes of an engine, and the vocabulary beside it, up to the ledger."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vaultseek.base import paths
from vaultseek.base.failpoints import failpoint
from vaultseek.base.limits import CATCH_UP_NOTES
from vaultseek.content.languages.detect import DEFAULT_LANGUAGE, main_language
from vaultseek.engines.keyword import EngineKeyword
from vaultseek.engines.port import NOTES_AND_TEXT, Backend, Batch, NoteEntry
from vaultseek.engines.vocabulary import VocabularyTables
from vaultseek.errors import Unavailable
from vaultseek.store.documents import stored_documents
from vaultseek.store.keyword.analysis import ANALYZER_VERSION, LanguageRules
from vaultseek.store.keyword.candidates import segment_of
from vaultseek.store.keyword.inverter import KeywordDocument, Lexicon
from vaultseek.store.keyword.merge import PreparedSegment
from vaultseek.store.keyword.segment import MemorySegment
from vaultseek.store.ledger import Ledger
from vaultseek.store.ledger.changes import Position, RemovalsPruned, changes, pending_count

if TYPE_CHECKING:
    from vaultseek.engines.writer import ShardWriter

SLOW_SECONDS = 2.0
"""Time that a sync may take before answers report it."""
END_SECONDS = 0.5
"""Timeout for the batch in progress when a vault is closed; it is written again later."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Analysed:
    """Notes as the engine and the vocabulary get them."""

    segment: MemorySegment | None
    entries: Sequence[NoteEntry]


class EngineThread:
    """A thread that does its work each time it is woken, once more if it is woken meanwhile.

    It does not keep the process from ending. ``work`` raises nothing.
    """

    def __init__(self, name: str, work: Callable[[], None]) -> None:
        self._work = work
        self._changed = threading.Condition()
        self._is_wanted = False
        self._is_working = False
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name=f"engine-{name}", daemon=True)
        self._thread.start()

    @property
    def is_idle(self) -> bool:
        """True if all that it was woken for is done."""
        with self._changed:
            return not (self._is_wanted or self._is_working)

    def wake(self) -> None:
        """Have the work done, after what is done now."""
        with self._changed:
            self._is_wanted = True
            self._changed.notify_all()

    def close(self, seconds: float) -> None:
        """End after the work in progress, and wait for that so long at most."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self._thread.join(seconds)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._is_working = False
                self._changed.wait_for(lambda: self._is_wanted or self._is_closed)
                if self._is_closed:
                    return
                self._is_wanted, self._is_working = False, True
            self._work()


class EngineSync:
    """The notes of a vault in an engine, and their ledger revision; in place of ``KeywordSync``.

    The engine is written first and the vocabulary after it, so that what a crash leaves is a batch that is
    written again. An engine that does not answer stays behind and catches up by revision when it does.
    ``sync`` returns when that is done; after ``start_background_writer`` at once.
    """

    keeps_rows = True
    """An engine has links and times of notes, too, so their changes are synced."""

    def __init__(
        self,
        directory: Path,
        language: str | None,
        backend: Backend,
        vocabulary: VocabularyTables,
        *,
        writer: ShardWriter | None = None,
    ) -> None:
        """``writer`` has the right to write; without it another daemon keeps the engine, and only the
        vocabulary is kept here."""
        self._writer = writer
        self._is_replica = writer is None
        self._directory = paths.private_directory(directory)
        self._configured = language
        self._backend = backend
        self._vocabulary = vocabulary
        self._lexicon = Lexicon()
        self._rules = LanguageRules.of_vault(DEFAULT_LANGUAGE, language)
        self.rebuilding = not self._is_replica and self._known_revision(None) < 0
        """True while there is less in the engine than in the ledger, because it is filled anew."""
        self.stopped = threading.Event()
        """Set when the vault is being closed: the engine stays behind until the next start."""
        self._problem: Unavailable | None = None
        self._began: float | None = None
        """When the engine was begun to be brought up to the ledger; None when it is not at the moment."""
        self._is_verified = False
        self._verification = threading.Lock()
        self._thread: EngineThread | None = None
        self._pending_error: Exception | None = None
        """The last error of the thread other than the engine's, such as a full disk; raised once."""
        self._is_rebuild_wanted = False
        self._closed = threading.Event()
        self.index = EngineKeyword(backend, self._vocabulary)
        self.index.rules = self._rules

    @property
    def problem(self) -> Unavailable | None:
        """The reason why the engine is behind, None if it is not, or was not asked; also one that is slow."""
        began = self._began
        seconds = 0.0 if began is None else time.monotonic() - began
        if self._problem is None and seconds > SLOW_SECONDS and not self.rebuilding:
            return Unavailable(f"syncing to the engine for {seconds:.0f} s", "behind")
        return self._problem

    @property
    def directory(self) -> Path | None:
        """The folder for segments that readers write: None, as an engine takes none."""
        return None

    def pending_count(self, ledger: Ledger) -> int:
        """Return how many notes changed since the engine's revision, up to ``CATCH_UP_NOTES``."""
        if self._is_replica:
            return 0
        return pending_count(ledger, Position(self._known_revision(ledger)), CATCH_UP_NOTES)

    @property
    def is_synced(self) -> bool:
        """True if nothing is on its way to the engine, or ``problem`` says why it is not there."""
        return self._thread is None or self._thread.is_idle or self.problem is not None

    def raise_pending_error(self) -> None:
        """Raise the last error of the background writer, once."""
        error, self._pending_error = self._pending_error, None
        if error is not None:
            raise error

    def synced_revision(self, ledger: Ledger) -> int:
        """Return the revision that the engine has; 0 of one that is to be filled anew."""
        return ledger.revision if self._is_replica else max(0, self._known_revision(ledger))

    def start_background_writer(self, name: str, ledger: Ledger) -> None:
        """Write in a thread of its own from now on, so that the ledger's writer waits for no engine."""
        if self._thread is None and not self._is_replica:
            self._thread = EngineThread(name, lambda: self._follow(ledger))

    def sync(self, ledger: Ledger) -> None:
        """Sync the engine to the ledger's revision, if it answers."""
        if self._thread is not None:
            self._thread.wake()
        elif self._is_replica:
            self._choose_language(ledger)
        else:
            self._sync(ledger)

    def _follow(self, ledger: Ledger) -> None:
        """Sync in a thread of its own, and keep errors for ``raise_pending_error``."""
        try:
            self._sync(ledger)
        except Exception as error:
            if self._closed.is_set():
                return  # the ledger is closed, too
            if not paths.is_disk_full(error) and self._pending_error is None:
                log.error("writing to the engine failed; trying again", exc_info=error)
            self._pending_error = error
            what = "the disk is full" if paths.is_disk_full(error) else type(error).__name__
            self.mark_unverified(
                Unavailable(f"writing failed ({what}); it is tried again by itself", "behind")
            )

    def _sync(self, ledger: Ledger) -> None:
        self._began = time.monotonic()
        try:
            if self._is_rebuild_wanted:
                self._is_rebuild_wanted = False
                self._vocabulary.clear()
                self._is_verified = False
            self._write_all(ledger)
            self.rebuilding = False
            with self._verification:
                if self._is_verified:
                    self._problem = None
        except Unavailable as error:
            if self._problem is None:
                log.warning("the engine is behind the ledger: %s", error)
            self.mark_unverified(error)
        finally:
            self._began = None

    def mark_unverified(self, error: Unavailable) -> None:
        """Compare the engine with the ledger before it is written to again: it may be another one then."""
        with self._verification:
            self._problem = error
            self._is_verified = False

    def set_language(self, language: str | None) -> None:
        """Set the language of all notes, as the settings of another daemon say; None if they do not."""
        self._configured = language

    def add(self, ledger: Ledger, segment: PreparedSegment, notes: Sequence[int]) -> bool:
        """Return False: an engine takes no segments."""
        segment.path.unlink(missing_ok=True)
        return False

    def merge_step(self, *_: object, purge: bool = False) -> bool:
        """Do nothing: an engine merges by itself."""
        return False

    def rebuild(self, ledger: Ledger) -> None:
        """Discard what the engine has of the vault and fill it from the ledger."""
        self.rebuilding = self._is_rebuild_wanted = True
        self.sync(ledger)

    def close(self) -> None:
        """Close the vocabulary; an engine that does not answer is not waited for."""
        if self._thread is not None:
            self._thread.close(END_SECONDS)
        self._closed.set()
        self.index.close()

    def _write_all(self, ledger: Ledger) -> None:
        self._choose_language(ledger)
        if not self._is_verified and self._writer is not None:
            self._compare_positions(ledger, self._writer)
        self._write_changes(ledger)
        self._rewrite(ledger, self._vocabulary.given_other_language(self._rules))
        if self._writer is not None:
            self._writer.optimize()

    def _rewrite(self, ledger: Ledger, notes: Sequence[int]) -> None:
        """Write notes that have not changed."""
        for start in range(0, len(notes), CATCH_UP_NOTES):
            if self.stopped.is_set():
                return
            part = notes[start : start + CATCH_UP_NOTES]
            self._apply(ledger, part, [], self._position(ledger, self._revision(ledger)))

    def _write_changes(self, ledger: Ledger) -> None:
        """Write what changed in the ledger since the engine's revision, in pages; all of it if need be.

        One commit may change more notes than a page holds. While these are written, the engine stays at the
        revision before.
        """
        revision = self._revision(ledger)
        if revision < 0 or ledger.notes.removed_since(revision) is None:
            self.rebuilding = True
            revision = 0
            self._discard_notes()
        try:
            for page in changes(ledger, Position(revision), CATCH_UP_NOTES):
                if self.stopped.is_set():
                    return
                position = self._position(ledger, page.position.synced_revision)
                self._apply(ledger, page.notes, page.removed, position)
        except RemovalsPruned:
            text = "many notes were removed meanwhile; it is filled again"
            raise Unavailable(text, "behind") from None

    def _compare_positions(self, ledger: Ledger, writer: ShardWriter) -> None:
        """Begin anew unless the engine is where the vocabulary is, or one batch ahead after a crash.

        An engine that was restored, or is ahead of a ledger that was, has other vectors than the ledger says,
        too. These are marked first, so that a crash leaves the same difference.
        """
        stored, own = writer.acquire(), self._vocabulary.position
        if own is not None and not (writer.has_begun(stored) and _is_at(stored, own, ledger.revision)):
            log.warning("the engine is at %s, not %s: it is filled from the ledger", stored, own)
            _forget_vectors(ledger)
            writer.empty()
            _forget_vectors(ledger)  # those that were written meanwhile are gone, too
            self._vocabulary.clear()
        self._is_verified = True

    def _discard_notes(self) -> None:
        self._vocabulary.clear()
        if self._writer is not None:
            self._writer.drop(NOTES_AND_TEXT)

    def _apply(self, ledger: Ledger, ids: Sequence[int], removed: Collection[int], position: str) -> None:
        analysed = self._analyse(ledger, ids)
        gone = [*removed, *(set(ids) - {entry.note for entry in analysed.entries})]
        assert self._writer is not None, "a searcher applies nothing"
        with self._writer.transaction():
            self._writer.apply(Batch(analysed.entries, gone, position=position))
            failpoint("keyword.applied")
            if self._closed.is_set():
                raise Unavailable("the vault was closed meanwhile; try again", "behind")
            self._vocabulary.apply(analysed.segment, gone, position)

    def _analyse(self, ledger: Ledger, ids: Sequence[int]) -> _Analysed:
        documents = stored_documents(ledger, ids)
        if not documents:
            return _Analysed(None, ())
        self._lexicon.shrink()
        segment = segment_of(documents, self._rules, self._lexicon)
        return _Analysed(segment, entries_of(ledger, documents))

    def _choose_language(self, ledger: Ledger) -> None:
        self._rules = LanguageRules.of_vault(main_language(ledger.languages()), self._configured)
        self.index.rules = self._rules

    def _position(self, ledger: Ledger, revision: int) -> str:
        return f"{ledger.generation}:{self._version}:{revision}"

    @property
    def _version(self) -> str:
        return f"{ANALYZER_VERSION}.{self._rules.version}".replace(":", "-")

    def _known_revision(self, ledger: Ledger | None) -> int:
        """Return the ledger revision that the engine holds, -1 without any, or if it does not answer."""
        try:
            if ledger is None:
                return -1 if self._vocabulary.position is None else 0
            return self._revision(ledger)
        except Unavailable:
            return -1

    def _revision(self, ledger: Ledger) -> int:
        """Return the ledger revision that the engine holds, -1 if it was filled otherwise."""
        begin, _, revision = (self._vocabulary.position or "").rpartition(":")
        return int(revision) if begin == f"{ledger.generation}:{self._version}" and revision.isdigit() else -1


def _forget_vectors(ledger: Ledger) -> None:
    for space in (ledger.space, ledger.second_space):
        if space.is_followed:
            space.begin_store("")


def _is_at(stored: str | None, own: str, latest: int) -> bool:
    """True if an engine at the position ``stored`` has all that was written up to ``own``, and no more than a
    ledger at the revision ``latest``."""
    begin, _, revision = (stored or "").rpartition(":")
    own_begin, _, own_revision = own.rpartition(":")
    return begin == own_begin and revision.isdigit() and int(own_revision) <= int(revision) <= latest


def entries_of(ledger: Ledger, documents: Sequence[KeywordDocument]) -> list[NoteEntry]:
    """Return the notes as the engine keeps them."""
    ids = [document.note for document in documents]
    copies, revisions = ledger.copies.of_notes(ids), ledger.notes.revisions(ids)
    return [
        NoteEntry(note, copies[note], revisions[note]) for note in ids if note in copies and note in revisions
    ]
