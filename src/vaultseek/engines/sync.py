"""Keeping the notes of an engine up to the ledger."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path

from vaultseek.base import paths
from vaultseek.base.failpoints import failpoint
from vaultseek.base.limits import CATCH_UP_NOTES
from vaultseek.content.languages.detect import DEFAULT_LANGUAGE, main_language
from vaultseek.engines.keyword import EngineKeyword
from vaultseek.engines.postgres.backend import PostgresBackend
from vaultseek.engines.writer import ShardWriter
from vaultseek.errors import Unavailable
from vaultseek.store.documents import stored_documents
from vaultseek.store.keyword.analysis import ANALYZER_VERSION, LanguageRules
from vaultseek.store.keyword.candidates import segment_of
from vaultseek.store.keyword.inverter import Lexicon
from vaultseek.store.keyword.merge import PreparedSegment
from vaultseek.store.ledger import Ledger
from vaultseek.store.ledger.changes import Position, RemovalsPruned, changes, pending_count

SLOW_SECONDS = 2.0
"""Time that a sync may take before answers report it."""
END_SECONDS = 0.5
"""Timeout for the batch in progress when a vault is closed; it is written again later."""

log = logging.getLogger(__name__)


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

    An engine that does not answer stays behind and catches up by revision when it does.
    ``sync`` returns when that is done; after ``start_background_writer`` at once.
    """

    keeps_rows = True
    """An engine has links and times of notes, too, so their changes are synced."""

    def __init__(self, backend: PostgresBackend, language: str | None) -> None:
        self.writer: ShardWriter | None = None
        """The right to write; without it another daemon keeps the engine."""
        self._position: str | None = None
        """The position of the notes in the engine; None before that is known, or without any."""
        self._configured = language
        self._backend = backend
        self._lexicon = Lexicon()
        self._rules = LanguageRules.of_vault(DEFAULT_LANGUAGE, language)
        self.rebuilding = False
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
        self.index = EngineKeyword(backend)
        self.index.rules = self._rules

    def begin(self, writer: ShardWriter) -> None:
        """Write to the engine from now on, after what it has is compared with the ledger."""
        self.writer = writer
        with suppress(Unavailable):
            self._position = self._backend.position()
        self.rebuilding = self._position is None

    @property
    def is_replica(self) -> bool:
        """True if another daemon writes to the engine."""
        return self.writer is None

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
        if self.is_replica:
            return 0
        return pending_count(ledger, Position(self._revision(ledger)), CATCH_UP_NOTES)

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
        return ledger.revision if self.is_replica else max(0, self._revision(ledger))

    def start_background_writer(self, name: str, ledger: Ledger) -> None:
        """Write in a thread of its own from now on, so that the ledger's writer waits for no engine."""
        if self._thread is None and not self.is_replica:
            self._thread = EngineThread(name, lambda: self._follow(ledger))

    def sync(self, ledger: Ledger) -> None:
        """Sync the engine to the ledger's revision, if it answers."""
        if self._thread is not None:
            self._thread.wake()
        elif self.is_replica:
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
        """End the thread; an engine that does not answer is not waited for."""
        if self._thread is not None:
            self._thread.close(END_SECONDS)
        self._closed.set()

    def _write_all(self, ledger: Ledger) -> None:
        self._choose_language(ledger)
        assert self.writer is not None, "a searcher writes nothing"
        if not self._is_verified:
            if not self.writer.acquire():  # the vectors are gone, too
                for space in (ledger.space, ledger.second_space):
                    if space.is_followed:
                        space.begin_store("")
            self._position = self._backend.position()
            self._is_verified = True
        if self._is_rebuild_wanted:
            self._is_rebuild_wanted = False
            self._discard_notes()
        self._write_changes(ledger)
        outdated = self._backend.words.given_other_language(self._rules)
        for start in range(0, len(outdated), CATCH_UP_NOTES):
            if not self.stopped.is_set():
                position = self._position_of(ledger, self._revision(ledger))
                self._apply(ledger, outdated[start : start + CATCH_UP_NOTES], [], position)

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
                position = self._position_of(ledger, page.position.synced_revision)
                self._apply(ledger, page.notes, page.removed, position)
        except RemovalsPruned:
            text = "many notes were removed meanwhile; it is filled again"
            raise Unavailable(text, "behind") from None

    def _discard_notes(self) -> None:
        if self.writer is not None:
            with self.writer.transaction() as backend:
                backend.drop_notes()
            self._position = None

    def _apply(self, ledger: Ledger, ids: Sequence[int], removed: Collection[int], position: str) -> None:
        documents = stored_documents(ledger, ids)
        self._lexicon.shrink()
        segment = segment_of(documents, self._rules, self._lexicon) if documents else None
        there = {document.note for document in documents}
        rows = ledger.copies.of_notes(sorted(there))
        assert self.writer is not None, "a searcher writes nothing"
        with self.writer.transaction() as backend:
            backend.replace(rows, segment, [*removed, *(set(ids) - there)], position)
            failpoint("keyword.applied")
            if self._closed.is_set():
                raise Unavailable("the vault was closed meanwhile; try again", "behind")
        self._position = position

    def _choose_language(self, ledger: Ledger) -> None:
        self._rules = LanguageRules.of_vault(main_language(ledger.languages()), self._configured)
        self.index.rules = self._rules

    def _position_of(self, ledger: Ledger, revision: int) -> str:
        return f"{ledger.generation}:{self._version}:{revision}"

    @property
    def _version(self) -> str:
        return f"{ANALYZER_VERSION}.{self._rules.version}".replace(":", "-")

    def _revision(self, ledger: Ledger) -> int:
        """Return the ledger revision that the engine holds, -1 if it was filled otherwise."""
        begin, _, text = (self._position or "").rpartition(":")
        is_ours = begin == f"{ledger.generation}:{self._version}" and text.isdigit()
        return int(text) if is_ours and int(text) <= ledger.revision else -1
