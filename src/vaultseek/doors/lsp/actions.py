"""Code actions: create a missing note, repair or insert a link, link a mention, show related notes."""

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any

from lsprotocol import types

from vaultseek.base.model import JSON, Link, Place
from vaultseek.base.text import fold, printable
from vaultseek.content.kinds import is_markdown
from vaultseek.content.markdown.spelling import destination, linkable_heading, rewritten, with_fragment
from vaultseek.core.notes.name_mentions import prose
from vaultseek.core.notes.rename import in_brackets, quote_before
from vaultseek.doors.lsp.blocks import edit_of_id
from vaultseek.doors.lsp.cursor import in_table
from vaultseek.doors.lsp.documents import Text
from vaultseek.doors.lsp.edits import can_do, replacing
from vaultseek.doors.lsp.guard import Change, Guard, prose_lines
from vaultseek.doors.lsp.missing import MISSING, insertions
from vaultseek.doors.lsp.session import Session, Spot
from vaultseek.doors.lsp.targets import Target, targets

PARTS_OFFERED = 3
"""Maximum number of headings or blocks of a linked note that are offered."""
MENTIONS_OFFERED = 20
"""Maximum number of mentions offered for a selection."""
LINES_READ = 20
"""Maximum number of lines of a selection that are searched for mentions."""
RELATED = "vaultseek.related"


async def code_actions(
    session: Session, spot: Spot, text: Text, params: types.CodeActionParams
) -> list[types.CodeAction] | None:
    """Return the code actions for a range of a document."""
    if not is_markdown(spot.path):
        return None
    uri = params.text_document.uri
    first, _ = text.place(params.range.start)
    last, _ = text.place(params.range.end)
    wanted = params.context.only
    actions: list[types.CodeAction] = []
    if _is_wanted(types.CodeActionKind.QuickFix, wanted):
        actions += await _repairs(session, uri, spot, text, params.range)
    if _is_wanted(types.CodeActionKind.RefactorRewrite, wanted) and last - first < LINES_READ:
        actions += await _mentions(session, uri, spot, text, params.range)
        # Insertions need the model, and editors request actions whenever the cursor moves.
        if params.context.trigger_kind == types.CodeActionTriggerKind.Invoked:
            actions += await insertions(session, spot, uri, text, params.range)
    if _is_wanted(types.CodeActionKind.Source, wanted):
        for title, name in (("Related notes", RELATED), ("Missing links", MISSING)):
            command = types.Command(title, name, arguments=[uri])
            actions.append(types.CodeAction(title, kind=types.CodeActionKind.Source, command=command))
    return actions


async def resolve(session: Session, action: types.CodeAction) -> types.CodeAction:
    """Add to a code action the edit that links every mention of a note in a document."""
    data = action.data
    if isinstance(data, dict) and action.edit is None:
        uri = str(data["uri"])
        if (document := await session.document(uri)) is not None:
            spot, text = document
            mentions = [
                change
                for first, lines in _parts(text)
                for _, note, change in await _links_of_mentions(session, spot, text, first, lines)
                if note["path"] == data["path"]
            ]
            action.edit = replacing(session, uri, text, Guard(text).adding_links(mentions))
    return action


def _is_wanted(kind: types.CodeActionKind, only: Sequence[Any] | None) -> bool:
    value = str(kind.value)
    return not only or any(f"{value}.".startswith(f"{getattr(each, 'value', each)}.") for each in only)


# -- broken links


async def _repairs(
    session: Session, uri: str, spot: Spot, text: Text, at: types.Range
) -> list[types.CodeAction]:
    start, end = text.place(at.start), text.place(at.end)
    links = [
        link
        for link in text.note.links
        if (place := link.place) and (place.line, place.start) <= end and (place.line, place.end) >= start
    ]
    actions: list[types.CodeAction] = []
    for target in await targets(session, spot, links[:LINES_READ], similar=True) if links else ():
        if target.problem == "missing_note":
            actions += _create(session, spot, target)
        # The id may have been proposed for this link, but not yet inserted into its block.
        id = target.link.block if target.path and target.problem == "missing_block" else None
        if id and (made := edit_of_id(session, spot.beside(target.path or ""), id)):
            title, edit = made
            kind = types.CodeActionKind.QuickFix
            actions.append(types.CodeAction(title, kind=kind, edit=edit, is_preferred=True))
        better = (_change(session, uri, text, target.link, *new) for new in _better(session, spot, target))
        actions += filter(None, better)
    return actions


def _create(session: Session, spot: Spot, target: Target) -> Iterator[types.CodeAction]:
    path = target.answer.get("create")
    if path and can_do(session, types.ResourceOperationKind.Create):
        operation = types.CreateFile(
            uri=spot.uri(path), options=types.CreateFileOptions(ignore_if_exists=True)
        )
        yield types.CodeAction(
            f"Create {printable(path)}",
            kind=types.CodeActionKind.QuickFix,
            edit=types.WorkspaceEdit(document_changes=[operation]),
        )


def _better(session: Session, spot: Spot, target: Target) -> Iterator[tuple[str, str, bool]]:
    """Yield replacements for a broken link: a title, the new text, and True if it replaces only the
    fragment."""
    link, answer = target.link, target.answer
    if target.problem == "missing_note":
        offered: set[str] = set()
        for item in answer.get("similar") or ():
            if item["link"] in offered:
                continue
            offered.add(item["link"])
            yield f"Change to {printable(item['text'])}", item["link"], False
    elif target.problem == "ambiguous":
        for path in (target.path, *answer["candidates"]):
            bare = str(path).removesuffix(".md")
            full = bare if "/" in bare else f"/{bare}"
            yield f"Point to {printable(path or '')}", full, False
    elif target.path and (other := session.text_of(spot, target.path)):
        parts = [f"^{block.id}" for block in other.note.blocks]
        if target.problem == "missing_heading":
            parts = [heading.shown for heading in other.note.headings]
        elif target.problem != "missing_block":
            return
        by_fold = {fold(part): part for part in parts}
        wanted = link.heading or f"^{link.block}"
        for name in get_close_matches(fold(wanted), by_fold, PARTS_OFFERED, 0.3):
            part = by_fold[name]
            fragment = linkable_heading(part) if link.heading else part
            yield f"Change to #{printable(part)}", fragment, True


def _change(
    session: Session, uri: str, text: Text, link: Link, title: str, target: str, is_fragment: bool
) -> types.CodeAction | None:
    written = link.written or link.place or Place(link.line, 0, 0)
    old = text.line(written.line)[written.start : written.end]
    markdown = not in_brackets(written, text.lines)
    change = with_fragment if is_fragment else rewritten
    if markdown and not is_fragment and not is_markdown(target) and is_markdown(old.split("#")[0]):
        target += ".md"
    new = change(old, target, markdown=markdown, quote=quote_before(link, text.lines))
    changed = Change(written, new)
    if not Guard(text).changes_link(changed):
        return None
    edits = replacing(session, uri, text, [changed])
    return types.CodeAction(title, kind=types.CodeActionKind.QuickFix, edit=edits)


# -- mentions


async def _mentions(
    session: Session, uri: str, spot: Spot, text: Text, at: types.Range
) -> list[types.CodeAction]:
    first, start = text.place(at.start)
    last, end = text.place(at.end)
    lines = prose("\n".join(prose_lines(text))).split("\n")[first - 1 : last]
    if not any(line.strip(" \t\0") for line in lines):
        return []
    resolvable = "edit" in (session.can("text_document.code_action.resolve_support.properties") or ())
    actions: list[types.CodeAction] = []
    guard = Guard(text)
    for name, note, change in await _links_of_mentions(session, spot, text, first, lines):
        place = change.place
        if (place.line, place.end) < (first, start) or (place.line, place.start) > (last, end):
            continue
        if len(actions) >= 2 * MENTIONS_OFFERED or not guard.adding_links([change]):
            continue
        one = types.CodeAction(
            f"Link {printable(name)} to {printable(note['path'])}",
            kind=types.CodeActionKind.RefactorRewrite,
            edit=replacing(session, uri, text, [change]),
        )
        every = types.CodeAction(
            f"Link every mention of {printable(note['title'])} in this note",
            kind=types.CodeActionKind.RefactorRewrite,
            data={"uri": uri, "path": note["path"]},
        )
        actions += [one, every if resolvable else await resolve(session, every)]
    return actions


async def _links_of_mentions(
    session: Session, spot: Spot, text: Text, first: int, lines: Sequence[str]
) -> list[tuple[str, JSON, Change]]:
    """Return each mention in ``lines``, which begin at line ``first``: its name, the note, and the change
    that turns it into a link."""
    answer = await session.ask("links/mentioned", spot.root, source=spot.path, lines=list(lines))
    found = []
    for mention in answer["mentions"]:
        name = str(mention["name"])
        place = Place(first + mention["line"] - 1, mention["column"] - 1, mention["end_column"] - 1)
        for note in mention["notes"]:
            link = _as_link(text, place.line, name, note, answer["markdown"])
            found.append((name, note, Change(place, link)))
    return found


PART_CHARS = 40_000
"""Maximum number of characters in one request for mentions."""


def _parts(text: Text) -> Iterable[tuple[int, list[str]]]:
    """Yield the prose of a note in parts: the number of a part's first line, and the part's lines."""
    first, size = 1, 0
    lines: list[str] = []
    for number, line in enumerate(prose("\n".join(prose_lines(text))).split("\n"), 1):
        if lines and size + len(line) > PART_CHARS:
            yield first, lines
            first, lines, size = number, [], 0
        lines.append(line)
        size += len(line) + 1
    yield first, lines


def _as_link(text: Text, line: int, name: str, note: JSON, markdown: bool) -> str:
    link = str(note["link"])
    if markdown:
        return f"[{name}]({destination(link)})"
    bar = r"\|" if in_table(text.lines, line) else "|"
    return f"[[{link}]]" if link == name else f"[[{link}{bar}{name}]]"
