"""Bring the keyword index up to the ledger, and rebuild it when it cannot be trusted."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from vaultseek.errors import IndexDamaged
from vaultseek.failpoints import failpoint
from vaultseek.index.keyword.analysis import LANGUAGES, detect_language
from vaultseek.index.keyword.index import KeywordIndex
from vaultseek.index.keyword.prepare import PreparedSegment
from vaultseek.index.ledger import Ledger
from vaultseek.indexing.documents import stored_documents
from vaultseek.limits import OPENING_CHARS
from vaultseek.paths import write_atomically

CATCH_UP_NOTES = 1024
"""Changed notes in one commit of the keyword index; with as many waiting, it is brought up to the ledger."""
LANGUAGE_NOTES = 200
"""Notes whose openings are sampled to detect the language of a vault."""
LANGUAGE_GROWTH = 4
"""Growth factor after which the language of a vault is detected again."""

MergeElsewhere = Callable[[Path, str | None, Sequence[tuple[str, Collection[int]]]], PreparedSegment]
"""Function that merges segment files of an index, given its folder, its language and the files."""


class KeywordSync:
    """The keyword index of a vault and its ledger revision.

    Without a configured ``language`` it is detected by the stop words of the notes, and again when the vault
    has grown by ``LANGUAGE_GROWTH``.
    """

    def __init__(self, directory: Path, language: str | None) -> None:
        self._directory = directory
        self._language_file = directory.with_name(directory.name + ".language")
        self._configured = language
        self._language, self._sampled_at = (language, 0) if language else self._stored_language()
        self.rebuilding = False
        self.index = self._open()

    def behind(self, ledger: Ledger) -> int:
        """Return how many notes changed since the index's revision, up to ``CATCH_UP_NOTES``."""
        return len(ledger.notes.changed_since(self._revision(ledger), CATCH_UP_NOTES))

    def catch_up(self, ledger: Ledger) -> None:
        """Bring the index to the ledger's revision; rebuild it from the ledger if it is damaged."""
        try:
            self._catch_up(ledger)
        except (IndexDamaged, FileNotFoundError, NotADirectoryError):
            self.rebuild(ledger)

    @property
    def language(self) -> str:
        """The language of the index."""
        return self._language

    @property
    def directory(self) -> Path:
        """The folder of the index."""
        return self._directory

    def add(
        self, ledger: Ledger, segment: PreparedSegment, language: str | None, notes: Sequence[int]
    ) -> bool:
        """Publish a segment of these ``notes``; false if that does not fit, and a catch-up is needed.

        It fits an index of the same language that lacks no other note.
        """
        removed = self._removed_before(ledger, language, notes)
        if removed is None:
            segment.path.unlink(missing_ok=True)
            return False
        try:
            self.index.apply_prepared(segment, notes, removed, _position(ledger, ledger.revision))
        except (IndexDamaged, FileNotFoundError, NotADirectoryError):
            return False
        failpoint("keyword.applied")
        return True

    def merge_step(self, merge: MergeElsewhere | None = None) -> bool:
        """Do one merge of segments; ``merge`` does the work in another process. False if none is due."""
        index, language = self.index, self._language
        if merge is None:
            return index.merge_step()
        return index.merge_step(lambda files: merge(self._directory, language, files))

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
        failpoint("keyword.remake")
        self.index = self._create()

    def _create(self) -> KeywordIndex:
        shutil.rmtree(self._directory, ignore_errors=True)
        return KeywordIndex.create(self._directory, language=self._language)

    def _open(self) -> KeywordIndex:
        try:
            return KeywordIndex.open(self._directory, language=self._language)
        except IndexDamaged:
            return self._create()

    def _catch_up(self, ledger: Ledger) -> None:
        self._detect_language(ledger)
        revision = self._revision(ledger)
        removed = ledger.notes.removed_since(revision)
        if revision < 0 or self.index.language != self._language or removed is None:
            self._replace()
            revision, removed = 0, []
        while True:
            current = ledger.revision
            rows = ledger.notes.changed_since(revision, CATCH_UP_NOTES + 1)
            if not rows and not removed:
                return
            page = rows[:CATCH_UP_NOTES]
            revision = rows[CATCH_UP_NOTES][1] - 1 if len(rows) > CATCH_UP_NOTES else current
            documents = stored_documents(ledger, [note for note, _ in page])
            self.index.apply(documents, removed, _position(ledger, revision))
            failpoint("keyword.applied")
            removed = []

    def _detect_language(self, ledger: Ledger) -> None:
        """Sample the notes if it is time to; an index of another language than theirs has to be replaced."""
        least = max(1, LANGUAGE_GROWTH * self._sampled_at)
        if self._configured or not ledger.notes.has(least):
            return
        ids = ledger.notes.ids()
        sample = ids[:: max(1, len(ids) // LANGUAGE_NOTES)][:LANGUAGE_NOTES]
        self._sampled_at = len(ids)
        self._language = detect_language(
            "\n".join(ledger.chunks.opening(note, OPENING_CHARS) for note in sample)
        )
        write_atomically(self._language_file, f"{self._language} {self._sampled_at}")

    def _removed_before(self, ledger: Ledger, language: str | None, notes: Sequence[int]) -> list[int] | None:
        """Return the notes removed since the index's revision; None if more than ``notes`` is missing."""
        self._detect_language(ledger)
        revision = self._revision(ledger)
        if revision < 0 or not language == self._language == self.index.language:
            return None
        changed = {note for note, _ in ledger.notes.changed_since(revision, len(notes) + 1)}
        return ledger.notes.removed_since(revision) if changed == set(notes) else None

    def _stored_language(self) -> tuple[str, int]:
        try:
            language, _, notes = self._language_file.read_text().partition(" ")
        except (OSError, UnicodeDecodeError):
            return "en", 0
        return (language, int(notes)) if language in LANGUAGES and notes.isdigit() else ("en", 0)

    def _revision(self, ledger: Ledger) -> int:
        """Return the ledger revision that the index holds, -1 if it was made from another ledger."""
        generation, _, revision = (self.index.revision or "").partition(":")
        return int(revision) if generation == ledger.generation and revision.isdigit() else -1


def _position(ledger: Ledger, revision: int) -> str:
    return f"{ledger.generation}:{revision}"
