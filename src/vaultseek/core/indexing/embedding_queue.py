"""Queue of texts to embed for one vector space. The texts are composed one page at a time, in ledger
order."""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from vaultseek.base.precedence import give_way
from vaultseek.core.indexing.unembedded import PAGE_TEXTS, Item, Unembedded
from vaultseek.store.ledger import Ledger

ORDERED_TEXTS = 64 * PAGE_TEXTS
"""Number of queued texts whose order is read from the ledger at once. Finding only the next text would take
as long as sorting all of them."""


class SentBatch(NamedTuple):
    """Texts that were sent to the worker, each with its key. ``vectors`` computes the vectors that are not
    ``known``."""

    items: Sequence[tuple[str, Item]]
    known: Mapping[str, bytes]
    vectors: asyncio.Task[dict[str, bytes]]


class EmbeddingQueue:
    """Queue that holds the batches that the worker has, the current page of texts, and the next one.

    `look_ahead` composes the next page while the current one is embedded. If the ledger changes, the queue is
    reordered. Use a queue in one event loop only; texts are composed in threads.
    """

    def __init__(self, ledger: Ledger, unembedded: Unembedded) -> None:
        self.sent: deque[SentBatch] = deque()
        """Batches that the worker has, oldest first. They are all of notes or all of passages."""
        self._ledger = ledger
        self._unembedded = unembedded
        self._page: deque[Item] = deque()
        self._next_page: list[Item] = []
        self._of_notes = False
        self._numbers: deque[int] = deque()
        self._revision = -1

    async def fill(self) -> bool:
        """Load a page if none is loaded; return False if no text is waiting."""
        if self._revision != self._ledger.revision:
            self._discard_order()
            self._revision = self._ledger.revision
        if not self._page:
            await self.look_ahead()
            if not (self._next_page or self.sent):
                # Nothing is being embedded now, so every missing text is waiting.
                self._of_notes, numbers = await asyncio.to_thread(self._unembedded.order, ORDERED_TEXTS)
                self._numbers = deque(numbers)
                await self.look_ahead()
            self._turn_page()
        return bool(self._page or self.sent)

    async def look_ahead(self) -> None:
        """Compose the next page in the current order, unless it is already composed."""
        order = self._numbers
        if self._next_page or not order:
            return
        numbers = [order.popleft() for _ in range(min(PAGE_TEXTS, len(order)))]
        compose = self._unembedded.notes if self._of_notes else self._unembedded.chunks
        await asyncio.to_thread(give_way)
        page = await asyncio.to_thread(compose, numbers)
        if self._numbers is order:
            self._next_page = page

    def take_known(self) -> list[Item]:
        """Remove and return the loaded items whose texts already have vectors."""
        known = [item for item in self._page if item.vector is not None]
        if known:
            self._page = deque(item for item in self._page if item.vector is None)
        return known

    def take(self, count: int) -> list[Item]:
        """Remove and return up to ``count`` loaded items."""
        if not self._page:
            self._turn_page()
        return [self._page.popleft() for _ in range(min(count, len(self._page)))]

    def clear(self) -> None:
        """Discard the loaded texts and their order, and the batches that the worker has."""
        for batch in self.sent:
            batch.vectors.cancel()
        self.sent.clear()
        self._discard_order()

    def _turn_page(self) -> None:
        self._page, self._next_page = deque(self._next_page), []

    def _discard_order(self) -> None:
        self._page.clear()
        self._next_page = []
        self._numbers = deque()
