"""RPC methods about links in text that is being written, and about renaming link targets."""

import asyncio
from collections.abc import Iterable

from vaultseek.base.model import JSON, Link
from vaultseek.content.files.obsidian import has_obsidian
from vaultseek.content.kinds import file_type
from vaultseek.content.markdown.inline import is_tag
from vaultseek.content.markdown.spelling import new_target
from vaultseek.core.indexing.open_vault import OpenVault
from vaultseek.core.indexing.scoped_vault import SearchedVault
from vaultseek.core.notes import rename
from vaultseek.core.notes.lookup import similar_files, vault_path
from vaultseek.core.notes.name_mentions import named_in
from vaultseek.core.notes.new_links import Manner, manner_of
from vaultseek.core.notes.targets import LinkTargets, problem_message
from vaultseek.daemon.methods.access import VaultHandlers, find_note, folder_of, whole
from vaultseek.daemon.scans import Extent
from vaultseek.daemon.visible.view import SeenFollower
from vaultseek.errors import UsageError
from vaultseek.protocol.messages import params
from vaultseek.store.ledger import NoteRow


async def _resolve(follower: SeenFollower, call: params.ResolveParams) -> JSON:
    if call.wait:
        await whole(follower).rescan(extent=Extent.NOTES)
    await follower.wait_if_new()
    return await asyncio.to_thread(_resolved, call, follower)


async def _mentioned(follower: SeenFollower, call: params.MentionedParams) -> JSON:
    return await asyncio.to_thread(_mentions, call, follower.vault)


async def _rename(follower: SeenFollower, call: params.RenameParams) -> JSON:
    follower = whole(follower)
    folder_of(follower.vault, "renaming")
    await follower.rescan(extent=Extent.LINKING)  # so that a link saved a moment ago is also updated
    row = None if call.note is None else await find_note(call.note, follower)
    return await asyncio.to_thread(_proposed, call, follower.vault, row)


def _resolved(call: params.ResolveParams, follower: SeenFollower) -> JSON:
    vault = follower.vault
    names, manner = vault.indexer.names, manner_of(vault.options.root)
    source = vault_path(call.source, vault.options.root)
    moves = rename.all_moves(_moves(call.moves), names)
    portable = not has_obsidian(vault.options.root)
    moved = rename.Moves(moves, names, portable=portable) if moves else None
    targets = LinkTargets(names, vault.ledger)
    items = []
    for written in call.links:
        link = Link(written.kind, written.target, written.heading, written.block, None, 1)
        target = targets.of(link, source)
        message = target.problem and problem_message(target.problem, link, target.candidates)
        item = {**target.as_json(), "message": message, "moved": _moved(link, source, moved)}
        if target.problem == "missing_note":
            item["create"] = None if file_type(link.target) else manner.path_of(link.target, source)
            item["similar"] = _similar(link.target, source, follower, manner) if call.similar else []
        items.append(item)
    return {"links": items, "markdown": manner.links.markdown}


def _moved(link: Link, source: str, moves: rename.Moves | None) -> str | None:
    target = moves.of(link, source) if moves else None
    return None if target == link.target else target


def _similar(target: str, source: str, follower: SeenFollower, manner: Manner) -> list[JSON]:
    names = follower.vault.indexer.names
    return [
        {
            "text": item["text"],
            "path": item["path"],
            "link": new_target(item["path"], source, names, manner.links),
        }
        for item in similar_files(target, follower.completer)
    ]


def _mentions(call: params.MentionedParams, vault: SearchedVault) -> JSON:
    source = vault_path(call.source, vault.options.root)
    own = vault.ledger.notes.by_path(source)
    named = named_in(call.lines, vault.ledger, own.id if own else None)
    rows = vault.ledger.notes.by_id(sorted({note for each in named for note in each.notes}))
    names, style = vault.indexer.names, manner_of(vault.options.root).links
    items = [
        {
            "line": each.line + 1,
            "column": each.start + 1,
            "end_column": each.end + 1,
            "name": each.name,
            "notes": [
                {"path": row.path, "title": row.title, "link": new_target(row.path, source, names, style)}
                for row in map(rows.get, each.notes)
                if row
            ],
        }
        for each in named
    ]
    return {"mentions": items, "markdown": style.markdown}


def _proposed(call: params.RenameParams, vault: OpenVault, row: NoteRow | None) -> JSON:
    root, indexer = folder_of(vault, "renaming"), vault.indexer
    place = rename.Vault(root, vault.ledger, indexer.names, indexer.skips)
    edits = _edits(call, row, place)
    items = [edit.as_json() for edit in edits]
    return {"edits": items, "notes": len({edit.path for edit in edits}), "left": place.left}


def _edits(call: params.RenameParams, row: NoteRow | None, place: rename.Vault) -> list[rename.Edit]:
    if call.moves:
        return rename.rename_notes(_moves(call.moves), place)
    if not call.to or not call.to.strip():
        raise UsageError('renaming a heading or tag needs a new name; add "to"')
    if row is not None and call.heading is not None:
        return rename.rename_heading(row, call.heading, " ".join(call.to.split("\n")).strip(), place)
    if call.tag:
        return rename.rename_tag(call.tag.lstrip("#"), checked_tag(call.to), place)
    raise UsageError('nothing to rename; add "moves", "tag", or "note" with "heading"')


def checked_tag(tag: str) -> str:
    """Return a new tag without its ``#``. Raises UsageError if the tag is not valid."""
    tag = tag.strip().lstrip("#").strip("/")
    if not is_tag(tag):
        raise UsageError(
            f"{tag!r} is not a valid tag; use letters, digits, - _ and /, but not a number, true or null"
        )
    return tag


def _moves(moves: Iterable[params.Move]) -> dict[str, str]:
    return rename.as_moves((move.old, move.new) for move in moves)


HANDLERS: VaultHandlers = {
    "links/resolve": _resolve,
    "links/mentioned": _mentioned,
    "vault/rename": _rename,
}
"""Handlers of ``links/resolve``, ``links/mentioned`` and ``vault/rename``."""
