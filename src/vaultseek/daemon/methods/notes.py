"""RPC methods about notes, links, tags and properties."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

from vaultseek.base.model import JSON
from vaultseek.content.kinds import file_type
from vaultseek.content.markdown.spelling import new_target
from vaultseek.core.notes import links as linked
from vaultseek.core.notes import mentions
from vaultseek.core.notes import read as reading
from vaultseek.core.notes.complete import VaultCompleter, complete_blocks
from vaultseek.core.notes.complete_query import complete_query
from vaultseek.core.notes.lookup import vault_path
from vaultseek.core.notes.new_links import manner_of
from vaultseek.core.notes.related import related
from vaultseek.core.notes.targets import problems
from vaultseek.daemon.methods.access import VaultHandlers, about_note, find_note, graph_of, with_degraded
from vaultseek.daemon.visible.view import ScopedFollower, SeenFollower
from vaultseek.errors import UsageError
from vaultseek.protocol.messages import params
from vaultseek.protocol.messages.remarks import with_remarks
from vaultseek.store.ledger import Ledger, NoteRow


async def _get(follower: SeenFollower, call: params.GetParams) -> JSON:
    vault, row = follower.vault, await find_note(call.note, follower)
    lines = (call.start_line, call.end_line)
    answer = await asyncio.to_thread(reading.note, row, vault.ledger, vault.options.folder, *lines)
    if isinstance(follower, ScopedFollower):
        await asyncio.to_thread(follower.check_read, row.path)
    return answer


async def _related(follower: SeenFollower, call: params.RelatedParams) -> JSON:
    row = await find_note(call.note, follower)
    degraded = follower.degraded_reason()
    answer = await related(row, follower.vault, call.limit)
    answer = with_remarks(with_degraded(answer, degraded), found=bool(answer["results"]))
    return about_note(row, answer)


async def _links(
    read_links: Callable[[NoteRow, Ledger], list[JSON]], follower: SeenFollower, call: params.LinksParams
) -> JSON:
    vault, row = follower.vault, await find_note(call.note, follower)
    return about_note(row, await _list("links", call.limit, read_links, row, vault.ledger))


async def _unresolved(follower: SeenFollower, call: params.UnresolvedParams) -> JSON:
    vault = follower.vault
    row = None if call.note is None else await find_note(call.note, follower)
    answer = await _list("links", call.limit, linked.unresolved, vault.ledger, row)
    return answer if row is None else about_note(row, answer)


async def _unlinked(follower: SeenFollower, call: params.LinksParams) -> JSON:
    vault, row = follower.vault, await find_note(call.note, follower)
    found = await _list("mentions", call.limit, mentions.unlinked, row, vault.ledger)
    return about_note(row, {"names": mentions.names_of(row), **found})


async def _tags(follower: SeenFollower, call: params.ListParams) -> JSON:
    return await _list("tags", call.limit, follower.completer.tags)


async def _properties(follower: SeenFollower, call: params.PropertiesParams) -> JSON:
    completer = follower.completer
    if call.name is None:
        return await _list("properties", call.limit, completer.properties)
    values = await _list("values", call.limit, completer.values, call.name)
    return {"property": call.name, **values}


async def _orphans(follower: SeenFollower, call: params.OrphansParams) -> JSON:
    vault, graph = follower.vault, await graph_of(follower)
    notes = partial(linked.orphans, isolated=call.isolated)
    return await _list("notes", call.limit, notes, graph, vault.ledger)


async def _duplicates(follower: SeenFollower, call: params.DuplicatesParams) -> JSON:
    from vaultseek.core.notes.duplicates import duplicates

    return with_degraded(await duplicates(follower.vault, call.limit), follower.degraded_reason())


async def _complete(follower: SeenFollower, call: params.CompleteParams) -> JSON:
    row = None
    if call.kind in ("heading", "block") and call.note is not None:
        row = await find_note(call.note, follower)
    if call.kind == "value" and not call.property:
        raise UsageError('kind "value" needs a property; add "property"')
    items, more = await asyncio.to_thread(_completions, call, follower, row)
    follower.keep_names_ranked()
    return {"kind": call.kind, "items": items, **more}


async def _problems(follower: SeenFollower, call: params.ProblemsParams) -> JSON:
    vault = follower.vault
    row = None if call.note is None else await find_note(call.note, follower)
    names = vault.indexer.names
    return await _list("problems", call.limit, problems, vault.ledger, names, row)


def _completions(
    call: params.CompleteParams, follower: SeenFollower, row: NoteRow | None
) -> tuple[list[JSON], JSON]:
    items = _items(call, follower, row)
    if call.source is None:
        return items, {}
    vault = follower.vault
    source = vault_path(call.source, vault.options.root)
    manner = manner_of(vault.options.root)
    style, names = manner.links, vault.indexer.names
    linked = [
        {**item, "link": new_target(item["path"], source, names, style)} for item in items if "path" in item
    ]
    if call.missing and call.kind == "note":
        missing = follower.completer.missing(call.text, call.limit)
        paths = ((item, manner.path_of(item["text"], source)) for item in missing)
        linked += (
            {**item, "path": path, "link": item["text"]}
            for item, path in paths
            if path and not file_type(item["text"])
        )
    return linked or items, {"markdown": style.markdown}


def _items(call: params.CompleteParams, follower: SeenFollower, row: NoteRow | None) -> list[JSON]:
    completer = follower.completer
    if call.kind == "block" and row is not None:
        blocks = reading.block_ids(row, follower.vault.ledger, follower.vault.options.folder)
        return complete_blocks(blocks, call.text, call.limit)
    kind = call.kind
    if kind == "query":
        return complete_query(call.text, completer, call.limit)
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


def _by_path(
    kind: Literal["note", "file"], call: params.CompleteParams, completer: VaultCompleter
) -> list[JSON]:
    """Return completions for part of a path, preceded by note names that contain the typed slash."""
    named = completer.complete("note", call.text, call.limit) if kind == "note" else []
    exact = [item for item in named if item["match"] != "fuzzy"]
    known = {item["path"] for item in exact}
    paths = completer.complete_paths(kind, call.text.lstrip("/"), call.limit)
    items = [*exact, *(item for item in paths if item["path"] not in known)]
    return items[: call.limit] or named


async def _list(name: str, limit: int, collect: Callable[..., Sequence[JSON]], *arguments: object) -> JSON:
    """Run ``collect`` in a thread; return a dict with the first ``limit`` items under the key ``name``, the
    number of these items, and the total number."""
    rows = await asyncio.to_thread(collect, *arguments)
    return {name: list(rows[:limit]), "count": min(len(rows), limit), "total": len(rows)}


HANDLERS: VaultHandlers = {
    "note/get": _get,
    "note/related": _related,
    "links/outgoing": partial(_links, linked.outgoing),
    "links/backlinks": partial(_links, linked.backlinks),
    "links/unresolved": _unresolved,
    "links/unlinked": _unlinked,
    "vault/tags": _tags,
    "vault/properties": _properties,
    "vault/orphans": _orphans,
    "vault/duplicates": _duplicates,
    "complete": _complete,
    "vault/problems": _problems,
}
"""Handlers of ``note/…``, ``links/…``, ``complete`` and the ``vault/…`` methods that return lists."""
