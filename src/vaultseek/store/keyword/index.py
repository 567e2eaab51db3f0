"""Keyword index of one vault, which finds notes by their words and ranks them by BM25F.

The index is a cache beside the ledger. A commit's revision and its content are published by the same rename.
Any damage raises ``IndexDamaged``; the owner then deletes the directory and rebuilds the index.

One thread at a time changes the index. Any thread may search at the same time; a search sees the state that
was published when it began. The cost of a change depends on the change, not on the size of the index. Changes
leave small segments and deleted notes behind, which ``merge_step`` cleans up without blocking searches or
changes.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import numpy as np

from vaultseek.base.paths import private_directory
from vaultseek.content.query.normal_forms import MARK
from vaultseek.errors import IndexDamaged
from vaultseek.store.keyword.analysis import ANALYZER_VERSION, LanguageRules
from vaultseek.store.keyword.answer import ChunkHit, KeywordAnswer, MatchedTerm
from vaultseek.store.keyword.commits import (
    Commit,
    Commits,
    PreparedSegment,
    SegmentEntry,
    translate_read_errors,
)
from vaultseek.store.keyword.inverter import KeywordChunk, KeywordDocument
from vaultseek.store.keyword.lane import KeywordLane
from vaultseek.store.keyword.merge import MergeSource, SegmentPreparer, choose_segments
from vaultseek.store.keyword.segment import FIELD_BITS, Ints, Segment
from vaultseek.store.keyword.snapshot import SegmentView, Snapshot

MERGE_INLINE_NOTES = 512
"""Maximum number of notes in a merge that runs at once, as part of the change that made it necessary. Such a
merge takes milliseconds."""

__all__ = [
    "ChunkHit", "KeywordAnswer", "KeywordChunk", "KeywordDocument", "KeywordIndex",
    "MatchedTerm",
]  # fmt: skip


MergeFiles = Callable[[Sequence[tuple[str, Collection[int]]]], PreparedSegment]
"""Function that merges segment files. It gets the name of each file, and the numbers of the file's deleted
notes."""


_ENGLISH = LanguageRules("en", for_all=True)


class KeywordIndex(KeywordLane):
    """The keyword index of one vault. Use ``open`` or ``create`` to get one."""

    def __init__(self, commits: Commits, rules: LanguageRules, state: _State) -> None:
        super().__init__(rules)
        self._commits = commits
        self._preparer = SegmentPreparer(commits)
        self._state = state
        self._changing = threading.Lock()
        self._merging = threading.Lock()

    @classmethod
    def create(cls, directory: Path, rules: LanguageRules = _ENGLISH) -> KeywordIndex:
        """Create an empty index in an empty or new directory."""
        private_directory(directory)
        Commits(directory).create(_version(rules))
        return cls.open(directory, rules)

    @classmethod
    def open(cls, directory: Path, rules: LanguageRules = _ENGLISH) -> KeywordIndex:
        """Open the index in a directory and verify every byte.

        Raises ``IndexDamaged`` if the index is missing, damaged or built with other rules.
        """
        commits = Commits(directory)
        state = _load(commits, {}, verify=True)
        if state.commit.analyzer_version != _version(rules):
            raise IndexDamaged("keyword index: built with different rules; the index will be rebuilt")
        with translate_read_errors():
            commits.sweep()
        return cls(commits, rules, state)

    @property
    def snapshot(self) -> Snapshot:
        """Snapshot of the last published state, with the words of all notes."""
        return self._state.snapshot

    def given_other_language(self) -> list[int]:
        """Return the ids of notes that must be indexed again because the rules now assign them a different
        language."""
        return self._state.snapshot.given_other_language(self.rules)

    @property
    def revision(self) -> str | None:
        """The revision of the last ``apply``; None before the first ``apply``."""
        return self._state.commit.revision

    @property
    def segments(self) -> int:
        """The number of segments in the index."""
        return len(self._state.segments)

    def stored(self) -> tuple[int, int]:
        """Return the number of notes and the number of passages. Names and properties do not count as
        passages."""
        snapshot = self._state.snapshot
        return snapshot.count, snapshot.passage_count()

    def apply(self, upserts: Sequence[KeywordDocument], deletes: Collection[int], revision: str) -> None:
        """Delete notes, then add or replace notes, in one idempotent commit with the given ``revision``.

        Raises ``ValueError`` if a note occurs twice in ``upserts``, ``OSError`` if the disk is full and
        ``Busy`` if another process is writing; the index then stays unchanged and usable.
        """
        replaced = {document.note for document in upserts}
        if len(replaced) < len(upserts):
            raise ValueError("a note occurs twice in one batch")
        with self._changing:
            prepared = self._preparer.documents(upserts, self.rules) if upserts else None
            self._publish(prepared, [*replaced, *deletes], revision)
        with suppress(OSError):
            self._merge_small()

    def apply_prepared(
        self, segment: PreparedSegment, notes: Collection[int], deletes: Collection[int], revision: str
    ) -> None:
        """Apply a prepared segment that contains ``notes``; small segments are not merged afterwards.

        The prepared file is always removed, even after an error.
        """
        with self._changing:
            self._publish(segment, [*notes, *deletes], revision)

    def _searching(self, snapshot: Snapshot) -> AbstractContextManager[None]:
        return _diagnosing_damage(snapshot)

    def terms(self, least: int = 1) -> list[tuple[str, int]]:
        """Return a pair for each term that at least ``least`` notes contain: the shortest word with this
        term, and the number of these notes."""
        snapshot = self._state.snapshot
        with _diagnosing_damage(snapshot):
            return _list_words(snapshot, least)

    def notes_to_merge(self, *, purge: bool = False) -> int:
        """Return the number of notes that the next ``merge_step`` would read; 0 if no merge is necessary."""
        return sum(entry.doc_count_all() for entry in self._state.segments_to_merge(purge=purge))

    def merge_step(self, merge: MergeFiles | None = None, *, purge: bool = False) -> bool:
        """Merge segments if there are too many segments, or too many deleted notes in them. Return False if
        no merge was necessary.

        Call this in idle time until it returns False. It may take seconds in a large vault; searches
        continue, and changes wait only for the commit. ``merge`` writes the segment in another process. With
        ``purge``, all segments with deleted notes are merged, so that no file contains these notes' text any
        longer.
        """
        with self._merging:
            state = self._state
            merged = state.segments_to_merge(purge=purge)
            if merged:
                self._merge(state, merged, merge)
        return bool(merged)

    def close(self) -> None:
        """Close the files as soon as no running search needs them any longer."""
        self._state = _State(Commit(-1, None, "", ()), {})

    def _reload(self) -> None:
        self._state = _load(self._commits, self._state.segments, verify=False)

    def _merge_small(self) -> None:
        if not self._merging.acquire(blocking=False):
            return
        try:
            state = self._state
            merged = state.segments_to_merge(MERGE_INLINE_NOTES)
            if merged:
                self._merge(state, merged)
        finally:
            self._merging.release()

    def _publish(self, prepared: PreparedSegment | None, deleted: Sequence[int], revision: str) -> None:
        numbers = np.array(deleted, np.int64)
        with self._commits.writing(prepared) as last:
            for entry in last.segments:
                # The segment may be newer than the state if a reload failed.
                segment = self._state.segments.get(entry.segment_id())
                if segment is None:
                    segment = self._commits.open(entry, verify=True)
                notes = segment.tables.notes
                entry.deleted.update(np.flatnonzero(np.isin(notes, numbers)).tolist())
            entries = [entry for entry in last.segments if entry.doc_count()]
            self._commits.publish(last, revision, entries, prepared)
        self._reload()

    def _merge(self, state: _State, merged: Sequence[SegmentEntry], merge: MergeFiles | None = None) -> None:
        sources = [MergeSource(state.segments[entry.segment_id()], entry.alive()) for entry in merged]
        if merge is None:
            prepared = self._preparer.merged(sources)
        else:
            prepared = merge([(entry.file_name, sorted(entry.deleted)) for entry in merged])
        with self._changing:
            with self._commits.writing(prepared) as last:
                for source in sources:
                    source.segment.check_unchanged()
                now = {entry.segment_id(): entry for entry in last.segments}
                deleted = _deleted_since(sources, [now.get(entry.segment_id()) for entry in merged])
                merged_ids = {entry.segment_id() for entry in merged}
                others = [entry for entry in last.segments if entry.segment_id() not in merged_ids]
                self._commits.publish(last, last.revision, others, prepared, deleted)
            self._reload()


class _State:
    """A commit, its open segments by id, and the snapshot of these segments."""

    def __init__(self, commit: Commit, segments: dict[str, Segment]) -> None:
        self.commit = commit
        self.segments = segments
        self.snapshot = Snapshot([(segments[entry.segment_id()], entry.alive()) for entry in commit.segments])

    def segments_to_merge(self, largest: int | None = None, *, purge: bool = False) -> list[SegmentEntry]:
        """Return the segments to merge next; ``largest`` is the maximum number of notes in a merge.

        With ``purge``, return all segments with deleted notes.
        """
        if purge:
            return [entry for entry in self.commit.segments if entry.deleted_count()]
        sizes = [(entry.doc_count_all(), entry.deleted_count()) for entry in self.commit.segments]
        return [self.commit.segments[index] for index in choose_segments(sizes, largest)]


def examine(directory: Path) -> int:
    """Verify every byte of the index in a directory and return the number of its notes. Changes nothing.

    Raises ``IndexDamaged`` if the index is missing or damaged.
    """
    return _load(Commits(directory), {}, verify=True).snapshot.count


def _version(rules: LanguageRules) -> str:
    return f"{ANALYZER_VERSION}:{rules.version}"


def _load(commits: Commits, open_segments: dict[str, Segment], *, verify: bool) -> _State:
    commit = commits.latest()
    segments = {}
    for entry in commit.segments:
        segment = open_segments.get(entry.segment_id())
        segments[entry.segment_id()] = commits.open(entry, verify=verify) if segment is None else segment
    return _State(commit, segments)


@contextmanager
def _diagnosing_damage(snapshot: Snapshot) -> Iterator[None]:
    """Raise ``IndexDamaged`` if a segment has changed by the end of the ``with`` block, or if the block fails
    and a segment is damaged."""
    try:
        yield
    except Exception:
        with translate_read_errors():
            for view in snapshot.views:
                view.segment.verify()
        raise
    with translate_read_errors():
        for view in snapshot.views:
            view.segment.check_unchanged()


def _deleted_since(sources: Sequence[MergeSource], now: Sequence[SegmentEntry | None]) -> list[int]:
    """Return the numbers, in the merged segment, of the notes that were deleted after the merge had read
    them."""
    alive = [
        np.zeros(len(source.segment), np.bool_) if entry is None else entry.alive()
        for source, entry in zip(sources, now, strict=True)
    ]
    still = np.concatenate([after[source.alive] for source, after in zip(sources, alive, strict=True)])
    return np.flatnonzero(~still).tolist()


def _list_words(snapshot: Snapshot, least: int = 1) -> list[tuple[str, int]]:
    """Return, for each term in at least ``least`` notes, its shortest word and the number of live notes that
    contain it.

    Terms of several languages with the same shortest word count as one.
    """
    counts: Counter[bytes] = Counter()
    words: dict[bytes, bytes] = {}
    for view in snapshot.views:
        tables = view.segment.tables
        terms = tables.vocabulary[:]
        counts.update(dict(zip(terms, _note_counts(view).tolist(), strict=True)))
        for word, number in zip(tables.words[:], tables.word_terms.tolist(), strict=True):
            shortest = words.setdefault(terms[number], word)
            words[terms[number]] = min(shortest, word, key=lambda each: (len(each), each))
    of_words: Counter[str] = Counter()
    for term, count in counts.items():
        if term in words and not term.startswith(MARK.encode()):
            of_words[words[term].decode()] += count
    return sorted((word, count) for word, count in of_words.items() if count >= least)


def _note_counts(view: SegmentView) -> Ints:
    tables = view.segment.tables
    keys = view.segment.keys()
    notes = keys >> FIELD_BITS
    first = np.ones(len(keys), np.bool_)
    first[1:] = notes[1:] != notes[:-1]
    first[tables.first_rows[:-1]] = True
    running = np.cumsum(first & view.alive[notes], dtype=np.int64)
    return np.diff(running[tables.first_rows[1:].astype(np.int64) - 1], prepend=0)
