"""Keep the keyword index in sync with the ledger, and rebuild it when it cannot be trusted."""

import contextlib
import logging
import uuid
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path

from vaultseek.base import paths
from vaultseek.base.failpoints import failpoint
from vaultseek.core.indexing.engine import Engine
from vaultseek.core.indexing.reading import is_note_error, not_indexed
from vaultseek.errors import IndexDamaged
from vaultseek.store.documents import stored_documents
from vaultseek.store.keyword.index import KeywordDocument, KeywordIndex
from vaultseek.store.keyword.merge import PreparedSegment
from vaultseek.store.ledger import Ledger
from vaultseek.store.ledger.changes import Position, RemovalsPruned, changes

_ASIDE = ".old-"
"""Start of the suffix of an index folder that has been moved aside."""

log = logging.getLogger(__name__)
MergeElsewhere = Callable[[Path, Sequence[tuple[str, Collection[int]]]], PreparedSegment]
"""Function that merges segment files, given the index folder and the files."""


class KeywordSync(Engine):
    """Embedded engine: a keyword index in a folder, and the vectors that the worker stores.

    The process that writes the ledger also updates this engine, so engine and ledger are always in sync. No
    other process reads this engine.
    """

    index: KeywordIndex
    """The current index; a rebuild replaces it."""
    directory: Path

    def __init__(self, directory: Path, language: str | None) -> None:
        super().__init__(language)
        self.directory = directory
        self.index = self._open()

    def sync(self, ledger: Ledger) -> None:
        """Apply the ledger's changes to the index; rebuild a damaged index from the ledger."""
        try:
            self._follow(ledger)
            self.rebuilding = False
        except (IndexDamaged, FileNotFoundError, NotADirectoryError) as error:
            self._log_rebuild(error)
            self.rebuild(ledger)

    def add(self, ledger: Ledger, segment: PreparedSegment, notes: Sequence[int]) -> bool:
        """Publish an index segment with these ``notes``; return False if it does not fit, in which case a
        sync is needed.

        A segment fits if the index already has all other notes.
        """
        removed = self._removed_before(ledger, notes)
        if removed is None:
            segment.path.unlink(missing_ok=True)
            return False
        try:
            position = self._position_of(ledger, ledger.revision)
            self.index.apply_prepared(segment, notes, removed, position)
        except (IndexDamaged, FileNotFoundError, NotADirectoryError) as error:
            log.warning("a segment does not match the index in %s: %s", self.directory, error)
            return False
        failpoint("keyword.applied")
        return True

    def notes_to_merge(self, *, purge: bool = False) -> int:
        """Return how many notes the next ``merge_step`` would read; 0 if no merge is due."""
        return self.index.notes_to_merge(purge=purge)

    def merge_step(self, merge: MergeElsewhere | None = None, *, purge: bool = False) -> bool:
        """Merge index segments once; return False if no merge is due.

        ``merge`` is a function that merges segments in another process.
        """
        if merge is None:
            return self.index.merge_step(purge=purge)
        return self.index.merge_step(lambda files: merge(self.directory, files), purge=purge)

    def rebuild(self, ledger: Ledger) -> None:
        """Discard the index and fill a new one from the ledger."""
        self.rebuilding = True
        self._discard()
        self._follow(ledger)
        self.rebuilding = False

    def close(self) -> None:
        """Close the index files."""
        self.index.close()

    def _discard(self) -> None:
        self.index.close()
        self.index = self._create()

    def _create(self) -> KeywordIndex:
        """Create an empty index after moving an existing index aside, so that nothing of the old index
        remains.

        Raises OSError if that fails.
        """
        aside = self.directory.with_name(f"{self.directory.name}{_ASIDE}{uuid.uuid4().hex[:8]}")
        with contextlib.suppress(FileNotFoundError):
            self.directory.rename(aside)
        failpoint("keyword.remake")
        index = KeywordIndex.create(self.directory, self._rules)
        self._remove_aside()
        return index

    def _remove_aside(self) -> None:
        """Delete indexes that were moved aside, including those left by an earlier process that was killed.
        Failed deletions are retried later.
        """
        for path in self.directory.parent.glob(f"{self.directory.name}{_ASIDE}*"):
            try:
                paths.remove(path)
            except OSError as error:
                log.warning("%s is unusable and cannot be removed: %s", path, error.strerror or error)

    def _open(self) -> KeywordIndex:
        try:
            index = KeywordIndex.open(self.directory, self._rules)
        except IndexDamaged as error:
            if self.directory.exists():
                self._log_rebuild(error)
            self.rebuilding = True
            return self._create()
        self._remove_aside()
        return index

    def _log_rebuild(self, error: Exception) -> None:
        log.warning("rebuilding %s from the ledger: %s", self.directory, error)

    def _apply(self, ledger: Ledger, ids: Sequence[int], removed: Collection[int], position: str) -> None:
        self._apply_documents(ledger, stored_documents(ledger, ids), removed, position)

    def _apply_documents(
        self, ledger: Ledger, documents: Sequence[KeywordDocument], removed: Collection[int], position: str
    ) -> None:
        """Apply changed documents to the index. If this fails because of one document, index that document by
        its names only.
        """
        try:
            self.index.apply(documents, removed, position)
        except Exception as error:
            if not is_note_error(error) or not documents:
                raise
            if len(documents) > 1:
                middle = len(documents) // 2
                self._apply_documents(ledger, documents[:middle], removed, self.index.revision or "")
                self._apply_documents(ledger, documents[middle:], [], position)
                return
            log.warning("a note could not be indexed by word (%s)", type(error).__name__)
            self.index.apply([replace(documents[0], headings=(), chunks=())], removed, position)
            ledger.problems.add(documents[0].path, not_indexed(error))

    def _removed_before(self, ledger: Ledger, notes: Sequence[int]) -> list[int] | None:
        """Return the notes removed since the index's revision; None if the notes changed since then are not
        exactly ``notes``.
        """
        self._choose_language(ledger)
        revision = self._revision(ledger)
        if revision < 0:
            return None
        with contextlib.suppress(RemovalsPruned):
            page = next(changes(ledger, Position(revision), len(notes) + 1), None)
            if page is not None and set(page.notes) == set(notes):
                return page.removed
        return None

    def _position(self) -> str | None:
        return self.index.revision
