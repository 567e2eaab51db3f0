"""Segments that are written but not published yet, in this process or in another one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from vaultseek.store.keyword.commits import Commits, PreparedSegment
from vaultseek.store.keyword.inverter import KeywordDocument, Lexicon, invert
from vaultseek.store.keyword.merge import MergeSource, merge_segments
from vaultseek.store.keyword.note_languages import LanguageRules
from vaultseek.store.keyword.segment import Ints, Segment, Sink, write_segment

__all__ = ["PreparedSegment", "SegmentPreparer"]


class SegmentPreparer:
    """A writer of segments into an index's directory; it publishes nothing and needs no lock."""

    def __init__(self, commits: Commits) -> None:
        self._commits = commits
        self._lexicon = Lexicon()

    @classmethod
    def of(cls, directory: Path) -> SegmentPreparer:
        """Prepare segments for the index in ``directory``, from outside of its process."""
        return cls(Commits(directory))

    def documents(self, documents: Sequence[KeywordDocument], rules: LanguageRules) -> PreparedSegment:
        """Write the segment of these documents. Raises ``IndexDamaged`` or ``OSError``."""
        self._lexicon.shrink()
        tables, block = invert(documents, self._lexicon, rules)

        def write(file: Sink) -> int:
            types = _smallest_type(block.counts), _smallest_type(block.positions)
            write_segment(file, tables, [block], types)
            return len(documents)

        return self._commits.prepare(write)

    def merged(self, sources: Sequence[MergeSource]) -> PreparedSegment:
        """Write one segment of the living notes of others. Raises ``IndexDamaged`` or ``OSError``."""
        return self._commits.prepare(lambda file: merge_segments(sources, file))

    def merged_files(self, files: Sequence[tuple[str, Collection[int]]]) -> PreparedSegment:
        """Do the same for segment files, each with the numbers of its deleted notes."""
        return self.merged([self._source(name, deleted) for name, deleted in files])

    def _source(self, name: str, deleted: Collection[int]) -> MergeSource:
        segment = Segment(self._commits.directory / name, verify=False)
        alive = np.ones(len(segment), np.bool_)
        alive[list(deleted)] = False
        return MergeSource(segment, alive)


def _smallest_type(values: Ints) -> str:
    return "<u2" if not len(values) or int(values.max()) < 1 << 16 else "<u4"
