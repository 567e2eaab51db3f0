"""Forget the vectors of texts that no note has any more.

The ledger keeps every vector, so that a text which comes back need not be embedded again. Where these are
many, those that no present passage or note would ask for are deleted. Vectors of models that are not in use
stay.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from functools import partial

from vaultseek.base.limits import OPENING_CHARS
from vaultseek.core.indexing.unembedded import EmbeddingSpec, composed
from vaultseek.core.indexing.writer import InWriter
from vaultseek.store.ledger import Ledger

LEAST_OUTDATED = 2_000
"""Computed vectors from which there may be too many."""
OUTDATED_SHARE = 2
"""The same for each vector that is needed."""
PAGE_NOTES = 500
PAGE_KEYS = 2_000


async def forget_outdated(
    ledger: Ledger, spec: EmbeddingSpec, fingerprints: Collection[str], in_writer: InWriter
) -> int:
    """Delete what is of no use if that may be a lot, and return how many vectors.

    It stops when a note changes, and is done at another time. ``fingerprints`` are of the models in use.
    """
    counts = ledger.counts()
    needed = counts.notes + counts.chunks
    if ledger.vectors.computed_since_sweep() < LEAST_OUTDATED + OUTDATED_SHARE * needed:
        return 0
    revision = ledger.revision
    notes = ledger.notes.ids()
    texts: set[str] = set()
    for start in range(0, len(notes), PAGE_NOTES):
        texts |= await asyncio.to_thread(_keys_of_texts, ledger, spec, notes[start : start + PAGE_NOTES])
    deleted, last = 0, ""
    while ledger.revision == revision:
        keys = await asyncio.to_thread(ledger.vectors.keys_after, last, PAGE_KEYS)
        if not keys:
            await in_writer(ledger.vectors.note_sweep)
            break
        last = keys[-1]
        outdated = [key for key in keys if _is_outdated(key, texts, fingerprints)]
        if outdated and ledger.revision == revision:
            await in_writer(partial(ledger.vectors.delete, outdated))
            deleted += len(outdated)
    return deleted


def _keys_of_texts(ledger: Ledger, spec: EmbeddingSpec, ids: Sequence[int]) -> set[str]:
    """Return the keys of the texts of these notes and of their passages."""
    notes = ledger.notes.by_id(ids)
    makers = [
        partial(spec.passage, notes[row.note], row) for row in ledger.chunks.rows(ids) if row.note in notes
    ]
    makers += [
        partial(spec.note, note, ledger.chunks.opening(id, OPENING_CHARS)) for id, note in notes.items()
    ]
    return {text.key for make in makers if (text := composed(make)) is not None}


def _is_outdated(key: str, texts: Collection[str], fingerprints: Collection[str]) -> bool:
    fingerprint, _, text = key.rpartition(":")
    return fingerprint in fingerprints and text not in texts
