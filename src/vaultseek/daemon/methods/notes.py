"""RPC methods about notes, links, tags and properties."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

from vaultseek.base.model import JSON
from vaultseek.content.markdown.spelling import new_target
from vaultseek.core.indexing.scoped_vault import SearchedVault
from vaultseek.core.notes import links as linked
from vaultseek.core.notes import mentions
from vaultseek.core.notes import read as reading
from vaultseek.core.notes.complete import VaultCompleter, complete_blocks
from vaultseek.core.notes.duplicates import duplicates
from vaultseek.core.notes.lookup import vault_path
from vaultseek.core.notes.new_links import manner_of
from vaultseek.core.notes.related import related
from vaultseek.core.notes.targets import problems
from vaultseek.daemon.methods.access import (
    Find,
    Handlers,
    about_note,
    about_vault,
    find_note,
    graph_of,
    with_degraded,
)
from vaultseek.daemon.team.view import SeenFollower
from vaultseek.errors import UsageError
from vaultseek.protocol.messages.params import (
    CompleteParams,
    DuplicatesParams,
    GetParams,
    LinksParams,
    ListParams,
    OrphansParams,
    ProblemsParams,
    PropertiesParams,
    RelatedParams,
    UnresolvedParams,
    VaultParams,
)
from vaultseek.protocol.wire.context import RequestContext
from vaultseek.store.ledger import Ledger, NoteRow


class NoteMethods:
    """Handlers of ``note/…``, ``links/…``, ``complete`` and the lists of ``vault/…``."""

    def __init__(self, find: Find) -> None:
        self._find = find

    def handlers(self) -> Handlers:
        """Return the handlers."""
        return {
            "note/get": (GetParams, self.get),
            "note/related": (RelatedParams, self.related),
            "links/outgoing": (LinksParams, self.outgoing),
            "links/backlinks": (LinksParams, self.backlinks),
            "links/unresolved": (UnresolvedParams, self.unresolved),
            "links/unlinked": (LinksParams, self.unlinked),
            "vault/tags": (ListParams, self.tags),
            "vault/properties": (PropertiesParams, self.properties),
            "vault/orphans": (OrphansParams, self.orphans),
            "vault/duplicates": (DuplicatesParams, self.duplicates),
            "complete": (CompleteParams, self.complete),
            "vault/problems": (ProblemsParams, self.problems),
        }

    async def get(self, call: GetParams, context: RequestContext) -> JSON:
        """Return a note's fields and lines of its text."""
        vault, row = await self._vault_and_note(call, call.note)
        lines = (call.start_line, call.end_line)
        note = await asyncio.to_thread(reading.note, row, vault.ledger, vault.options.folder, *lines)
        return about_vault(vault, note)

    async def related(self, call: RelatedParams, context: RequestContext) -> JSON:
        """Return the notes most like a note."""
        follower = await self._find(call)
        row = await find_note(call.note, follower)
        degraded = follower.degraded_reason()
        answer = await related(row, follower.vault, call.limit)
        return about_note(follower.vault, row, with_degraded(answer, degraded))

    async def outgoing(self, call: LinksParams, context: RequestContext) -> JSON:
        """Return the links in a note."""
        return await self._links(call, linked.outgoing)

    async def backlinks(self, call: LinksParams, context: RequestContext) -> JSON:
        """Return the links of other notes to a note."""
        return await self._links(call, linked.backlinks)

    async def _links(self, call: LinksParams, read_links: Callable[[NoteRow, Ledger], list[JSON]]) -> JSON:
        vault, row = await self._vault_and_note(call, call.note)
        return about_note(vault, row, await _list("links", call.limit, read_links, row, vault.ledger))

    async def unresolved(self, call: UnresolvedParams, context: RequestContext) -> JSON:
        """Return the links without a target, of a note or of the vault."""
        follower = await self._find(call)
        vault = follower.vault
        row = None if call.note is None else await find_note(call.note, follower)
        answer = await _list("links", call.limit, linked.unresolved, vault.ledger, row)
        return about_vault(vault, answer) if row is None else about_note(vault, row, answer)

    async def unlinked(self, call: LinksParams, context: RequestContext) -> JSON:
        """Return the mentions of a note that are not links."""
        vault, row = await self._vault_and_note(call, call.note)
        found = await _list("mentions", call.limit, mentions.unlinked, row, vault.ledger)
        return about_note(vault, row, {"names": mentions.names_of(row), **found})

    async def tags(self, call: ListParams, context: RequestContext) -> JSON:
        """Return every tag."""
        follower = await self._find(call)
        return about_vault(follower.vault, await _list("tags", call.limit, follower.completer.tags))

    async def properties(self, call: PropertiesParams, context: RequestContext) -> JSON:
        """Return every property, or every value of one."""
        follower = await self._find(call)
        completer = follower.completer
        if call.name is None:
            answer = await _list("properties", call.limit, completer.properties)
        else:
            values = await _list("values", call.limit, completer.values, call.name)
            answer = {"property": call.name, **values}
        return about_vault(follower.vault, answer)

    async def orphans(self, call: OrphansParams, context: RequestContext) -> JSON:
        """Return the notes that nothing links to."""
        follower = await self._find(call)
        vault, graph = follower.vault, await graph_of(follower)
        notes = partial(linked.orphans, isolated=call.isolated)
        return about_vault(vault, await _list("notes", call.limit, notes, graph, vault.ledger))

    async def duplicates(self, call: DuplicatesParams, context: RequestContext) -> JSON:
        """Return the pairs of notes that are most alike."""
        vault = (await self._find(call)).vault
        return about_vault(vault, await duplicates(vault, call.limit))

    async def complete(self, call: CompleteParams, context: RequestContext) -> JSON:
        """Return completions of a partly typed name."""
        follower = await self._find(call)
        row = None
        if call.kind in ("heading", "block") and call.note is not None:
            row = await find_note(call.note, follower)
        if call.kind == "value" and not call.property:
            raise UsageError('kind "value" needs a property; add "property"')
        items, more = await asyncio.to_thread(_completions, call, follower, row)
        follower.keep_names_ranked()
        return about_vault(follower.vault, {"kind": call.kind, "items": items, **more})

    async def problems(self, call: ProblemsParams, context: RequestContext) -> JSON:
        """Return the faults of a note or of every one."""
        follower = await self._find(call)
        vault = follower.vault
        row = None if call.note is None else await find_note(call.note, follower)
        names = vault.indexer.names
        return about_vault(vault, await _list("problems", call.limit, problems, vault.ledger, names, row))

    async def _vault_and_note(self, call: VaultParams, name: str) -> tuple[SearchedVault, NoteRow]:
        follower = await self._find(call)
        return follower.vault, await find_note(name, follower)


def _completions(
    call: CompleteParams, follower: SeenFollower, row: NoteRow | None
) -> tuple[list[JSON], JSON]:
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
    items = completer.complete(kind, call.text, call.limit, note=note, name=call.property)
    if (
        kind == "note"
        and call.source is not None
        and call.text
        and all(item["match"] == "fuzzy" for item in items)
    ):
        return [*completer.complete_paths("note", f"{call.text}/", call.limit), *items][: call.limit]
    return items


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
