"""Bring the keyword index up to the ledger, and rebuild it when it cannot be trusted."""

from __future__ import annotations

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
from vaultseek.core.indexing.safely import is_about_notes, not_indexed
from vaultseek.errors import IndexDamaged, Unavailable
from vaultseek.store.documents import stored_documents
from vaultseek.store.keyword.index import KeywordDocument, KeywordIndex
from vaultseek.store.keyword.note_languages import LanguageRules
from vaultseek.store.keyword.prepare import PreparedSegment
from vaultseek.store.ledger import Ledger

_ASIDE = ".old-"
"""Begin of what follows the name of an index that was moved aside."""

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
        self._directory = directory
        self._configured = language
        self._rules = LanguageRules.of_vault(DEFAULT_LANGUAGE, language)
        self.rebuilding = False
        """True while there is less in the index than in the ledger, because it is made anew."""
        self.stopped = threading.Event()
        """Set when the vault is being closed: the index stays behind, and catches up after the next start."""
        self.problem: Unavailable | None = None
        """None: this index is on the same disk as the ledger."""
        self.index = self._open()

    def behind(self, ledger: Ledger) -> int:
        """Return how many notes changed since the index's revision, up to ``CATCH_UP_NOTES``."""
        return len(ledger.notes.changed_since(self._revision(ledger), CATCH_UP_NOTES))

    def level(self, ledger: Ledger) -> int:
        """Return the revision of the ledger that the index has after ``catch_up``."""
        return ledger.revision

    def catch_up(self, ledger: Ledger) -> None:
        """Bring the index to the ledger's revision; rebuild it from the ledger if it is damaged."""
        try:
            self._catch_up(ledger)
            self.rebuilding = False
        except (IndexDamaged, FileNotFoundError, NotADirectoryError) as error:
            self._log_rebuild(error)
            self.rebuild(ledger)

    @property
    def directory(self) -> Path:
        """The folder of the index."""
        return self._directory

    def add(self, ledger: Ledger, segment: PreparedSegment, notes: Sequence[int]) -> bool:
        """Publish a segment of these ``notes``; false if that does not fit, and a catch-up is needed.

        It fits an index that lacks no other note.
        """
        removed = self._removed_before(ledger, notes)
        if removed is None:
            segment.path.unlink(missing_ok=True)
            return False
        try:
            self.index.apply_prepared(segment, notes, removed, _position(ledger, ledger.revision))
        except (IndexDamaged, FileNotFoundError, NotADirectoryError) as error:
            log.warning("a segment does not fit %s: %s", self._directory, error)
            return False
        failpoint("keyword.applied")
        return True

    def merge_step(self, merge: MergeElsewhere | None = None, *, purge: bool = False) -> bool:
        """Do one merge of segments; ``merge`` does the work in another process. False if none is due."""
        if merge is None:
            return self.index.merge_step(purge=purge)
        return self.index.merge_step(lambda files: merge(self._directory, files), purge=purge)

    def rebuild(self, ledger: Ledger) -> None:
        """Discard the index and fill a new one from the ledger."""
        self.rebuilding = True
        try:
            self._replace()
            self._catch_up(ledger)
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
        aside = self._directory.with_name(f"{self._directory.name}{_ASIDE}{uuid.uuid4().hex[:8]}")
        with contextlib.suppress(FileNotFoundError):
            self._directory.rename(aside)
        failpoint("keyword.remake")
        index = KeywordIndex.create(self._directory, rules=self._rules)
        self._remove_aside()
        return index

    def _remove_aside(self) -> None:
        """Remove what was moved aside, now or before a kill; what cannot be removed is tried again later."""
        for path in self._directory.parent.glob(f"{self._directory.name}{_ASIDE}*"):
            try:
                paths.remove(path)
            except OSError as error:
                log.warning("%s is of no use and cannot be removed: %s", path, error.strerror or error)

    def _open(self) -> KeywordIndex:
        try:
            index = KeywordIndex.open(self._directory, rules=self._rules)
        except IndexDamaged as error:
            if self._directory.exists():
                self._log_rebuild(error)
            self.rebuilding = True
            return self._create()
        self._remove_aside()
        return index

    def _log_rebuild(self, error: Exception) -> None:
        log.warning("%s is rebuilt from the ledger: %s", self._directory, error)

    def _catch_up(self, ledger: Ledger) -> None:
        self._choose_language(ledger)
        revision = self._revision(ledger)
        removed = _removed_since(ledger, revision)
        if revision < 0 or removed is None:
            self._replace()
            revision, removed = 0, []
        while not self.stopped.is_set():
            current = ledger.revision
            rows = ledger.notes.changed_since(revision, CATCH_UP_NOTES + 1)
            if not rows and not removed:
                break
            page = rows[:CATCH_UP_NOTES]
            revision = rows[CATCH_UP_NOTES][1] - 1 if len(rows) > CATCH_UP_NOTES else current
            documents = stored_documents(ledger, [note for note, _ in page])
            self._apply(ledger, documents, removed, _position(ledger, revision))
            failpoint("keyword.applied")
            removed = []
        self._analyse_again(ledger)

    def _choose_language(self, ledger: Ledger) -> None:
        self._rules = LanguageRules.of_vault(main_language(ledger.languages()), self._configured)
        self.index.rules = self._rules

    def _analyse_again(self, ledger: Ledger) -> None:
        """Analyse the notes again that were given another language than the vault now has."""
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
            if not is_about_notes(error) or not documents:
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
        changed = {note for note, _ in ledger.notes.changed_since(revision, len(notes) + 1)}
        return _removed_since(ledger, revision) if changed == set(notes) else None

    def _revision(self, ledger: Ledger) -> int:
        """Return the ledger revision that the index holds, -1 if it was made from another ledger.

        An index that was just begun holds revision 0 of any.
        """
        if self.index.revision is None:
            return 0
        generation, _, revision = self.index.revision.partition(":")
        return int(revision) if generation == ledger.generation and revision.isdigit() else -1


def _removed_since(ledger: Ledger, revision: int) -> list[int] | None:
    """Return the notes removed since a revision, none since the beginning; None if that is unknown by now."""
    return ledger.notes.removed_since(revision) if revision else []


def _position(ledger: Ledger, revision: int) -> str:
    return f"{ledger.generation}:{revision}"
