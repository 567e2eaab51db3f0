"""Texts that a client embeds in place of the worker, and the vectors that it has brought.

Nothing of this is kept on disk: vectors that came back are in the ledger by the key of their text. What is
out when the client goes away is handed out again, or embedded by the worker.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from vaultseek.index.ledger import Ledger
from vaultseek.indexing.unembedded import Item, Unembedded
from vaultseek.models.encoder import Vectors

LISTED_TEXTS = 200_000
"""Most chunks, and most notes, that are listed at once to be handed out."""
WAITING_VECTORS = 20_000
"""Vectors that wait for the store above which no more texts are handed out."""
PAGE_TEXTS = 512
"""Texts composed at once."""
_LENGTH_ERROR = 1e-3


class Handout:
    """The texts of one vault that are out, and the items whose vectors are back and not in the store yet."""

    def __init__(self, ledger: Ledger, unembedded: Unembedded) -> None:
        self._ledger = ledger
        self._unembedded = unembedded
        self._chunks: deque[int] = deque()
        self._notes: deque[int] = deque()
        self._listed: int | None = None
        self._out: dict[str, list[Item]] = {}
        self._arrived: deque[Item] = deque()
        self._refused: deque[Item] = deque()
        self._held: set[tuple[bool, int]] = set()
        self._lock = asyncio.Lock()

    async def take(self, limit: int) -> dict[str, str]:
        """Return texts by key that are not out yet, at most ``limit``; empty if all are out."""
        texts: dict[str, str] = {}
        async with self._lock:
            if not (self._chunks or self._notes):
                await asyncio.to_thread(self._list)
            while (
                (self._chunks or self._notes) and len(texts) < limit and len(self._arrived) < WAITING_VECTORS
            ):
                for item in await asyncio.to_thread(self._next_items, min(PAGE_TEXTS, limit - len(texts))):
                    self._hand_out(item, texts)
        return texts

    def is_out(self, key: str) -> bool:
        """True if the text with this key was handed out and is not back."""
        return key in self._out

    def take_back(self, vectors: Mapping[str, bytes], refused: Collection[str]) -> None:
        """Take vectors, which the ledger has, and the keys of texts that the client does not embed."""
        for key, vector in vectors.items():
            self._arrived += (replace(item, vector=vector) for item in self._out.pop(key, ()))
        for key in refused:
            self._refused += self._out.pop(key, ())

    def arrived(self, limit: int) -> list[Item]:
        """Take items that are to be stored."""
        return [self._arrived.popleft() for _ in range(min(limit, len(self._arrived)))]

    def refused(self, limit: int) -> list[Item]:
        """Take items that the client does not embed."""
        return [self._refused.popleft() for _ in range(min(limit, len(self._refused)))]

    def forget(self, items: Collection[Item]) -> None:
        """Forget items that were stored; if their notes have changed meanwhile, they are listed again."""
        self._held -= {_name(item) for item in items}

    def _hand_out(self, item: Item, texts: dict[str, str]) -> None:
        self._held.add(_name(item))
        if item.vector is not None or item.text is None:
            self._arrived.append(item)
            return
        key = self._unembedded.key(item)
        if key not in self._out:
            texts[key] = item.text.text
        self._out.setdefault(key, []).append(item)

    def _next_items(self, limit: int) -> list[Item]:
        """Return the next items of the list, without those that are held."""
        numbers = _page(self._chunks, limit)
        unembedded = self._unembedded
        items = unembedded.chunks(numbers) if numbers else unembedded.notes(_page(self._notes, limit))
        return [item for item in items if _name(item) not in self._held]

    def _list(self) -> None:
        """List what has no vector in the store, unless that is what is held."""
        revision = self._ledger.revision
        if revision == self._listed and self._ledger.counts().pending <= len(self._held):
            return
        self._listed = revision
        pending = self._ledger.pending
        self._chunks.extend(pending.chunk_numbers(LISTED_TEXTS))
        self._notes.extend(pending.note_ids(LISTED_TEXTS))


def is_unit_vector(vector: Vectors, dimension: int | None) -> bool:
    """True if this is a finite vector of length 1, with as many numbers as ``dimension`` if that is known."""
    if vector.ndim != 1 or len(vector) != (dimension or len(vector)) or not np.isfinite(vector).all():
        return False
    return abs(float(np.linalg.norm(vector)) - 1.0) < _LENGTH_ERROR


def _name(item: Item) -> tuple[bool, int]:
    return item.chunk is None, item.number


def _page(numbers: deque[int], limit: int) -> list[int]:
    return [numbers.popleft() for _ in range(min(limit, len(numbers)))]
