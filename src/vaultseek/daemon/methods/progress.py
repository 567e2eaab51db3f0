"""Telling clients that asked for it how far the indexes are and which notes have changed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from vaultseek import limits
from vaultseek.daemon.follow import VaultFollower
from vaultseek.model import JSON
from vaultseek.wire.context import RequestContext

CHANGED_TOLD = 1_000
"""Changed notes that one notification names."""


@dataclass(eq=False, slots=True)
class _Subscriber:
    context: RequestContext
    root: str | None


@dataclass(eq=False, slots=True)
class _News:
    follower: VaultFollower
    changed: set[str] = field(default_factory=set)


class Subscribers:
    """Who is told what; changes of a moment are told together. For one event loop."""

    def __init__(self) -> None:
        self._subscribers: set[_Subscriber] = set()
        self._news: dict[str, _News] = {}
        self._telling: asyncio.Task[None] | None = None

    def add(self, context: RequestContext, root: str | None) -> None:
        """Tell this client of the vault at ``root``, or of all, until it leaves. A second time is once."""
        self.drop(context, root)
        subscriber = _Subscriber(context, root)
        self._subscribers.add(subscriber)
        context.when_gone(lambda: self._subscribers.discard(subscriber))

    def drop(self, context: RequestContext, root: str | None) -> None:
        """Tell this client no more of the vault at ``root``, or of any."""
        own = [s for s in self._subscribers if s.context.client.id == context.client.id]
        self._subscribers.difference_update(s for s in own if root is None or s.root == root)

    def changed(self, follower: VaultFollower, paths: list[str]) -> None:
        """Something is new with a vault: its progress, and maybe these notes."""
        if not self._subscribers:
            return
        root = str(follower.vault.options.root)
        news = self._news.setdefault(root, _News(follower))
        news.follower = follower
        news.changed.update(paths)
        if self._telling is None:
            self._telling = asyncio.get_running_loop().create_task(self._tell_soon())

    async def _tell_soon(self) -> None:
        try:
            while self._news:
                news, self._news = self._news, {}
                for root, item in news.items():
                    await self._tell(root, item)
                await asyncio.sleep(limits.PROGRESS_SECONDS)
        finally:
            self._telling = None

    async def _tell(self, root: str, news: _News) -> None:
        about: JSON = {"vault": news.follower.vault.name, "vault_path": root}
        try:
            progress = {**about, **await asyncio.to_thread(news.follower.progress)}
            revision = await asyncio.to_thread(lambda: news.follower.vault.ledger.revision)
        except Exception:
            return  # closed in the meantime
        for subscriber in list(self._subscribers):
            if subscriber.root in (None, root):
                subscriber.context.notify("index/progress", progress, latest=True)
                if news.changed:
                    paths = sorted(news.changed)
                    told = {**about, "revision": revision, "paths": paths[:CHANGED_TOLD]}
                    more = len(paths) > CHANGED_TOLD
                    subscriber.context.notify("index/changed", {**told, "more": more})
