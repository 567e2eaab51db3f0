"""Renaming of notes, headings and tags, and updating of links to files that the editor is about to move."""

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from lsprotocol import types

from vaultseek.base.model import JSON, Heading, Link, Place
from vaultseek.content.markdown.title import file_stem
from vaultseek.core.notes.rename import (
    Edit,
    as_written,
    checked_name,
    file_name,
    heading_edit,
    heading_links,
    heading_place,
    link_edit,
    tag_edits,
)
from vaultseek.doors.lsp.cursor import heading_at, link_at, tag_at
from vaultseek.doors.lsp.documents import Text
from vaultseek.doors.lsp.edits import can_do, proposed_edits, warn_of_left, workspace_edit
from vaultseek.doors.lsp.session import Session, Spot, path_of
from vaultseek.doors.lsp.targets import targets
from vaultseek.errors import NotFound, UsageError


class Renamed(NamedTuple):
    """The tag, heading or note that a rename at the cursor affects, with its current name and place."""

    place: Place
    name: str
    path: str
    tag: str | None = None
    heading: Heading | None = None


async def prepare(
    session: Session, spot: Spot, text: Text, params: types.PrepareRenameParams
) -> types.PrepareRenamePlaceholder | None:
    """Return the range and current name of the tag, heading or note that a rename at a position would
    affect."""
    wanted = await _at(session, spot, text, params.position)
    return None if wanted is None else types.PrepareRenamePlaceholder(text.range(wanted.place), wanted.name)


async def rename(
    session: Session, spot: Spot, text: Text, params: types.RenameParams
) -> types.WorkspaceEdit | None:
    """Return the edits in all notes that rename the tag, heading or note at a position. Raises
    VaultseekError."""
    wanted = await _at(session, spot, text, params.position)
    if wanted is None:
        raise UsageError("nothing to rename here; put the cursor on a link, a heading or a tag")
    new = " ".join(params.new_name.splitlines()).strip()
    if wanted.tag is not None:
        return await _rename_tag(session, spot, wanted.tag, new)
    if wanted.heading is not None:
        return await _rename_heading(session, spot, wanted, new)
    return await _rename_note(session, spot, wanted.path, file_name(checked_name(new), wanted.path))


async def will_rename(session: Session, params: types.RenameFilesParams) -> types.WorkspaceEdit | None:
    """Return the edits that update links to files and folders that the editor is about to move."""
    moves: dict[str, list[JSON]] = {}
    spots: dict[str, Spot] = {}
    for file in params.files:
        old, new = await session.spot(file.old_uri), path_of(file.new_uri)
        if old is None or new is None or not new.startswith(f"{old.shown}/"):
            continue
        spots[old.root] = old
        moves.setdefault(old.root, []).append({"old": old.path, "new": new[len(old.shown) + 1 :]})
    if len(moves) != 1:  # an edit covers one vault; files of several vaults are never moved together
        return None
    ((root, pairs),) = moves.items()
    edits = await _edits_of_moves(session, spots[root], pairs)
    return workspace_edit(session, spots[root], edits) if edits else None


async def _at(session: Session, spot: Spot, text: Text, position: types.Position) -> Renamed | None:
    line, column = text.place(position)
    if tag := tag_at(text.note, line, column):
        return Renamed(tag.place, tag.tag, spot.path, tag=tag.tag)
    if link := link_at(text.note, line, column):
        return await _of_link(session, spot, text, link, column)
    if heading := heading_at(text.note, line):
        place = heading_place(text.note, heading)
        return Renamed(place, heading.text, spot.path, heading=heading)
    return None


async def _of_link(session: Session, spot: Spot, text: Text, link: Link, column: int) -> Renamed | None:
    """Return the note to which a link leads, or the heading if the cursor is on the link's fragment."""
    (target,) = await targets(session, spot, [link])
    if target.path is None:
        (target,) = await targets(session, spot, [link], wait=True)
    if target.path is None or link.place is None:
        return None
    written = link.written if link.written and link.written.line == link.place.line else link.place
    raw = text.line(written.line)[written.start : written.end]
    fragment = written.start + raw.find("#")
    other = session.text_of(spot, target.path)
    if link.heading and "#" in raw and column > fragment and other:
        heading = other.anchors.heading(link.heading)
        if heading is None:
            return None
        end = fragment + 1 + len(raw[raw.find("#") + 1 :].partition("|")[0])
        return Renamed(Place(written.line, fragment + 1, end), heading.text, target.path, heading=heading)
    end = min((at for at in (raw.find("#"), raw.find("|"), len(raw)) if at >= 0), default=len(raw))
    place = Place(written.line, written.start, written.start + end)
    return Renamed(place, file_stem(target.path), target.path)


async def _rename_note(session: Session, spot: Spot, old: str, new: str) -> types.WorkspaceEdit | None:
    if old == new:
        return None
    if not can_do(session, types.ResourceOperationKind.Rename):
        raise UsageError("this editor cannot rename files for a language server; rename the file yourself")
    if session.text_of(spot, new) is not None and old.casefold() != new.casefold():
        raise UsageError(f"a note already exists at {new}; choose another name")
    edits = await _edits_of_moves(session, spot, [{"old": old, "new": new}])
    operation = types.RenameFile(
        old_uri=spot.uri(old), new_uri=spot.uri(new), options=types.RenameFileOptions(overwrite=False)
    )
    return workspace_edit(session, spot, edits, [operation])


async def _edits_of_moves(session: Session, spot: Spot, moves: Sequence[JSON]) -> list[Edit]:
    """Return the edits for moved notes. For notes with unsaved changes, edits are computed from the editor's
    text."""
    changed = await session.changed_texts(spot.root)
    edits = await proposed_edits(session, spot, changed, moves=list(moves))
    for path, text in changed.items():
        links = [as_written(link, text.lines) for link in text.note.links]
        by_place: dict[Place | None, Edit | None] = {}
        for target in await targets(session, spot.beside(path), links, moves=moves):
            link, moved = target.link, target.answer.get("moved")
            if moved is not None:
                by_place[link.written] = link_edit(path, link, link.written, moved, text.lines)
        edits += filter(None, by_place.values())
        if None in by_place.values():
            warn_of_left(session, [path])
    return edits


async def _rename_heading(session: Session, spot: Spot, wanted: Renamed, new: str) -> types.WorkspaceEdit:
    heading = wanted.heading
    own = session.text_of(spot, wanted.path)
    if heading is None or own is None:
        raise NotFound("the heading no longer exists; put the cursor on a heading")
    texts = await session.changed_texts(spot.root) | {wanted.path: own}
    at = own.note.headings.index(heading)
    edits = [heading_edit(own.note, at, new)]
    if own.anchors.heading(heading.text) == heading:
        with suppress(NotFound):  # the note is not saved yet, so no note links to the heading
            asked = {"note": wanted.path, "heading": heading.text, "to": new}
            edits += await proposed_edits(session, spot, texts, **asked)
    for path, text in texts.items():
        links = [link for link in text.note.links if link.heading]
        found = await targets(session, spot.beside(path), links)
        leading = {target.link.place for target in found if target.path == wanted.path}
        edits += heading_links(text.note, wanted.path, own.anchors, {at: new}, leading=leading)
    distinct = {(edit.path, edit.place): edit for edit in edits}
    return workspace_edit(session, spot, distinct.values())


async def _rename_tag(session: Session, spot: Spot, old: str, new: str) -> types.WorkspaceEdit:
    changed = await session.changed_texts(spot.root)
    edits = await proposed_edits(session, spot, changed, tag=old, to=new)
    new = new.lstrip("#").strip("/")
    for text in changed.values():
        edits += tag_edits(text.note, old, new)
    return workspace_edit(session, spot, edits)
