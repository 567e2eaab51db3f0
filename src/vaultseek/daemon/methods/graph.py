"""RPC methods about the link graph: what is around a note, and the structure of the whole."""

from __future__ import annotations

import asyncio
import time

from vaultseek.base.model import JSON
from vaultseek.content.markdown.spelling import new_target
from vaultseek.core.graph.overview import drawn, export, overview
from vaultseek.core.graph.routes import routes
from vaultseek.core.graph.structure_values import Bridges
from vaultseek.core.graph.suggestions import recent_suggestions, suggestions
from vaultseek.core.notes import links as linked
from vaultseek.core.notes.new_links import manner_of
from vaultseek.daemon.methods.access import (
    Find,
    Handlers,
    about_note,
    about_vault,
    find_note,
    graph_of,
    whole,
)
from vaultseek.protocol.messages.params import (
    NeighborsParams,
    OverviewParams,
    PathParams,
    SuggestParams,
    VaultParams,
)
from vaultseek.protocol.wire.context import RequestContext


class GraphMethods:
    """Handlers of ``graph/…``."""

    def __init__(self, find: Find) -> None:
        self._find = find

    def handlers(self) -> Handlers:
        """Return the handlers."""
        return {
            "graph/neighbors": (NeighborsParams, self.neighbors),
            "graph/overview": (OverviewParams, self.overview),
            "graph/path": (PathParams, self.path),
            "graph/suggest": (SuggestParams, self.suggest),
            "graph/export": (VaultParams, self.export),
        }

    async def neighbors(self, call: NeighborsParams, context: RequestContext) -> JSON:
        """Return the notes around a note."""
        follower = await self._find(call)
        vault, row = follower.vault, await find_note(call.note, follower)
        graph = await graph_of(follower)
        answer = await asyncio.to_thread(linked.neighbours, row, graph, vault.ledger, call.depth, call.limit)
        return about_note(vault, row, {"depth": call.depth, **answer})

    async def overview(self, call: OverviewParams, context: RequestContext) -> JSON:
        """Return hubs, bridges and clusters, and what a map needs."""
        follower = whole(await self._find(call))
        vault, graph = follower.vault, await graph_of(follower)
        bridges_of = _no_bridges if call.without_bridges else follower.structure.bridges
        structure, bridges = await asyncio.gather(
            asyncio.to_thread(follower.structure.of, graph, vault.ledger),
            asyncio.to_thread(bridges_of, graph, vault.ledger),
        )
        now = time.time()
        answer = await asyncio.to_thread(overview, structure, bridges, graph, vault.ledger, call.limit, now)
        if call.nodes:
            answer |= await asyncio.to_thread(drawn, structure, graph, vault.ledger, call.nodes)
        return about_vault(vault, answer)

    async def path(self, call: PathParams, context: RequestContext) -> JSON:
        """Return the shortest routes between two notes."""
        follower = await self._find(call)
        start, end = await find_note(call.note, follower), await find_note(call.other, follower)
        vault = follower.vault
        return about_note(vault, start, await routes(start, end, vault, await graph_of(follower), call.limit))

    async def suggest(self, call: SuggestParams, context: RequestContext) -> JSON:
        """Return links that may be missing."""
        follower = await self._find(call)
        vault = follower.vault
        graph = await graph_of(follower)
        source = ""
        if call.note is None:
            items = await recent_suggestions(vault, graph, call.limit)
        else:
            row = await find_note(call.note, follower)
            source, items = row.path, await suggestions(row, vault, graph, call.limit)
        names, style = vault.indexer.names, manner_of(vault.options.root).links
        for item in items:
            own = item["source"]["path"] if "source" in item else source
            item["link"] = new_target(item["path"], own, names, style)
        return about_vault(vault, {"suggestions": items, "markdown": style.markdown})

    async def export(self, call: VaultParams, context: RequestContext) -> JSON:
        """Return every note and every link."""
        follower = whole(await self._find(call))
        vault, graph = follower.vault, await graph_of(follower)
        structure = await asyncio.to_thread(follower.structure.of, graph, vault.ledger)
        answer = await asyncio.to_thread(export, structure, graph, vault.ledger)
        return about_vault(vault, answer)


def _no_bridges(*_: object) -> Bridges:
    return ()
