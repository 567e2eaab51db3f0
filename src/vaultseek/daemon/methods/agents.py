"""RPC methods about answers given to agents."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from vaultseek.base.model import JSON
from vaultseek.base.when import iso_time
from vaultseek.daemon.follow import VaultFollower
from vaultseek.daemon.methods.access import Handlers, about_vault
from vaultseek.daemon.visible.hidden import paths_hidden_by
from vaultseek.protocol.messages.params import GivenParams, ListParams, VaultParams
from vaultseek.protocol.wire.context import RequestContext
from vaultseek.settings.model import Settings
from vaultseek.store.ledger.given import Given, GivenNote


class AgentMethods:
    """Handlers of `agents/given`, `agents/history` and `agents/forget`.

    The program that shows an answer to an agent reports what it showed, because it may shorten the daemon's
    answer.
    """

    def __init__(
        self, find: Callable[[VaultParams], Awaitable[VaultFollower]], settings: Callable[[], Settings]
    ) -> None:
        self._find = find
        self._settings = settings

    def handlers(self) -> Handlers:
        """Return the handlers, keyed by method name."""
        return {
            "agents/given": self.given,
            "agents/history": self.history,
            "agents/forget": self.forget,
        }

    async def given(self, call: GivenParams, context: RequestContext) -> JSON:
        """Record an answer given to an agent, unless the settings forbid it."""
        vault = (await self._find(call)).vault
        kept = self._settings().agents.record and vault.ledger.keeps_opens
        if kept:
            notes = [GivenNote(**note.model_dump()) for note in call.notes]
            agent = call.agent or context.client.name
            given = Given(time.time(), agent, call.tool, call.question, call.tokens, notes)
            await vault.in_writer(vault.ledger.given.add, given)
        return about_vault(vault, {"kept": kept})

    async def history(self, call: ListParams, context: RequestContext) -> JSON:
        """Return the answers given to agents, latest first."""
        vault = (await self._find(call)).vault
        table = vault.ledger.given if vault.ledger.keeps_opens else None
        rows = await asyncio.to_thread(table.latest, call.limit) if table else []
        given = [
            {**row._asdict(), "time": iso_time(row.time), "notes": [note._asdict() for note in row.notes]}
            for row in rows
        ]
        total = await asyncio.to_thread(table.count) if table else 0
        agents = self._settings().agents
        hidden = [
            {"entry": each, "files": len(await asyncio.to_thread(paths_hidden_by, each, vault.ledger))}
            for each in agents.hide
        ]
        answer = {"given": given, "count": len(given), "total": total}
        return about_vault(vault, {**answer, "record": agents.record, "hidden": hidden})

    async def forget(self, call: VaultParams, context: RequestContext) -> JSON:
        """Delete all recorded answers."""
        vault = (await self._find(call)).vault
        keeps = vault.ledger.keeps_opens
        forgotten = await vault.in_writer(vault.ledger.given.forget) if keeps else 0
        return about_vault(vault, {"forgotten": forgotten})
