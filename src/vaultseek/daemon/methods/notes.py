"""The methods about notes, links and the words of a vault."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from weakref import WeakKeyDictionary

from vaultseek.daemon.follow import VaultFollower
from vaultseek.daemon.methods.access import Find, found_note, of_note, of_vault, with_gap
from vaultseek.errors import Unavailable, UsageError
from vaultseek.index.ledger import Ledger, NoteRow
from vaultseek.indexing.open_vault import OpenVault
from vaultseek.messages.params import (
    CompleteParams,
    GetParams,
    LinksParams,
    ListParams,
    NeighborsParams,
    OrphansParams,
    PropertiesParams,
    RelatedParams,
    UnresolvedParams,
    read,
)
from vaultseek.model import JSON
from vaultseek.notes import links as linked
from vaultseek.notes import mentions
from vaultseek.notes import read as reading
from vaultseek.notes import tags as vocabulary
from vaultseek.notes.complete import VaultCompleter, complete_blocks
from vaultseek.notes.related import related
from vaultseek.wire.context import Handler, RequestContext


class Notes:
    """Handlers of ``note/…``, ``links/…``, ``graph/…``, ``complete`` and the lists of ``vault/…``."""

    def __init__(self, find: Find) -> None:
        self._find = find
        self._completers: WeakKeyDictionary[OpenVault, VaultCompleter] = WeakKeyDictionary()

    def handlers(self) -> dict[str, Handler]:
        """Method name to handler."""
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
            "complete": self.complete,
        }

    async def get(self, params: JSON, context: RequestContext) -> JSON:
        """What is known of a note, and lines of its text."""
        asked = read(GetParams, params)
        follower = await self._find(asked)
        row = await found_note(asked.note, follower)
        lines = (asked.start_line, asked.end_line)
        note = await asyncio.to_thread(
            reading.note, row, follower.vault.ledger, follower.vault.options.root, *lines
        )
        return of_vault(follower, note)

    async def related(self, params: JSON, context: RequestContext) -> JSON:
        """Notes like a note."""
        asked = read(RelatedParams, params)
        follower = await self._find(asked)
        row = await found_note(asked.note, follower)
        gap = follower.degraded_reason()
        return of_note(follower, row, with_gap(await related(row, follower.vault, asked.limit), gap))

    async def outgoing(self, params: JSON, context: RequestContext) -> JSON:
        """The links that stand in a note."""
        return await self._links(params, linked.outgoing)

    async def backlinks(self, params: JSON, context: RequestContext) -> JSON:
        """The links of other notes to a note."""
        return await self._links(params, linked.backlinks)

    async def _links(self, params: JSON, of_note_in: Callable[[NoteRow, Ledger], list[JSON]]) -> JSON:
        asked = read(LinksParams, params)
        follower = await self._find(asked)
        row = await found_note(asked.note, follower)
        links = await asyncio.to_thread(of_note_in, row, follower.vault.ledger)
        return of_note(follower, row, _cut("links", links, asked.limit))

    async def unresolved(self, params: JSON, context: RequestContext) -> JSON:
        """Links that lead nowhere, of a note or of the vault."""
        asked = read(UnresolvedParams, params)
        follower = await self._find(asked)
        row = None if asked.note is None else await found_note(asked.note, follower)
        links = await asyncio.to_thread(linked.unresolved, follower.vault.ledger, row)
        answer = _cut("links", links, asked.limit)
        return of_vault(follower, answer) if row is None else of_note(follower, row, answer)

    async def unlinked(self, params: JSON, context: RequestContext) -> JSON:
        """Mentions of a note that are no links."""
        asked = read(LinksParams, params)
        follower = await self._find(asked)
        row = await found_note(asked.note, follower)
        found = await asyncio.to_thread(mentions.unlinked, row, follower.vault.ledger)
        answer = {"names": mentions.names_of(row), **_cut("mentions", found, asked.limit)}
        return of_note(follower, row, answer)

    async def neighbors(self, params: JSON, context: RequestContext) -> JSON:
        """The notes around a note."""
        asked = read(NeighborsParams, params)
        follower = await self._find(asked)
        row = await found_note(asked.note, follower)
        graph = follower.vault.graph
        if graph is None:
            raise Unavailable("the link graph is being built; try again")
        around = (row, graph, follower.vault.ledger, asked.depth, asked.limit)
        answer = await asyncio.to_thread(linked.neighbours, *around)
        return of_note(follower, row, {"depth": asked.depth, **answer})

    async def tags(self, params: JSON, context: RequestContext) -> JSON:
        """Every tag."""
        asked = read(ListParams, params)
        follower = await self._find(asked)
        found = await asyncio.to_thread(vocabulary.tags, follower.vault.ledger)
        return of_vault(follower, _cut("tags", found, asked.limit))

    async def properties(self, params: JSON, context: RequestContext) -> JSON:
        """Every property, or every value of one."""
        asked = read(PropertiesParams, params)
        follower = await self._find(asked)
        if asked.name is None:
            found = await asyncio.to_thread(vocabulary.properties, follower.vault.ledger)
            return of_vault(follower, _cut("properties", found, asked.limit))
        found = await asyncio.to_thread(vocabulary.values, follower.vault.ledger, asked.name)
        return of_vault(follower, {"property": asked.name, **_cut("values", found, asked.limit)})

    async def orphans(self, params: JSON, context: RequestContext) -> JSON:
        """Notes that nothing links to."""
        asked = read(OrphansParams, params)
        follower = await self._find(asked)
        found = await asyncio.to_thread(linked.orphans, follower.vault.ledger, isolated=asked.isolated)
        return of_vault(follower, _cut("notes", found, asked.limit))

    async def complete(self, params: JSON, context: RequestContext) -> JSON:
        """What could be meant by what was typed so far."""
        asked = read(CompleteParams, params)
        follower = await self._find(asked)
        row = None
        if asked.kind in ("heading", "block"):
            if asked.note is None:
                raise UsageError(f'kind "{asked.kind}" needs a note; add "note"')
            row = await found_note(asked.note, follower)
        if asked.kind == "value" and not asked.property:
            raise UsageError('kind "value" needs a property; add "property"')
        items = await asyncio.to_thread(self._completions, asked, follower, row)
        return of_vault(follower, {"kind": asked.kind, "items": items})

    def _completions(self, asked: CompleteParams, follower: VaultFollower, row: NoteRow | None) -> list[JSON]:
        if asked.kind == "block":
            blocks = reading.block_ids(row, follower.vault.options.root) if row else ()
            return complete_blocks(blocks, asked.text, asked.limit)
        vault = follower.vault
        completer = self._completers.get(vault) or VaultCompleter(vault.ledger)
        self._completers[vault] = completer
        note = row.id if row else None
        return completer.complete(asked.kind, asked.text, asked.limit, note=note, name=asked.property)


def _cut(name: str, found: Sequence[JSON], limit: int) -> JSON:
    return {name: list(found[:limit]), "count": min(len(found), limit), "total": len(found)}
