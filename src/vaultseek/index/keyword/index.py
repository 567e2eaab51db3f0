"""The keyword index of one vault: notes by their words, ranked by BM25F.

A cache beside the ledger. Every commit carries a stamp, published by the same rename as its content; whatever
is found damaged raises ``IndexDamaged``, after which the owner deletes the directory and fills it again.

One thread at a time changes the index; searches run in any thread meanwhile, each on what was published when
it began. A change costs as much as what it changes. What that leaves behind, many small segments and deleted
notes, is tidied up by ``merge_step``, which holds up neither searches nor changes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection as Some
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vaultseek.errors import IndexDamaged
from vaultseek.index.keyword.analysis import Analysis
from vaultseek.index.keyword.bm25f import Collection, Scheme
from vaultseek.index.keyword.commits import Commit, Commits, Prepared, SegmentEntry, damage_noticed
from vaultseek.index.keyword.inventory import dumped, vocabulary
from vaultseek.index.keyword.inversion import KeywordChunk, KeywordDocument, Lexicon, invert
from vaultseek.index.keyword.lookup import ChunkHit, KeywordHit, Lookup, QueryTerm
from vaultseek.index.keyword.merging import Source, choose, merge_segments
from vaultseek.index.keyword.postings import Bools, Ints, Segment, Sink, write_segment
from vaultseek.index.keyword.spans import SpanFinder
from vaultseek.paths import private_directory

MERGE_INLINE_NOTES = 512
"""Merges of so many notes in all take milliseconds and are done with the change that made them due."""

__all__ = [
    "ChunkHit", "KeywordAnswer", "KeywordChunk", "KeywordDocument", "KeywordHit", "KeywordIndex", "QueryTerm",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class KeywordAnswer:
    """The hits, best first; ``found``: how many notes matched and were allowed, before the cut."""

    hits: tuple[KeywordHit, ...]
    terms: tuple[QueryTerm, ...]
    found: int
    milliseconds: float


class KeywordIndex:
    """See the module. Made by ``open`` or ``create``."""

    def __init__(self, commits: Commits, analysis: Analysis, state: _State) -> None:
        self._commits = commits
        self._analysis = analysis
        self.span_finder = SpanFinder(analysis)
        """Finds the terms of this index in a text."""
        self._lexicon = Lexicon(analysis)
        self._state = state
        self._changing = threading.Lock()
        self._merging = threading.Lock()

    @classmethod
    def create(cls, directory: Path, *, language: str | None = "en") -> KeywordIndex:
        """An empty index in an empty or new directory; ``ValueError`` for an unknown language."""
        analysis = Analysis(language)
        private_directory(directory)
        Commits(directory).create(analysis.recipe)
        return cls.open(directory, language=language)

    @classmethod
    def open(cls, directory: Path, *, language: str | None = "en") -> KeywordIndex:
        """The index in the directory, every byte checked.

        Raises ``IndexDamaged`` if there is none, if it is damaged, or if it was made for another language or
        by a version that analyses otherwise.
        """
        analysis = Analysis(language)
        commits = Commits(directory)
        state = _load(commits, {}, verify=True)
        if state.commit.recipe != analysis.recipe:
            raise IndexDamaged("keyword index: made by other rules of analysis; it will be filled again")
        with damage_noticed():
            commits.sweep()
        return cls(commits, analysis, state)

    @property
    def stamp(self) -> str | None:
        """The stamp of the last ``apply``; None before the first."""
        return self._state.commit.stamp

    @property
    def segments(self) -> int:
        """How many segments there are."""
        return len(self._state.segments)

    def __len__(self) -> int:
        """The number of notes."""
        return self._state.collection.count

    def apply(self, upserts: Sequence[KeywordDocument], deletes: Some[int], stamp: str) -> None:
        """Delete notes, then add or replace others, as one commit. The same again changes nothing.

        ``ValueError`` if a note is twice among the upserts. ``OSError`` if the disk is full and ``Busy`` if
        another process is writing: the index stays as it was and can be used.
        """
        replaced = {document.note for document in upserts}
        if len(replaced) < len(upserts):
            raise ValueError("a note is twice in one batch")
        with self._changing:
            prepared = self._prepare(upserts) if upserts else None
            with self._commits.writing(prepared) as change:
                gone = np.array([*replaced, *deletes], np.int64)
                for entry in change.entries:
                    notes = self._segment(entry).tables.notes
                    entry.deleted.update(np.flatnonzero(np.isin(notes, gone)).tolist())
                change.publish(stamp, [entry for entry in change.entries if entry.doc_count()], prepared)
            self._reload()
        with suppress(OSError):
            self._merge_small()

    def search(
        self, text: str, k: int, allowed: Ints | None = None, *, weights: dict[str, float] | None = None
    ) -> KeywordAnswer:
        """The ``k`` best notes for the words of the text, none of which is required.

        ``allowed``: int64 ids of the notes that may be found; the others are left out before the cut, while N
        and df stay those of the vault. ``weights``: of fields, instead of the usual ones.
        """
        begun = time.perf_counter()
        scheme = Scheme.weighing(weights) if weights else Scheme()
        collection = self._state.collection
        with _checked(collection):
            lookup = Lookup(collection, self._analysis, scheme, text)
            hits, found = lookup.hits(k, _allowed(collection, allowed))
        return KeywordAnswer(hits, lookup.terms, found, (time.perf_counter() - begun) * 1000)

    def terms(self, least: int = 1) -> list[tuple[str, int]]:
        """The words of the vault, one for each term, with the number of notes: those in ``least`` or more."""
        collection = self._state.collection
        with _checked(collection):
            return vocabulary(collection, least)

    def content_terms(self, text: str) -> set[str]:
        """The terms of the text's words, as a search compares them, without stop words and compounds."""
        stops = self._analysis.stop_words
        found = (term for _, term in self._analysis.terms(text))
        return {term.text for term in found if term.role != "whole" and term.word not in stops}

    def merge_step(self) -> bool:
        """Merge some segments if there are too many or too much in them is deleted; false if no need.

        To be called when there is nothing better to do, until it returns false. It may take seconds in a
        large vault; searches go on, and changes wait only for its commit.
        """
        with self._merging:
            state = self._state
            chosen = choose([(entry.doc_count_all(), entry.deleted_count()) for entry in state.entries])
            if chosen:
                self._merge(state, [state.entries[at] for at in chosen])
        return bool(chosen)

    def dump(self) -> str:
        """The content as text, one term a line, whatever the segments: to compare two indexes."""
        collection = self._state.collection
        with _checked(collection):
            return "\n".join(dumped(collection))

    def close(self) -> None:
        """Let go of the files, as soon as running searches are done with them."""
        self._state = _State(Commit(-1, None, "", ()), {})

    def _prepare(self, documents: Sequence[KeywordDocument]) -> Prepared:
        self._lexicon.shrink()
        tables, block = invert(documents, self._lexicon)

        def write(file: Sink) -> int:
            write_segment(file, tables, [block], (_type(block.counts), _type(block.positions)))
            return len(documents)

        return self._commits.prepare(write)

    def _segment(self, entry: SegmentEntry) -> Segment:
        """The open segment of an entry, which may be newer than the state if a reload failed."""
        segment = self._state.segments.get(entry.segment_id())
        return self._commits.open(entry, verify=True) if segment is None else segment

    def _reload(self) -> None:
        self._state = _load(self._commits, self._state.segments, verify=False)

    def _merge_small(self) -> None:
        """Merge what is quickly merged, unless a merge is running, so that single notes do not pile up."""
        if not self._merging.acquire(blocking=False):
            return
        try:
            state = self._state
            sizes = [(entry.doc_count_all(), entry.deleted_count()) for entry in state.entries]
            chosen = choose(sizes, largest=MERGE_INLINE_NOTES)
            if chosen:
                self._merge(state, [state.entries[at] for at in chosen])
        finally:
            self._merging.release()

    def _merge(self, state: _State, chosen: Sequence[SegmentEntry]) -> None:
        """Write the merged segment first; then publish it, without what was deleted in the meantime."""
        sources = [Source(state.segments[entry.segment_id()], entry.alive()) for entry in chosen]
        prepared = self._commits.prepare(lambda file: merge_segments(sources, file))
        with self._changing:
            with self._commits.writing(prepared) as change:
                now = {entry.segment_id(): entry for entry in change.entries}
                deleted = _deleted_since(sources, [now.get(entry.segment_id()) for entry in chosen])
                merged = {entry.segment_id() for entry in chosen}
                kept = [entry for entry in change.entries if entry.segment_id() not in merged]
                change.publish(change.stamp, kept, prepared, deleted)
            self._reload()


class _State:
    """What was published at one moment, and its open segments by id."""

    def __init__(self, commit: Commit, segments: dict[str, Segment]) -> None:
        self.commit = commit
        self.segments = segments
        self.entries = commit.segments
        self.collection = Collection(
            [(segments[entry.segment_id()], entry.alive()) for entry in commit.segments]
        )


def examine(directory: Path) -> int:
    """How many notes the index in the directory holds, after every byte was checked. Changes nothing.

    Raises ``IndexDamaged`` if there is none or if it is damaged.
    """
    return _load(Commits(directory), {}, verify=True).collection.count


def _load(commits: Commits, known: dict[str, Segment], *, verify: bool) -> _State:
    commit = commits.latest()
    entries = {entry.segment_id(): entry for entry in commit.segments}
    opened = {n: commits.open(entry, verify=verify) for n, entry in entries.items() if n not in known}
    return _State(commit, opened | {n: known[n] for n in entries if n in known})


@contextmanager
def _checked(collection: Collection) -> Iterator[None]:
    """When reading fails, look for the damage; if there is none, the error is our own and stays as it is."""
    try:
        yield
    except Exception:
        with damage_noticed():
            for view in collection.views:
                view.segment.verify()
        raise


def _allowed(collection: Collection, allowed: Ints | None) -> Bools:
    return collection.alive if allowed is None else collection.alive & np.isin(collection.notes, allowed)


def _deleted_since(sources: Sequence[Source], now: Sequence[SegmentEntry | None]) -> list[int]:
    """Which notes of the merged segment were deleted after its sources were looked at (their new numbers)."""
    alive = [
        np.zeros(len(source.segment), np.bool_) if entry is None else entry.alive()
        for source, entry in zip(sources, now, strict=True)
    ]
    still = np.concatenate([after[source.alive] for source, after in zip(sources, alive, strict=True)])
    return np.flatnonzero(~still).tolist()


def _type(values: Ints) -> str:
    return "<u2" if not len(values) or int(values.max()) < 1 << 16 else "<u4"
