"""Sync the keyword index with the ledger, and rebuild it when it cannot be trusted."""

import contextlib
import logging
import threading
import uuid
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path

from vaultseek.base import paths
from vaultseek.base.failpoints import failpoint
from vaultseek.base.limits import CATCH_UP_NOTES
from vaultseek.content.languages.detect import DEFAULT_LANGUAGE, main_language
from vaultseek.core.indexing.reading import is_note_error, not_indexed
from vaultseek.engines.port import Engine
from vaultseek.errors import IndexDamaged, Unavailable
from vaultseek.store.documents import stored_documents
from vaultseek.store.keyword.analysis import LanguageRules
from vaultseek.store.keyword.index import KeywordDocument, KeywordIndex
from vaultseek.store.keyword.merge import PreparedSegment
from vaultseek.store.ledger import Ledger
from vaultseek.store.ledger.changes import Position, RemovalsPruned, changes, pending_count

_ASIDE = ".old-"
"""Beginning of the suffix of an index that was moved aside."""

log = logging.getLogger(__name__)
MergeElsewhere = Callable[[Path, Sequence[tuple[str, Collection[int]]]], PreparedSegment]
"""Function that merges segment files of an index, given its folder and the files."""


class KeywordSync:
    """The keyword index of a vault and its ledger revision.

    Without a configured ``language`` each note is analysed in its own, and one that shows none in that of
    most notes, as the ledger counts them. When another one becomes that of most, these are analysed again.
    """

    keeps_rows = False
    """Only the words of notes are in this index."""

    def __init__(self, directory: Path, language: str | None) -> None:
        self.directory = directory
        self._configured = language
        self._rules = LanguageRules.of_vault(DEFAULT_LANGUAGE, language)
        self.rebuilding = False
        """True while there is less in the index than in the ledger, because it is made anew."""
        self.stopped = threading.Event()
        """Set when the vault is being closed: the index is synced after the next start."""
        self.problem: Unavailable | None = None
        """None: this index is on the same disk as the ledger."""
        self.index = self._open()

    def pending_count(self, ledger: Ledger) -> int:
        """Return how many notes changed since the index's revision, up to ``CATCH_UP_NOTES``."""
        return pending_count(ledger, Position(self._revision(ledger)), CATCH_UP_NOTES)

    def synced_revision(self, ledger: Ledger) -> int:
        """Return the revision of the ledger that the index has after ``sync``."""
        return ledger.revision

    def sync(self, ledger: Ledger) -> None:
        """Apply the ledger's changes to the index; rebuild it from the ledger if it is damaged."""
        try:
            self._sync(ledger)
            self.rebuilding = False
        except (IndexDamaged, FileNotFoundError, NotADirectoryError) as error:
            self._log_rebuild(error)
            self.rebuild(ledger)

    def add(self, ledger: Ledger, segment: PreparedSegment, notes: Sequence[int]) -> bool:
        """Publish a segment of these ``notes``; false if that does not fit, and a sync is needed.

        It fits an index that lacks no other note.
        """
        removed = self._removed_before(ledger, notes)
        if removed is None:
            segment.path.unlink(missing_ok=True)
            return False
        try:
            self.index.apply_prepared(segment, notes, removed, _position(ledger, ledger.revision))
        except (IndexDamaged, FileNotFoundError, NotADirectoryError) as error:
            log.warning("a segment does not fit %s: %s", self.directory, error)
            return False
        failpoint("keyword.applied")
        return True

    def merge_step(self, merge: MergeElsewhere | None = None, *, purge: bool = False) -> bool:
        """Do one merge of segments; ``merge`` does the work in another process. False if none is due."""
        if merge is None:
            return self.index.merge_step(purge=purge)
        return self.index.merge_step(lambda files: merge(self.directory, files), purge=purge)

    def rebuild(self, ledger: Ledger) -> None:
        """Discard the index and fill a new one from the ledger."""
        self.rebuilding = True
        try:
            self._replace()
            self._sync(ledger)
        finally:
            self.rebuilding = False

    def close(self) -> None:
        """Close the files of the index."""
        self.index.close()

    def _replace(self) -> None:
        self.index.close()
        self.index = self._create()

    def _create(self) -> KeywordIndex:
        """Begin an empty index. What is in its place is moved aside, so that no part of it can stay there.

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
        """Remove what was moved aside, now or before a kill; what cannot be removed is tried again later."""
        for path in self.directory.parent.glob(f"{self.directory.name}{_ASIDE}*"):
            try:
                paths.remove(path)
            except OSError as error:
                log.warning("%s is of no use and cannot be removed: %s", path, error.strerror or error)

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
        log.warning("%s is rebuilt from the ledger: %s", self.directory, error)

    def _sync(self, ledger: Ledger) -> None:
        self._choose_language(ledger)
        revision = self._revision(ledger)
        try:
            if revision < 0:
                raise RemovalsPruned
            self._apply_changes(ledger, revision)
        except RemovalsPruned:
            self._replace()
            self._apply_changes(ledger, 0)
        self._analyse_again(ledger)

    def _apply_changes(self, ledger: Ledger, revision: int) -> None:
        for page in changes(ledger, Position(revision), CATCH_UP_NOTES):
            if self.stopped.is_set():
                return
            documents = stored_documents(ledger, page.notes)
            self._apply(ledger, documents, page.removed, _position(ledger, page.position.synced_revision))
            failpoint("keyword.applied")

    def _choose_language(self, ledger: Ledger) -> None:
        self._rules = LanguageRules.of_vault(main_language(ledger.languages()), self._configured)
        self.index.rules = self._rules

    def _analyse_again(self, ledger: Ledger) -> None:
        notes = self.index.given_other_language()
        for start in range(0, len(notes), CATCH_UP_NOTES):
            if self.stopped.is_set():
                return
            documents = stored_documents(ledger, notes[start : start + CATCH_UP_NOTES])
            self._apply(ledger, documents, [], _position(ledger, ledger.revision))
            failpoint("keyword.applied")

    def _apply(
        self, ledger: Ledger, documents: Sequence[KeywordDocument], removed: Collection[int], position: str
    ) -> None:
        """Apply documents; if one of them is the reason that this fails, the index has only its names."""
        try:
            self.index.apply(documents, removed, position)
        except Exception as error:
            if not is_note_error(error) or not documents:
                raise
            if len(documents) > 1:
                middle = len(documents) // 2
                self._apply(ledger, documents[:middle], removed, self.index.revision or "")
                self._apply(ledger, documents[middle:], [], position)
                return
            log.warning("a note could not be indexed by word (%s)", type(error).__name__)
            self.index.apply([replace(documents[0], headings=(), chunks=())], removed, position)
            ledger.problems.add(documents[0].path, not_indexed(error))

    def _removed_before(self, ledger: Ledger, notes: Sequence[int]) -> list[int] | None:
        """Return the notes removed since the index's revision; None if more than ``notes`` is missing."""
        self._choose_language(ledger)
        revision = self._revision(ledger)
        if revision < 0:
            return None
        with contextlib.suppress(RemovalsPruned):
            page = next(changes(ledger, Position(revision), len(notes) + 1), None)
            if page is not None and set(page.notes) == set(notes):
                return page.removed
        return None

    def _revision(self, ledger: Ledger) -> int:
        """Return the ledger revision that the index holds, -1 if it was made from another ledger.

        An index that was just begun holds revision 0 of any.
        """
        if self.index.revision is None:
            return 0
        generation, _, revision = self.index.revision.partition(":")
        return int(revision) if generation == ledger.generation and revision.isdigit() else -1


def _position(ledger: Ledger, revision: int) -> str:
    return f"{ledger.generation}:{revision}"


class EmbeddedEngine(Engine):
    """The keyword index in a folder, which the writer of the ledger keeps, and the store of the worker."""

    def __init__(self, directory: Path, language: str | None) -> None:
        self.keyword = KeywordSync(directory, language)
