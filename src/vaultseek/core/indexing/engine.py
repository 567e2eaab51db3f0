"""Interface between an open vault and the engine that stores its searchable notes and vectors.

An engine follows the ledger; it stores notes by ledger id, and passages by chunk number. The ranking formulas
are the same for all engines.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vaultseek.base.failpoints import failpoint
from vaultseek.base.limits import CATCH_UP_NOTES
from vaultseek.content.languages.detect import DEFAULT_LANGUAGE, main_language
from vaultseek.store.keyword.analysis import LanguageRules
from vaultseek.store.keyword.lane import KeywordLane
from vaultseek.store.keyword.merge import PreparedSegment
from vaultseek.store.ledger.changes import Position, RemovalsPruned, changes, pending_count
from vaultseek.store.ledger.ledger import Ledger
from vaultseek.store.ledger.rows import UnchangedNote

if TYPE_CHECKING:
    from vaultseek.errors import Unavailable
    from vaultseek.semantic.worker import SemanticWorker
    from vaultseek.semantic.worker.state import VectorKeeper as VectorStore

ResolvedLink = tuple[int, int, str | None]
"""A link and its target: id of the note with the link, ordinal of the link in the note, and path of the
target or None."""


class Engine:
    """Search engine of one open vault: finds notes by words and by vectors, at a revision of the vault's
    ledger.

    Without a configured ``language``, each note is analysed in its own language or, if that is unclear, in
    the most common language of the ledger. When the most common language changes, the notes without a clear
    language are analysed again.
    """

    index: KeywordLane
    """Keyword search over the notes."""
    directory: Path | None = None
    """Folder in which reader processes write index segments; None if this engine has no segments."""
    stores_vectors = False
    """True if this engine stores vectors together with the notes, instead of leaving them to the worker."""

    def __init__(self, language: str | None) -> None:
        self.rebuilding = False
        """True while the engine is being refilled and has fewer notes than the ledger."""
        self.stopped = threading.Event()
        """Event that is set when the vault is being closed. The next start then finishes syncing the
        engine."""
        self._configured = language
        self._rules = LanguageRules.of_vault(DEFAULT_LANGUAGE, language)

    def sync(self, ledger: Ledger) -> None:
        """Bring the engine up to the ledger's revision, or schedule this if it would take too long."""
        raise NotImplementedError

    def rebuild(self, ledger: Ledger) -> None:
        """Discard the engine's notes and refill it from the ledger."""
        raise NotImplementedError

    def close(self) -> None:
        """Close files and connections."""
        raise NotImplementedError

    @property
    def outage(self) -> Unavailable | None:
        """Reason why the last request to the engine failed; None if it succeeded. Reading this property makes
        no request.
        """
        return None

    @property
    def problem(self) -> Unavailable | None:
        """Reason why the engine is behind the ledger; None if it is up to date or its state is unknown."""
        return None

    @property
    def is_indexing(self) -> bool:
        """True while the engine builds its vector index. This may take a long time, and its progress cannot
        be measured.
        """
        return False

    @property
    def is_synced(self) -> bool:
        """True if the engine has all notes of the ledger, or if the reason why some are missing is known."""
        return True

    async def wait_until_synced(self, seconds: float) -> None:
        """Wait until the engine is synced, for at most ``seconds``. Raises errors of this machine, such as a
        full disk.
        """

    def start_background_writer(self) -> None:
        """Write notes in a separate thread from now on."""

    def vector_store(self, worker: SemanticWorker) -> VectorStore:
        """Return the store for a worker's vectors; by default, the worker itself."""
        return worker

    def use_space(self, name: str) -> None:
        """Record the name of the vector space in use."""

    def drop_vectors(self, stores: Collection[str], former: Collection[str]) -> None:
        """Delete the vectors that the engine stores outside of ``stores``, except those of ``former`` models.

        Stores that the worker keeps are deleted as soon as they are no longer used.
        """

    # -- changes that do not affect a note's words -----------------------------------------------------

    def before_touch(self, ledger: Ledger, notes: Sequence[UnchangedNote], revision: int) -> None:
        """Prepare to store new file times for unchanged notes, in the ledger transaction of ``revision``."""

    def before_relink(
        self, ledger: Ledger, resolved: Sequence[ResolvedLink], read: Collection[int], revision: int
    ) -> None:
        """Prepare to store new link targets, in the ledger transaction of ``revision``.

        ``read`` contains the notes that have just been read and will be written to the engine anyway.
        """

    # -- segments of an index on this disk -------------------------------------------------------------

    def add(self, ledger: Ledger, segment: PreparedSegment, notes: Sequence[int]) -> bool:
        """Publish an index segment with these ``notes``; return False if it does not fit, in which case a
        sync is needed.
        """
        segment.path.unlink(missing_ok=True)
        return False

    def notes_to_merge(self, *, purge: bool = False) -> int:
        """Return how many notes the next ``merge_step`` would read; 0 if no merge is due."""
        return 0

    def merge_step(self, merge: Callable[..., PreparedSegment] | None = None, *, purge: bool = False) -> bool:
        """Merge index segments once; return False if no merge is due.

        ``merge`` is a function that merges segments in another process.
        """
        return False

    # -- following -------------------------------------------------------------------------------------

    def pending_count(self, ledger: Ledger) -> int:
        """Return how many notes have changed since the engine's revision, up to ``CATCH_UP_NOTES``."""
        return pending_count(ledger, Position(self._revision(ledger)), CATCH_UP_NOTES)

    def synced_revision(self, ledger: Ledger) -> int:
        """Return the ledger revision that the engine has reached; 0 if it must be refilled."""
        return max(0, self._revision(ledger))

    def _follow(self, ledger: Ledger) -> None:
        """Apply the ledger's changes since the engine's revision, one page at a time; write all notes if
        necessary.

        If one commit changes more notes than a page holds, the engine stays at the previous revision until
        all these notes are written.
        """
        self._choose_language(ledger)
        revision = self._revision(ledger)
        try:
            if revision < 0:
                raise RemovalsPruned
            self._apply_changes(ledger, revision)
        except RemovalsPruned:
            self.rebuilding = True
            self._discard()
            self._apply_changes(ledger, 0)
        outdated = self.index.given_other_language()
        for start in range(0, len(outdated), CATCH_UP_NOTES):
            if self.stopped.is_set():
                return
            notes = outdated[start : start + CATCH_UP_NOTES]
            self._apply(ledger, notes, [], self._position_of(ledger, self._revision(ledger)))
            failpoint("keyword.applied")

    def _apply_changes(self, ledger: Ledger, revision: int) -> None:
        for page in changes(ledger, Position(revision), CATCH_UP_NOTES):
            if self.stopped.is_set():
                return
            position = self._position_of(ledger, page.position.synced_revision)
            self._apply(ledger, page.notes, page.removed, position)
            failpoint("keyword.applied")

    def _choose_language(self, ledger: Ledger) -> None:
        self._rules = LanguageRules.of_vault(main_language(ledger.languages()), self._configured)
        self.index.rules = self._rules

    def _revision(self, ledger: Ledger) -> int:
        """Return the ledger revision that the engine has reached; -1 if it was filled from a different ledger
        or under different rules.

        A new engine is at revision 0 of any ledger.
        """
        position = self._position()
        if position is None:
            return 0
        origin, _, revision = position.rpartition(":")
        is_ours = origin == self._origin(ledger) and revision.isdigit() and int(revision) <= ledger.revision
        return int(revision) if is_ours else -1

    def _position_of(self, ledger: Ledger, revision: int) -> str:
        return f"{self._origin(ledger)}:{revision}"

    def _origin(self, ledger: Ledger) -> str:
        """Return a key that changes whenever all notes must be rewritten."""
        return ledger.generation

    def _position(self) -> str | None:
        """Return the position stored with the most recently written notes; None if nothing was written
        yet.
        """
        raise NotImplementedError

    def _apply(self, ledger: Ledger, ids: Sequence[int], removed: Collection[int], position: str) -> None:
        """Write these notes of the ledger, delete ``removed`` notes and notes missing from the ledger, and
        store the position.
        """
        raise NotImplementedError

    def _discard(self) -> None:
        """Delete all notes."""
        raise NotImplementedError
