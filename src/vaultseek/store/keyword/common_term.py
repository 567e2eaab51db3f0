"""A word that many notes have: scored for single notes, since there are too many to score all of them.

A search that has rarer words as well asks only about the notes that these lead to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vaultseek.store.keyword.bm25f import FieldNorms, Parameters, TermNumbers, TermScores, idf
from vaultseek.store.keyword.segment import FIELD_BITS, Bools, Ints, RowStarts, run_indexes
from vaultseek.store.keyword.snapshot import Floats, SegmentView, Snapshot


@dataclass(frozen=True, slots=True)
class CommonNotes:
    """The notes that have a common term, by ``bits`` as in ``TermScores``."""

    df: int
    bits: Ints

    @classmethod
    def load(cls, snapshot: Snapshot, numbers: TermNumbers) -> CommonNotes:
        """Look which living notes have any of the alternatives."""
        present = np.zeros(snapshot.size, np.bool_)
        for view, terms in numbers:
            for term in terms:
                present[(row_starts(snapshot, view, term).keys >> FIELD_BITS) + view.base] = True
        present &= snapshot.alive
        return cls(int(np.count_nonzero(present)), np.packbits(present, bitorder="little"))

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take."""
        return self.bits.nbytes


class CommonTerm:
    """A common term, with the attributes of ``TermScores`` but its scores; ``best`` is a bound of these.

    ``whole`` scores all notes, after all.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        numbers: TermNumbers,
        notes: CommonNotes,
        parameters: Parameters,
        whole: Callable[[], TermScores],
    ) -> None:
        self.df = notes.df
        self.idf = idf(snapshot.count, notes.df)
        self.best = self.idf if notes.df else 0.0
        self.bits = notes.bits
        self.whole = whole
        self._snapshot = snapshot
        self._numbers = numbers
        self._norms = FieldNorms.of(snapshot, parameters)
        self._k1 = parameters.k1

    def at(self, notes: Ints) -> tuple[Floats, Bools]:
        """Return the score of each of the notes, 0 without the term, and whether it has it."""
        present = has_bit(self.bits, notes)
        scores = np.zeros(len(notes))
        scores[present] = self._scores(notes[present])
        return scores, present

    def _scores(self, notes: Ints) -> Floats:
        frequencies = np.zeros(len(notes))
        for view, terms in self._numbers:
            inside = np.flatnonzero((notes >= view.base) & (notes < view.base + len(view.segment)))
            for term in terms if len(inside) else ():
                frequencies[inside] += self._frequencies(view, term, notes[inside] - view.base)
        return self.idf * frequencies / (self._k1 + frequencies)

    def _frequencies(self, view: SegmentView, term: int, notes: Ints) -> Floats:
        table = row_starts(self._snapshot, view, term)
        firsts, sizes = table.of_notes(notes)
        rows = run_indexes(firsts, sizes)
        counts = table.starts[rows + 1] - table.starts[rows]
        weighted = self._norms.weigh(view.segment, table.keys[rows], counts)
        places = np.repeat(np.arange(len(sizes)), sizes)
        return np.bincount(places, weighted, minlength=len(sizes)).astype(np.float64, copy=False)


def row_starts(snapshot: Snapshot, view: SegmentView, term: int) -> RowStarts:
    """Return the rows of a segment's term, from the snapshot's cache if they are there."""
    return snapshot.cache.get(("rows", view.base, term), lambda: view.segment.row_starts(term))


def has_bit(bits: Ints, notes: Ints) -> Bools:
    """Return whether the bit of each note is set."""
    present: Bools = (bits[notes >> 3] >> (notes & 7).astype(np.uint8)) & 1 == 1
    return present
