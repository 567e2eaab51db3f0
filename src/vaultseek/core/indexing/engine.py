"""The port to an engine: the interface that an open vault uses.

An engine stores notes by ledger id, and passages by chunk number. It follows the ledger, and the ranking
formulas are the same for all engines.
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
"""The target of a link: note id, ordinal, and path or None."""


class Engine:
    """Finds the notes of one open vault, by words and by vectors, at a revision of its ledger.

    Without a configured ``language``, each note is analysed in its own language or, if that is unclear, in
    the most common language of the ledger. When the most common language changes, the notes without a clear
    language are analysed again.
    """

    index: KeywordLane
    """Keyword search over the notes."""
    directory: Path | None = None
    """The folder in which reader processes write segments; None if they write none."""
    stores_vectors = False
    """True if the vectors are stored together with the notes, and not by the worker."""

    def __init__(self, language: str | None) -> None:
        self.rebuilding = False
        """True while the engine is being refilled and has fewer notes than the ledger."""
        self.stopped = threading.Event()
        """Set when the vault is being closed; the engine is then synced after the next start."""
        self._configured = language
        self._rules = LanguageRules.of_vault(DEFAULT_LANGUAGE, language)

    def sync(self, ledger: Ledger) -> None:
        """Bring the engine to the ledger's revision, or schedule this if it would take long."""
        raise NotImplementedError

    def rebuild(self, ledger: Ledger) -> None:
        """Discard the engine's notes and refill it from the ledger."""
        raise NotImplementedError

    def close(self) -> None:
        """Close files and connections."""
        raise NotImplementedError

    @property
    def outage(self) -> Unavailable | None:
        """The reason why the engine did not answer the last request; None if it answered. Reading it makes no
        request.
        """
        return None

    @property
    def problem(self) -> Unavailable | None:
        """The reason why the engine is behind the ledger; None if it is up to date or its state is
        unknown."""
        return None

    @property
    def is_indexing(self) -> bool:
        """True while the engine builds an index of vectors. Building may take long, and no count shows its
        progress.
        """
        return False

    @property
    def is_synced(self) -> bool:
        """True if the engine has the ledger's notes, or if the reason why it lacks some is known."""
        return True

    async def wait_until_synced(self, seconds: float) -> None:
        """Wait until the engine is synced, or for ``seconds``. Raises local errors such as a full disk."""

    def start_background_writer(self) -> None:
        """Write notes in a separate thread from now on."""

    def vector_store(self, worker: SemanticWorker) -> VectorStore:
        """Return the store of a worker's vectors: by default the worker itself."""
        return worker

    def use_space(self, name: str) -> None:
        """Record the name of the vector space in use."""

    # -- changes that leave the words of a note as they are --------------------------------------------

    def before_touch(self, ledger: Ledger, notes: Sequence[UnchangedNote], revision: int) -> None:
        """Prepare for new times of unchanged notes, within the transaction of this ``revision``."""

    def before_relink(
        self, ledger: Ledger, resolved: Sequence[ResolvedLink], read: Collection[int], revision: int
    ) -> None:
        """Prepare for new targets of links, within the transaction of this ``revision``.

        ``read`` are the notes that were just read and will be written to the engine anyway.
        """

    # -- segments of an index on this disk -------------------------------------------------------------

    def add(self, ledger: Ledger, segment: PreparedSegment, notes: Sequence[int]) -> bool:
        """Publish a segment of these ``notes``; return False if it does not fit and a sync is needed."""
        segment.path.unlink(missing_ok=True)
        return False

    def notes_to_merge(self, *, purge: bool = False) -> int:
        """Return the number of notes that the next ``merge_step`` would read; 0 if no merge is due."""
        return 0

    def merge_step(self, merge: Callable[..., PreparedSegment] | None = None, *, purge: bool = False) -> bool:
        """Merge segments once; ``merge`` does it in another process. Return False if no merge is due."""
        return False

    # -- following -------------------------------------------------------------------------------------

    def pending_count(self, ledger: Ledger) -> int:
        """Return the number of notes changed since the engine's revision, at most ``CATCH_UP_NOTES``."""
        return pending_count(ledger, Position(self._revision(ledger)), CATCH_UP_NOTES)

    def synced_revision(self, ledger: Ledger) -> int:
        """Return the ledger revision of the engine; 0 if it must be refilled."""
        return max(0, self._revision(ledger))

    def _follow(self, ledger: Ledger) -> None:
        """Apply the ledger's changes since the engine's revision in pages, or write all notes if necessary.

        If one commit changes more notes than a page holds, the engine stays at the previous revision until
        all of them are written.
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
        """Return the ledger revision up to which the engine is filled; -1 if it was filled from another
        ledger or by other rules.

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
        """Return a text that changes whenever all notes must be rewritten."""
        return ledger.generation

    def _position(self) -> str | None:
        """Return the position stored with the last notes; None before the first notes."""
        raise NotImplementedError

    def _apply(self, ledger: Ledger, ids: Sequence[int], removed: Collection[int], position: str) -> None:
        """Write notes of the ledger, delete removed or missing ones, and store the position."""
        raise NotImplementedError

    def _discard(self) -> None:
        """Delete all notes."""
        raise NotImplementedError
