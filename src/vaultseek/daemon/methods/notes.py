"""RPC methods about notes, links, tags and properties."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

from vaultseek.base.model import JSON
from vaultseek.content.markdown.spelling import new_target
from vaultseek.core.notes import links as linked
from vaultseek.core.notes import mentions, vocabulary
from vaultseek.core.notes import read as reading
from vaultseek.core.notes.complete import VaultCompleter, complete_blocks
from vaultseek.core.notes.duplicates import duplicates
from vaultseek.core.notes.lookup import vault_path
from vaultseek.core.notes.new_links import manner_of
from vaultseek.core.notes.problems import problems
from vaultseek.core.notes.related import related
from vaultseek.daemon.methods.access import Find, about_note, about_vault, find_note, with_degraded
from vaultseek.daemon.seen import SeenFollower, SeenVault
from vaultseek.errors import Unavailable, UsageError
from vaultseek.protocol.messages.params import (
    CompleteParams,
    DuplicatesParams,
    GetParams,
    LinksParams,
    ListParams,
    NeighborsParams,
    OrphansParams,
    ProblemsParams,
    PropertiesParams,
    RelatedParams,
    UnresolvedParams,
    VaultParams,
    read,
)
from vaultseek.protocol.wire.context import Handler, RequestContext
from vaultseek.store.ledger import Ledger, NoteRow


class NoteMethods:
    """Handlers of ``note/…``, ``links/…``, ``graph/…``, ``complete`` and the lists of ``vault/…``."""

    def __init__(self, find: Find) -> None:
        self._find = find

    def handlers(self) -> dict[str, Handler]:
        """Return the handlers by method name."""
        return {
            "note/get": self.get,
            "note/related": self.related,
            "links/outgoing": self.outgoing,
            "links/backlinks": self.backlinks,
            "links/unresolved": self.unresolved,
            "links/unlinked": self.unlinked,
            "graph/neighbors": self.neighbors,
            "vault/tags": self.tags,
            "vault/properties": self.properties,
            "vault/orphans": self.orphans,
            "vault/duplicates": self.duplicates,
            "complete": self.complete,
            "vault/problems": self.problems,
        }

    async def get(self, params: JSON, context: RequestContext) -> JSON:
        """Return a note's fields and lines of its text."""
        call = read(GetParams, params)
        vault, row = await self._vault_and_note(call, call.note)
        lines = (call.start_line, call.end_line)
        note = await asyncio.to_thread(reading.note, row, vault.ledger, vault.options.folder, *lines)
        return about_vault(vault, note)

    async def related(self, params: JSON, context: RequestContext) -> JSON:
        """Return the notes most like a note."""
        call = read(RelatedParams, params)
        follower = await self._find(call)
        row = await find_note(call.note, follower)
        degraded = follower.degraded_reason()
        answer = await related(row, follower.vault, call.limit)
        return about_note(follower.vault, row, with_degraded(answer, degraded))

    async def outgoing(self, params: JSON, context: RequestContext) -> JSON:
        """Return the links in a note."""
        return await self._links(params, linked.outgoing)

    async def backlinks(self, params: JSON, context: RequestContext) -> JSON:
        """Return the links of other notes to a note."""
        return await self._links(params, linked.backlinks)

    async def _links(self, params: JSON, read_links: Callable[[NoteRow, Ledger], list[JSON]]) -> JSON:
        call = read(LinksParams, params)
        vault, row = await self._vault_and_note(call, call.note)
        return about_note(vault, row, await _list("links", call.limit, read_links, row, vault.ledger))

    async def unresolved(self, params: JSON, context: RequestContext) -> JSON:
        """Return the links without a target, of a note or of the vault."""
        call = read(UnresolvedParams, params)
        follower = await self._find(call)
        vault = follower.vault
        row = None if call.note is None else await find_note(call.note, follower)
        answer = await _list("links", call.limit, linked.unresolved, vault.ledger, row)
        return about_vault(vault, answer) if row is None else about_note(vault, row, answer)

    async def unlinked(self, params: JSON, context: RequestContext) -> JSON:
        """Return the mentions of a note that are not links."""
        call = read(LinksParams, params)
        vault, row = await self._vault_and_note(call, call.note)
        found = await _list("mentions", call.limit, mentions.unlinked, row, vault.ledger)
        return about_note(vault, row, {"names": mentions.names_of(row), **found})

    async def neighbors(self, params: JSON, context: RequestContext) -> JSON:
        """Return the notes around a note in the link graph."""
        call = read(NeighborsParams, params)
        vault, row = await self._vault_and_note(call, call.note)
        graph = vault.graph
        if graph is None:
            raise Unavailable("the link graph is being built; try again")
        answer = await asyncio.to_thread(linked.neighbours, row, graph, vault.ledger, call.depth, call.limit)
        return about_note(vault, row, {"depth": call.depth, **answer})

    async def tags(self, params: JSON, context: RequestContext) -> JSON:
        """Return every tag."""
        call = read(ListParams, params)
        vault = (await self._find(call)).vault
        return about_vault(vault, await _list("tags", call.limit, vocabulary.tags, vault.ledger))

    async def properties(self, params: JSON, context: RequestContext) -> JSON:
        """Return every property, or every value of one."""
        call = read(PropertiesParams, params)
        vault = (await self._find(call)).vault
        if call.name is None:
            answer = await _list("properties", call.limit, vocabulary.properties, vault.ledger)
        else:
            values = await _list("values", call.limit, vocabulary.values, vault.ledger, call.name)
            answer = {"property": call.name, **values}
        return about_vault(vault, answer)

    async def orphans(self, params: JSON, context: RequestContext) -> JSON:
        """Return the notes that nothing links to."""
        call = read(OrphansParams, params)
        vault = (await self._find(call)).vault
        notes = partial(linked.orphans, isolated=call.isolated)
        return about_vault(vault, await _list("notes", call.limit, notes, vault.ledger))

    async def duplicates(self, params: JSON, context: RequestContext) -> JSON:
        """Return the pairs of notes that are most alike."""
        call = read(DuplicatesParams, params)
        vault = (await self._find(call)).vault
        return about_vault(vault, await duplicates(vault, call.limit))

    async def complete(self, params: JSON, context: RequestContext) -> JSON:
        """Return completions of a partly typed name."""
        call = read(CompleteParams, params)
        follower = await self._find(call)
        row = None
        if call.kind in ("heading", "block") and call.note is not None:
            row = await find_note(call.note, follower)
        if call.kind == "value" and not call.property:
            raise UsageError('kind "value" needs a property; add "property"')
        items, more = await asyncio.to_thread(_completions, call, follower, row)
        follower.keep_names_ranked()
        return about_vault(follower.vault, {"kind": call.kind, "items": items, **more})

    async def problems(self, params: JSON, context: RequestContext) -> JSON:
        """Return the faults of a note or of every one."""
        call = read(ProblemsParams, params)
        follower = await self._find(call)
        vault = follower.vault
        row = None if call.note is None else await find_note(call.note, follower)
        names = vault.indexer.names
        return about_vault(vault, await _list("problems", call.limit, problems, vault.ledger, names, row))

    async def _vault_and_note(self, call: VaultParams, name: str) -> tuple[SeenVault, NoteRow]:
        follower = await self._find(call)
        return follower.vault, await find_note(name, follower)


def _completions(
    call: CompleteParams, follower: SeenFollower, row: NoteRow | None
) -> tuple[list[JSON], JSON]:
    """Return completions, and what else the answer says about them."""
    items = _items(call, follower, row)
    if call.source is None:
        return items, {}
    vault = follower.vault
    source = vault_path(call.source, vault.options.root)
    style = manner_of(vault.options.root).links
    names = vault.indexer.names
    linked = (
        {**item, "link": new_target(item["path"], source, names, style)} for item in items if "path" in item
    )
    return list(linked) or items, {"markdown": style.markdown}


def _items(call: CompleteParams, follower: SeenFollower, row: NoteRow | None) -> list[JSON]:
    completer = follower.completer
    if call.kind == "block" and row is not None:
        blocks = reading.block_ids(row, follower.vault.ledger, follower.vault.options.folder)
        return complete_blocks(blocks, call.text, call.limit)
    kind = call.kind
    if (kind == "note" or kind == "file") and "/" in call.text:
        return _by_path(kind, call, completer)
    if kind == "block" or kind == "file" or (kind == "heading" and row is None):
        return completer.complete_parts(kind, call.text, call.limit)
    note = row.id if row else None
    return completer.complete(kind, call.text, call.limit, note=note, name=call.property)


def _by_path(kind: Literal["note", "file"], call: CompleteParams, completer: VaultCompleter) -> list[JSON]:
    """Return completions of a part of a path, after names that have the same sign in them."""
    named = completer.complete("note", call.text, call.limit) if kind == "note" else []
    exact = [item for item in named if item["match"] != "fuzzy"]
    known = {item["path"] for item in exact}
    paths = completer.complete_paths(kind, call.text.lstrip("/"), call.limit)
    items = [*exact, *(item for item in paths if item["path"] not in known)]
    return items[: call.limit] or named


async def _list(name: str, limit: int, collect: Callable[..., Sequence[JSON]], *arguments: object) -> JSON:
    """Return under ``name`` the first of what ``collect`` returns in a thread, and how many there are."""
    rows = await asyncio.to_thread(collect, *arguments)
    return {name: list(rows[:limit]), "count": min(len(rows), limit), "total": len(rows)}
