"""Forget the vectors of texts that no note has any more.

The ledger keeps every vector, so that a text which comes back need not be embedded again. Where these are
many, those that no present passage or note would ask for are deleted. Vectors of models that are not in use
stay.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from functools import partial

from vaultseek.core.indexing.unembedded import EmbeddingSpec, Unembedded
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
) -> None:
    """Delete what is of no use if that may be a lot.

    It stops when a note changes, and is done at another time. ``fingerprints`` are of the models in use.
    """
    counts = ledger.counts()
    needed = counts.notes + counts.chunks
    if ledger.vectors.computed_since_sweep() < LEAST_OUTDATED + OUTDATED_SHARE * needed:
        return
    revision = ledger.revision
    notes = ledger.notes.ids()
    composer = Unembedded(ledger, spec)
    texts: set[str] = set()
    for start in range(0, len(notes), PAGE_NOTES):
        items = await asyncio.to_thread(composer.composed, notes[start : start + PAGE_NOTES])
        texts |= {item.text.key for item in items if item.text is not None}
    last = ""
    while ledger.revision == revision:
        keys = await asyncio.to_thread(ledger.vectors.keys_after, last, PAGE_KEYS)
        if not keys:
            await in_writer(ledger.vectors.note_sweep)
            break
        last = keys[-1]
        parts = [(key, key.rpartition(":")) for key in keys]
        outdated = [key for key, (own, _, text) in parts if own in fingerprints and text not in texts]
        if outdated and ledger.revision == revision:
            await in_writer(partial(ledger.vectors.delete, outdated))
