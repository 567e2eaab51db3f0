"""The content of a keyword index as text, for comparing two indexes."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from vaultseek.store.keyword.index import KeywordIndex
from vaultseek.store.keyword.segment import FIELD_BITS, FIELD_MASK, FIELD_SLOTS, FIELDS, run_starts
from vaultseek.store.keyword.snapshot import SegmentView, Snapshot


def dump(index: KeywordIndex) -> str:
    """Return one term per line, independent of the segments."""
    return "\n".join(dump_lines(index._state.snapshot))


def dump_lines(snapshot: Snapshot) -> Iterator[str]:
    """Yield a line per living note (lengths, chunks), then one per term (note, field, positions)."""
    yield from sorted(line for view in snapshot.views for line in _note_lines(view))
    rows: dict[bytes, list[str]] = {}
    for view in snapshot.views:
        for number, term in enumerate(view.segment.tables.vocabulary[:]):
            rows.setdefault(term, []).extend(_row_texts(view, number))
    yield from (f"{term.decode()}: {' '.join(sorted(rows[term]))}" for term in sorted(rows) if rows[term])


def _note_lines(view: SegmentView) -> Iterator[str]:
    tables = view.segment.tables
    lengths = tables.lengths.reshape(-1, FIELD_SLOTS)
    chunk_lengths = tables.chunk_lengths.reshape(-1, 2).tolist()
    for number in np.flatnonzero(view.alive).tolist():
        fields = " ".join(
            f"{name}={length}" for name, length in zip(FIELDS, lengths[number].tolist(), strict=False)
        )
        chunks = " ".join(
            f"{tables.chunk_ids[chunk].decode()}={chunk_lengths[chunk][0]}+{chunk_lengths[chunk][1]}"
            for chunk in range(int(tables.first_chunks[number]), int(tables.first_chunks[number + 1]))
        )
        yield f"note {int(tables.notes[number])}: {fields} | {chunks}"


def _row_texts(view: SegmentView, term: int) -> Iterator[str]:
    keys, counts = view.segment.rows(term)
    positions = view.segment.positions(term).tolist()
    bounds = pairwise(run_starts(counts).tolist())
    for key, (first, last) in zip(keys.tolist(), bounds, strict=True):
        if view.alive[key >> FIELD_BITS]:
            note = int(view.segment.tables.notes[key >> FIELD_BITS])
            yield f"{note}/{FIELDS[key & FIELD_MASK]}@{','.join(map(str, positions[first:last]))}"
