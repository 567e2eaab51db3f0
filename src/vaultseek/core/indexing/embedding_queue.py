"""The texts of a vector space that wait for embedding, in ledger order, composed one page at a time."""

import asyncio
from collections import deque

from vaultseek.base.precedence import give_way
from vaultseek.core.indexing.unembedded import PAGE_TEXTS, Item, Unembedded
from vaultseek.store.ledger import Ledger

ORDERED_TEXTS = 64 * PAGE_TEXTS
"""Number of texts whose order is read at once. Finding the next text takes as long as sorting all of them."""


class EmbeddingQueue:
    """The current page of texts and the next one, which `look_ahead` composes while the current page is
    embedded.

    A change of the ledger reorders the queue. Use it in one event loop only; texts are composed in threads.
    """

    def __init__(self, ledger: Ledger, unembedded: Unembedded) -> None:
        self._ledger = ledger
        self._unembedded = unembedded
        self._page: deque[Item] = deque()
        self._next_page: list[Item] = []
        self._of_notes = False
        self._numbers: deque[int] = deque()
        self._revision = -1

    async def fill(self) -> bool:
        """Load a page if there is none; return False if every vector is stored."""
        if self._revision != self._ledger.revision:
            self.clear()
            self._revision = self._ledger.revision
        if not self._page:
            await self.look_ahead()
            if not self._next_page:  # now nothing is in progress, and all texts without a vector are waiting
                self._of_notes, numbers = await asyncio.to_thread(self._unembedded.order, ORDERED_TEXTS)
                self._numbers = deque(numbers)
                await self.look_ahead()
            self._page, self._next_page = deque(self._next_page), []
        return bool(self._page)

    async def look_ahead(self) -> None:
        """Compose the next page in the same order, unless that is done already."""
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
        """Return and remove the loaded items whose texts were embedded before."""
        known = [item for item in self._page if item.vector is not None]
        if known:
            self._page = deque(item for item in self._page if item.vector is None)
        return known

    def take(self, count: int) -> list[Item]:
        """Return and remove up to ``count`` loaded items."""
        return [self._page.popleft() for _ in range(min(count, len(self._page)))]

    def clear(self) -> None:
        """Forget the order and the texts."""
        self._page.clear()
        self._next_page = []
        self._numbers = deque()
