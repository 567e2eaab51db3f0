"""Clients that are subscribed to vaults, and their notifications."""

import asyncio
from dataclasses import dataclass, field

from vaultseek.base import limits
from vaultseek.daemon.follow import VaultFollower
from vaultseek.daemon.methods.access import about_vault
from vaultseek.protocol.wire.context import RequestContext

NOTIFIED_PATHS = 1_000
"""Maximum number of changed notes listed in one notification."""


@dataclass(eq=False, slots=True)
class _Subscriber:
    context: RequestContext
    root: str | None


@dataclass(eq=False, slots=True)
class _Event:
    follower: VaultFollower
    paths: set[str] = field(default_factory=set)


class Subscribers:
    """The subscribed clients, for one event loop; events in quick succession are combined into one
    notification."""

    def __init__(self) -> None:
        self._subscribers: set[_Subscriber] = set()
        self._events: dict[str, _Event] = {}
        self._sending: asyncio.Task[None] | None = None

    def add(self, context: RequestContext, root: str | None) -> None:
        """Notify a client about the vault at ``root`` (None for all vaults) until the client disconnects."""
        if any(s.root is None for s in self._of(context)):
            return
        self.drop(context, root)
        subscriber = _Subscriber(context, root)
        self._subscribers.add(subscriber)
        context.on_disconnect(lambda: self._subscribers.discard(subscriber))

    def drop(self, context: RequestContext, root: str | None) -> None:
        """Stop notifying a client about the vault at ``root``, unless it subscribed to all vaults. If
        ``root`` is None, stop all notifications to the client."""
        self._subscribers.difference_update(s for s in self._of(context) if root is None or s.root == root)

    def _of(self, context: RequestContext) -> list[_Subscriber]:
        return [s for s in self._subscribers if s.context.client.id == context.client.id]

    def publish(self, follower: VaultFollower, paths: list[str]) -> None:
        """Notify subscribers of a vault's progress and of its changed notes, if any."""
        if not self._subscribers:
            return
        root = str(follower.vault.options.root)
        event = self._events.setdefault(root, _Event(follower))
        event.follower = follower
        event.paths.update(paths)
        if self._sending is None:
            self._sending = asyncio.get_running_loop().create_task(self._send_all())

    async def _send_all(self) -> None:
        try:
            while self._events:
                events, self._events = self._events, {}
                for root, event in events.items():
                    await self._send(root, event)
                await asyncio.sleep(limits.PROGRESS_SECONDS)
        finally:
            self._sending = None

    async def _send(self, root: str, event: _Event) -> None:
        vault = event.follower.vault
        source = about_vault(vault, {})
        try:
            progress = {**source, **await asyncio.to_thread(event.follower.progress)}
            revision = await asyncio.to_thread(lambda: vault.ledger.revision)
        except Exception:
            return  # the vault was closed in the meantime
        for subscriber in list(self._subscribers):
            if subscriber.root in (None, root):
                subscriber.context.notify("index/progress", progress, latest=True)
                if event.paths:
                    paths = sorted(event.paths)
                    changed = {**source, "revision": revision, "paths": paths[:NOTIFIED_PATHS]}
                    more = len(paths) > NOTIFIED_PATHS
                    subscriber.context.notify("index/changed", {**changed, "more": more})
