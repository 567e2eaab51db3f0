"""RPC methods about the link graph: a note's neighbours, routes, suggested links and the overall
structure."""

import asyncio
import time

from vaultseek.base.model import JSON
from vaultseek.content.markdown.spelling import new_target
from vaultseek.core.graph.overview import drawn, export, overview
from vaultseek.core.graph.routes import routes
from vaultseek.core.graph.suggestions import recent_suggestions, suggestions
from vaultseek.core.notes import links as linked
from vaultseek.core.notes.new_links import manner_of
from vaultseek.daemon.methods.access import VaultHandlers, about_note, find_note, graph_of, whole
from vaultseek.daemon.visible.view import SeenFollower
from vaultseek.protocol.messages import params


async def _neighbors(follower: SeenFollower, call: params.NeighborsParams) -> JSON:
    vault, row = follower.vault, await find_note(call.note, follower)
    graph = await graph_of(follower)
    answer = await asyncio.to_thread(linked.neighbours, row, graph, vault.ledger, call.depth, call.limit)
    return about_note(row, {"depth": call.depth, **answer})


async def _overview(follower: SeenFollower, call: params.OverviewParams) -> JSON:
    vault, graph = follower.vault, await graph_of(follower)
    structure, bridges = await asyncio.gather(
        asyncio.to_thread(follower.structure.of, graph, vault.ledger),
        asyncio.to_thread(
            lambda: [] if call.without_bridges else follower.structure.bridges(graph, vault.ledger)
        ),
    )
    now = time.time()
    answer = await asyncio.to_thread(overview, structure, bridges, graph, vault.ledger, call.limit, now)
    if call.nodes:
        answer |= await asyncio.to_thread(drawn, structure, graph, vault.ledger, call.nodes)
    return answer


async def _path(follower: SeenFollower, call: params.PathParams) -> JSON:
    start, end = await find_note(call.note, follower), await find_note(call.other, follower)
    graph = await graph_of(follower)
    return about_note(start, await routes(start, end, follower.vault, graph, call.limit))


async def _suggest(follower: SeenFollower, call: params.SuggestParams) -> JSON:
    vault = follower.vault
    graph = await graph_of(follower)
    source, rest = "", None
    if call.note is None:
        items, rest = await recent_suggestions(vault, graph, call.limit, call.start)
    else:
        row = await find_note(call.note, follower)
        source, items = row.path, await suggestions(row, vault, graph, call.limit)
    names, style = vault.indexer.names, manner_of(vault.options.root).links
    for item in items:
        own = item["source"]["path"] if "source" in item else source
        item["link"] = new_target(item["path"], own, names, style)
    return {"suggestions": items, "markdown": style.markdown, "next": rest}


async def _export(follower: SeenFollower, call: params.VaultParams) -> JSON:
    follower = whole(follower)
    vault, graph = follower.vault, await graph_of(follower)
    structure = await asyncio.to_thread(follower.structure.of, graph, vault.ledger)
    return await asyncio.to_thread(export, structure, graph, vault.ledger)


HANDLERS: VaultHandlers = {
    "graph/neighbors": _neighbors,
    "graph/overview": _overview,
    "graph/path": _path,
    "graph/suggest": _suggest,
    "graph/export": _export,
}
"""Handlers of the ``graph/…`` methods."""
