"""The methods about notes, links and the words of a vault."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from weakref import WeakKeyDictionary

from vaultseek.daemon.methods.access import Find, found_note, of_note, of_vault, with_gap
from vaultseek.daemon.open_vault import Keeper
from vaultseek.errors import Unavailable, UsageError
from vaultseek.index.ledger import Ledger, NoteRow
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
        self._completers: WeakKeyDictionary[Keeper, VaultCompleter] = WeakKeyDictionary()

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
        keeper = await self._find(asked)
        row = await found_note(asked.note, keeper)
        lines = (asked.start_line, asked.end_line)
        note = await asyncio.to_thread(reading.note, row, keeper.ledger, keeper.place.root, *lines)
        return of_vault(keeper, note)

    async def related(self, params: JSON, context: RequestContext) -> JSON:
        """Notes like a note."""
        asked = read(RelatedParams, params)
        keeper = await self._find(asked)
        row = await found_note(asked.note, keeper)
        gap = keeper.gap()
        return of_note(keeper, row, with_gap(await related(row, keeper, asked.limit), gap))

    async def outgoing(self, params: JSON, context: RequestContext) -> JSON:
        """The links that stand in a note."""
        return await self._links(params, linked.outgoing)

    async def backlinks(self, params: JSON, context: RequestContext) -> JSON:
        """The links of other notes to a note."""
        return await self._links(params, linked.backlinks)

    async def _links(self, params: JSON, of_note_in: Callable[[NoteRow, Ledger], list[JSON]]) -> JSON:
        asked = read(LinksParams, params)
        keeper = await self._find(asked)
        row = await found_note(asked.note, keeper)
        links = await asyncio.to_thread(of_note_in, row, keeper.ledger)
        return of_note(keeper, row, _cut("links", links, asked.limit))

    async def unresolved(self, params: JSON, context: RequestContext) -> JSON:
        """Links that lead nowhere, of a note or of the vault."""
        asked = read(UnresolvedParams, params)
        keeper = await self._find(asked)
        row = None if asked.note is None else await found_note(asked.note, keeper)
        links = await asyncio.to_thread(linked.unresolved, keeper.ledger, row)
        answer = _cut("links", links, asked.limit)
        return of_vault(keeper, answer) if row is None else of_note(keeper, row, answer)

    async def unlinked(self, params: JSON, context: RequestContext) -> JSON:
        """Mentions of a note that are no links."""
        asked = read(LinksParams, params)
        keeper = await self._find(asked)
        row = await found_note(asked.note, keeper)
        found = await asyncio.to_thread(mentions.unlinked, row, keeper.ledger)
        answer = {"names": mentions.names_of(row), **_cut("mentions", found, asked.limit)}
        return of_note(keeper, row, answer)

    async def neighbors(self, params: JSON, context: RequestContext) -> JSON:
        """The notes around a note."""
        asked = read(NeighborsParams, params)
        keeper = await self._find(asked)
        row = await found_note(asked.note, keeper)
        graph = keeper.graph
        if graph is None:
            raise Unavailable("the link graph is being built; try again")
        around = (row, graph, keeper.ledger, asked.depth, asked.limit)
        answer = await asyncio.to_thread(linked.neighbours, *around)
        return of_note(keeper, row, {"depth": asked.depth, **answer})

    async def tags(self, params: JSON, context: RequestContext) -> JSON:
        """Every tag."""
        asked = read(ListParams, params)
        keeper = await self._find(asked)
        found = await asyncio.to_thread(vocabulary.tags, keeper.ledger)
        return of_vault(keeper, _cut("tags", found, asked.limit))

    async def properties(self, params: JSON, context: RequestContext) -> JSON:
        """Every property, or every value of one."""
        asked = read(PropertiesParams, params)
        keeper = await self._find(asked)
        if asked.name is None:
            found = await asyncio.to_thread(vocabulary.properties, keeper.ledger)
            return of_vault(keeper, _cut("properties", found, asked.limit))
        found = await asyncio.to_thread(vocabulary.values, keeper.ledger, asked.name)
        return of_vault(keeper, {"property": asked.name, **_cut("values", found, asked.limit)})

    async def orphans(self, params: JSON, context: RequestContext) -> JSON:
        """Notes that nothing links to."""
        asked = read(OrphansParams, params)
        keeper = await self._find(asked)
        found = await asyncio.to_thread(linked.orphans, keeper.ledger, isolated=asked.isolated)
        return of_vault(keeper, _cut("notes", found, asked.limit))

    async def complete(self, params: JSON, context: RequestContext) -> JSON:
        """What could be meant by what was typed so far."""
        asked = read(CompleteParams, params)
        keeper = await self._find(asked)
        row = None
        if asked.kind in ("heading", "block"):
            if asked.note is None:
                raise UsageError(f'a {asked.kind} needs to be of some "note"; say which')
            row = await found_note(asked.note, keeper)
        if asked.kind == "value" and not asked.property:
            raise UsageError('a value needs to be of some "property"; say which')
        items = await asyncio.to_thread(self._completions, asked, keeper, row)
        return of_vault(keeper, {"kind": asked.kind, "items": items})

    def _completions(self, asked: CompleteParams, keeper: Keeper, row: NoteRow | None) -> list[JSON]:
        if asked.kind == "block":
            blocks = reading.block_ids(row, keeper.place.root) if row else ()
            return complete_blocks(blocks, asked.text, asked.limit)
        completer = self._completers.get(keeper) or VaultCompleter(keeper.ledger)
        self._completers[keeper] = completer
        note = row.id if row else None
        return completer.complete(asked.kind, asked.text, asked.limit, note=note, name=asked.property)


def _cut(name: str, found: Sequence[JSON], limit: int) -> JSON:
    return {name: list(found[:limit]), "count": min(len(found), limit), "total": len(found)}
