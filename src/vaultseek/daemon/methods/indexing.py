"""The methods about the index: how it is, look again, wait, and tell."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from vaultseek import limits
from vaultseek.daemon.methods.access import Find
from vaultseek.daemon.methods.progress import Subscribers
from vaultseek.daemon.open_vault import Keeper
from vaultseek.daemon.vaults import Library
from vaultseek.messages.params import SubscribeParams, VaultParams, WaitParams, read
from vaultseek.model import JSON
from vaultseek.wire.context import Handler, RequestContext


class Indexing:
    """Handlers of ``index/…``; ``daemon`` tells about the process."""

    def __init__(
        self, library: Library, find: Find, subscribers: Subscribers, daemon: Callable[[], JSON]
    ) -> None:
        self._library = library
        self._find = find
        self._subscribers = subscribers
        self._daemon = daemon

    def handlers(self) -> dict[str, Handler]:
        """Method name to handler."""
        return {
            "index/status": self.status,
            "index/refresh": self.refresh,
            "index/wait": self.wait,
            "index/subscribe": self.subscribe,
            "index/unsubscribe": self.unsubscribe,
        }

    async def status(self, params: JSON, context: RequestContext) -> JSON:
        """How the daemon and its vaults are."""
        asked = read(VaultParams, params)
        await self._library.let_go()
        keepers = [await self._find(asked)] if asked.vault else self._library.keepers
        vaults = await asyncio.gather(*(asyncio.to_thread(keeper.status) for keeper in keepers))
        return {"daemon": self._daemon(), "vaults": vaults}

    async def refresh(self, params: JSON, context: RequestContext) -> JSON:
        """Compare the vault with the disk now; the answer comes when that is done."""
        keeper = await self._find(read(VaultParams, params))
        await keeper.seen_everything(accept_loss=True)
        return {}

    async def wait(self, params: JSON, context: RequestContext) -> JSON:
        """Answer when everything that is on disk now is taken in and embedded."""
        asked = read(WaitParams, params)
        keeper = await self._find(asked)
        telling = asyncio.create_task(_tell(keeper, context)) if asked.progress else None
        try:
            await keeper.seen_everything(accept_loss=True)
            await keeper.all_embedded()
        finally:
            if telling is not None:
                telling.cancel()
        return await asyncio.to_thread(keeper.status)

    async def subscribe(self, params: JSON, context: RequestContext) -> JSON:
        """Tell the client of progress and changed notes from now on; answers how far each vault is."""
        root, keepers = await self._subscribed(params)
        self._subscribers.add(context, root)
        progress = await asyncio.gather(*(asyncio.to_thread(keeper.progress) for keeper in keepers))
        return {"vaults": progress}

    async def unsubscribe(self, params: JSON, context: RequestContext) -> JSON:
        """Tell the client no more."""
        root, _ = await self._subscribed(params)
        self._subscribers.drop(context, root)
        return {}

    async def _subscribed(self, params: JSON) -> tuple[str | None, list[Keeper]]:
        asked = read(SubscribeParams, params)
        if asked.vault is None:
            return None, self._library.keepers
        keeper = await self._find(VaultParams(vault=asked.vault))
        return str(keeper.place.root), [keeper]


async def _tell(keeper: Keeper, context: RequestContext) -> None:
    while True:
        context.notify("index/progress", await asyncio.to_thread(keeper.progress))
        await asyncio.sleep(limits.PROGRESS_SECONDS)
