"""Handlers of the protocol's methods; a handler turns parameters into an answer."""

import asyncio
import os
import sqlite3
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any

from vaultseek import __version__, plugins
from vaultseek.base.child_process import memory_bytes, peak_bytes
from vaultseek.base.model import JSON, reason_json
from vaultseek.daemon.clients import clients_of
from vaultseek.daemon.follow import VaultFollower
from vaultseek.daemon.methods.access import Handlers, VaultHandlers, about_vault
from vaultseek.daemon.methods.agents import AgentMethods
from vaultseek.daemon.methods.currency import LISTED, add_currency
from vaultseek.daemon.methods.history import HistoryMethods
from vaultseek.daemon.methods.index import IndexMethods
from vaultseek.daemon.methods.search import SearchMethods
from vaultseek.daemon.methods.subscribers import Subscribers
from vaultseek.daemon.methods.tables import TableMethods
from vaultseek.daemon.methods.vaults import VaultMethods
from vaultseek.daemon.vaults import VaultRegistry
from vaultseek.daemon.visible.gate import AccessControl
from vaultseek.daemon.visible.view import SeenFollower, Views
from vaultseek.errors import IndexDamaged
from vaultseek.protocol.messages.methods import METHODS
from vaultseek.protocol.messages.params import AllVaultsParams, Nothing, VaultParams, read
from vaultseek.protocol.wire.context import Handler, RequestContext
from vaultseek.settings.watch import SettingsFile

__all__ = ["Methods", "Subscribers"]

_OF_VAULT = {
    "graph": ("graph/neighbors", "graph/overview", "graph/path", "graph/suggest", "graph/export"),
    "index": ("index/compact", "index/texts", "index/vectors"),
    "links": ("links/resolve", "links/mentioned", "vault/rename"),
    "notes": (
        *("note/get", "note/related", "complete"),
        *("links/outgoing", "links/backlinks", "links/unresolved", "links/unlinked"),
        *("vault/tags", "vault/properties", "vault/orphans", "vault/duplicates", "vault/problems"),
    ),
}
"""Methods that need only a vault, by the module whose table ``HANDLERS`` contains them. The module is
imported at the first request, because all of them would delay the daemon's start."""


class Methods:
    """All handlers of one daemon; ``stop`` is set when a client asks the daemon to shut down."""

    def __init__(
        self,
        file: SettingsFile,
        registry: VaultRegistry,
        socket: str,
        subscribers: Subscribers | None = None,
    ) -> None:
        self.stop = asyncio.Event()
        self.addresses: dict[str, str | None] = {}
        """The additional addresses, each with the reason why it cannot be used, or None."""
        self._file = file
        self._registry = registry
        self._socket = socket
        self._began = time.monotonic()
        self._vaults = VaultMethods(file, registry)
        self._views = Views(registry)
        self.clients = clients_of(registry, self._vaults.follow_good_settings)
        self._access = AccessControl(self._views.names, self._views.counts, self._hidden_from_agents)
        subscribers = subscribers or Subscribers()
        self._parts = (
            self._vaults,
            SearchMethods(self._find, self._find_all, lambda: registry.settings),
            HistoryMethods(self._find, lambda: registry.settings),
            AgentMethods(self._find_whole, lambda: registry.settings),
            TableMethods(self._find, lambda: registry.settings),
            IndexMethods(registry, self._find, self._vaults.remember, subscribers, self._daemon),
            *(
                make(file, registry, self._find, self._vaults.follow_settings, subscribers)
                for make in plugins.load("methods").values()
            ),
        )

    def handlers(self) -> Mapping[str, Handler]:
        """Return the handlers, keyed by method name."""
        own: Handlers = {"shutdown": self.shutdown, "$/schema": self.schema}
        handlers: dict[str, Handler] = {}
        for part in (own, *(part.handlers() for part in self._parts)):
            handlers |= {name: self._healing(name, handle) for name, handle in part.items()}
        for module, names in _OF_VAULT.items():
            handlers |= {name: self._healing(name, partial(self._of_vault, module, name)) for name in names}
        return {
            name: self.clients.guard(name, self._access.guard(name, handler))
            for name, handler in handlers.items()
        }

    async def shutdown(self, call: Nothing, context: RequestContext) -> JSON:
        """Stop the daemon after this request is answered."""
        self.stop.set()
        return {}

    async def schema(self, call: Nothing, context: RequestContext) -> JSON:
        """Return the JSON Schema of every method's parameters and answer."""
        from vaultseek.protocol.messages.check import schemas  # importing the answer types is slow

        return await asyncio.to_thread(schemas)

    def _healing(self, method: str, handle: Callable[[Any, RequestContext], Awaitable[JSON]]) -> Handler:
        """Return a handler that validates the parameters of ``method`` and passes them to ``handle``.

        If the ledger is damaged, the handler waits until the ledger is replaced and then tries again.
        """

        kind = METHODS[method].params_type

        async def answer(params: JSON, context: RequestContext) -> Any:
            call, is_first = read(kind, params), True
            while True:
                try:
                    return await handle(call, context)
                except (sqlite3.DatabaseError, IndexDamaged):
                    if not await self._registry.heal() and not is_first:
                        raise
                is_first = False

        return answer

    async def _of_vault(self, module: str, name: str, call: VaultParams, context: RequestContext) -> JSON:
        follower = await self._find(call)
        handlers: VaultHandlers = import_module(f"{__name__}.{module}").HANDLERS
        answer = await handlers[name](follower, call)
        if name in LISTED:
            rules = self._registry.settings.search.currency.rules
            await asyncio.to_thread(add_currency, name, answer, follower.vault.ledger, rules)
        return about_vault(follower.vault, answer)

    async def _find(self, call: VaultParams) -> SeenFollower:
        await self._vaults.follow_settings()
        return await self._views.find(call.vault, call.cwd)

    async def _find_whole(self, call: VaultParams) -> VaultFollower:
        """Return the `VaultFollower` of the whole vault, for recording data about an answer; must not be used
        for the answer itself."""
        await self._vaults.follow_settings()
        return await self._registry.find(call.vault, call.cwd)

    async def _find_all(self, call: AllVaultsParams) -> Mapping[str, SeenFollower | Exception]:
        await self._vaults.follow_settings()
        if call.vaults is None:
            return await self._views.find_all()
        return await self._views.find_several(call.vaults, call.cwd)

    async def _hidden_from_agents(self) -> tuple[str, ...]:
        """Return the folders and filters currently hidden from agents. Raises ConfigError, because invalid
        settings might hide too little."""
        await self._vaults.follow_settings()
        return self._registry.settings.agents.hide

    def _daemon(self) -> JSON:
        main = self._registry.worker
        worker = main.state
        sends = [text for text in (worker.sends, self._registry.settings.index.sends) if text]
        return {
            "pid": os.getpid(),
            "version": __version__,
            "uptime_seconds": round(time.monotonic() - self._began, 1),
            "memory_bytes": memory_bytes(os.getpid()) or peak_bytes(),
            "config": str(self._file.path) if self._file.path.exists() else None,
            "socket": self._socket,
            "addresses": self.addresses,
            "shards_problem": str(self._registry.hosting.problem or "") or None,
            "worker": {
                "status": worker.status,
                **reason_json(worker.reason),
                "pid": worker.pid,
                "model": worker.model,
                "computing": worker.computing,
                "sends": "; ".join(sends) or None,
                "memory_bytes": main.memory_bytes,
                "restarts": worker.restarts,
                "doing": worker.doing,
            },
        }
