"""RPC methods ``index/verify`` and ``index/move``; also refuses searches in a daemon that only indexes."""

from collections.abc import Awaitable, Callable

from vaultseek.base.model import JSON
from vaultseek.daemon.methods.access import Find, Handlers, about_vault, whole
from vaultseek.daemon.methods.subscribers import Subscribers
from vaultseek.daemon.vaults import VaultRegistry
from vaultseek.errors import Unavailable
from vaultseek.protocol.messages import params
from vaultseek.protocol.wire.context import RequestContext
from vaultseek.settings.watch import SettingsFile
from vaultseek_server.daemon.comparison import compare
from vaultseek_server.daemon.move import Mover
from vaultseek_server.engines.storage import options_of
from vaultseek_server.settings import EMBEDDED


class ServerMethods:
    """Handlers of the methods that a server adds. Only one move runs at a time. It continues if its client
    disconnects."""

    def __init__(
        self,
        file: SettingsFile,
        registry: VaultRegistry,
        find: Find,
        follow_settings: Callable[[], Awaitable[None]],
        subscribers: Subscribers,
    ) -> None:
        self._registry = registry
        self._find = find
        self._mover = Mover(file, registry, find, follow_settings, subscribers)

    def handlers(self) -> Handlers:
        """Return the handlers by method."""
        handlers = {
            "index/verify": self.verify,
            "index/move": self._mover.move,
        }
        if getattr(self._registry.hosting, "role", "all") == "index":
            return handlers | dict.fromkeys(("search", "search/all", "search/why"), _refuse)
        return handlers

    async def verify(self, call: params.VaultParams, context: RequestContext) -> JSON:
        """Compare the counts for a vault in its engine with the counts in its ledger."""
        follower = whole(await self._find(call))
        vault = follower.vault
        comparison = await compare(vault)
        engine = options_of(vault.options.storage)
        counts = {
            "engine": engine.kind if engine else EMBEDDED,
            "place": engine.place if engine else None,
            "numbers": [number.as_json() for number in comparison.numbers],
            "pending": follower.pending,
            "same": comparison.is_same,
            "reason": comparison.reason,
        }
        return about_vault(vault, counts)


async def _refuse(call: params.Nothing, context: RequestContext) -> JSON:
    raise Unavailable("this daemon only indexes; ask one whose role is search or all")
