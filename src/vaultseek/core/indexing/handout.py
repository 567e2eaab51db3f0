"""Texts that a client embeds in place of the worker, and the vectors that it submits.

The queue is in memory only: submitted vectors are in the ledger by the key of their text. Texts that are out
when the client disconnects are handed out again, or embedded by the worker.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace

import numpy as np

from vaultseek.base.limits import EMBED_SECONDS
from vaultseek.core.indexing.status import EmbeddingRate
from vaultseek.core.indexing.unembedded import Item, Unembedded
from vaultseek.core.indexing.writer import InWriter
from vaultseek.errors import Unavailable
from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.worker.state import VectorKeeper
from vaultseek.store.ledger import Ledger

WAITING_VECTORS = 20_000
"""Vectors that wait for the store above which no more texts are handed out."""
_LENGTH_ERROR = 1e-3


class RemoteEmbeddingQueue:
    """The texts for clients that embed, and the vectors that they submit; open while a client waits.

    ``is_ready`` returns true while the store is open; ``rate`` counts submitted vectors, and ``wake`` is set
    when there are some to store.
    """

    def __init__(
        self,
        ledger: Ledger,
        worker: VectorKeeper,
        unembedded: Unembedded,
        in_writer: InWriter,
        is_ready: Callable[[], bool],
        rate: EmbeddingRate,
        wake: asyncio.Event,
    ) -> None:
        self.current: OpenHandout | None = None
        """The texts that are out; None unless a client embeds."""
        self._ledger = ledger
        self._worker = worker
        self._unembedded = unembedded
        self._in_writer = in_writer
        self._is_ready = is_ready
        self._rate = rate
        self._wake = wake
        self._users = 0
        self._submitted: dict[str, bytes] = {}

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Let a client embed the texts, by ``take`` and ``submit``, until the context is left.

        Only texts that the client refuses are embedded here meanwhile.
        """
        self._users += 1
        if self.current is None:
            self.current = OpenHandout(self._ledger, self._unembedded)
        try:
            yield
        finally:
            self._users -= 1
            if not self._users:
                self.current = None
            self._wake.set()

    async def take(self, limit: int) -> dict[str, str]:
        """Return texts by key for the client that embeds them, of as many chunks or notes as ``limit``.

        Empty while there are none, or the store is not open. Raises Unavailable unless ``opened``.
        """
        handout = self._open_handout()
        if not self._is_ready():
            return {}
        texts = await handout.take(limit)
        self._wake.set()
        return texts

    async def submit(self, vectors: Mapping[str, Vectors], refused: Collection[str]) -> int:
        """Accept the vectors that the client computed; return how many were requested and are usable.

        It does not wait for the writer thread. Refused texts, and texts whose vectors are not unit vectors of
        the model's length, are embedded here. Raises Unavailable as ``take`` does, or WorkerUnavailable.
        """
        handout = self._open_handout()
        if self._worker.state.dimension is None:
            await self._worker.ready(EMBED_SECONDS)
        dimension = self._worker.state.dimension
        usable = {key: row for key, row in vectors.items() if is_unit_vector(row, dimension)}
        new = {key: row.tobytes() for key, row in usable.items() if handout.is_out(key)}
        self._submitted |= new
        handout.complete(new, [*refused, *(vectors.keys() - usable.keys())])
        self._rate.add(len(new))
        self._wake.set()
        return len(new)

    async def keep_submitted(self) -> None:
        """Write the submitted vectors to the ledger."""
        new, self._submitted = self._submitted, {}
        if not new:
            return
        try:
            await self._in_writer(self._ledger.vectors.put, new)
        except BaseException:
            self._submitted |= new
            raise

    def _open_handout(self) -> OpenHandout:
        if self.current is None:
            raise Unavailable("nobody waits for vectors of a client; use index/wait with vectors_from_client")
        return self.current


class OpenHandout:
    """The texts of one vault that are out, and the items whose vectors have arrived but are not stored."""

    def __init__(self, ledger: Ledger, unembedded: Unembedded) -> None:
        self._ledger = ledger
        self._unembedded = unembedded
        self._pages: Iterator[list[Item]] | None = None
        self._next: deque[Item] = deque()
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
            if not self._next and self._pages is None and self._has_more():
                self._pages = self._unembedded.pages()
            while len(texts) < limit and len(self._arrived) < WAITING_VECTORS:
                if self._next:
                    self._hand_out(self._next.popleft(), texts)
                elif self._pages is None:
                    break
                elif (page := await asyncio.to_thread(next, self._pages, None)) is None:
                    self._pages = None
                else:
                    self._next.extend(item for item in page if _name(item) not in self._held)
        return texts

    def is_out(self, key: str) -> bool:
        """True if the text with this key was handed out and is not completed."""
        return key in self._out

    def complete(self, vectors: Mapping[str, bytes], refused: Collection[str]) -> None:
        """Accept vectors by key, and the keys of texts that the client refuses."""
        for key, vector in vectors.items():
            self._arrived += (replace(item, vector=vector) for item in self._out.pop(key, ()))
        for key in refused:
            self._refused += self._out.pop(key, ())

    def arrived(self, limit: int) -> list[Item]:
        """Return and remove items to be stored."""
        return _first(self._arrived, limit)

    def refused(self, limit: int) -> list[Item]:
        """Return and remove items that the client refused."""
        return _first(self._refused, limit)

    def forget(self, items: Collection[Item]) -> None:
        """Forget stored items; if their notes have changed meanwhile, they are listed again."""
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

    def _has_more(self) -> bool:
        before, self._listed = self._listed, self._ledger.revision
        return before != self._listed or self._ledger.counts().pending > len(self._held)


def is_unit_vector(vector: Vectors, dimension: int | None) -> bool:
    """True if this is a finite vector of length 1, with as many numbers as ``dimension`` if that is known."""
    if vector.ndim != 1 or len(vector) != (dimension or len(vector)) or not np.isfinite(vector).all():
        return False
    return abs(float(np.linalg.norm(vector)) - 1.0) < _LENGTH_ERROR


def _name(item: Item) -> tuple[bool, int]:
    return item.chunk is None, item.number


def _first(items: deque[Item], limit: int) -> list[Item]:
    return [items.popleft() for _ in range(min(limit, len(items)))]
