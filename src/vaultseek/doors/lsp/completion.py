"""Completion: notes, files, headings, blocks, tags, properties and their values."""

import asyncio
import posixpath
import re
from dataclasses import replace
from itertools import islice
from pathlib import Path
from urllib.parse import unquote

from lsprotocol import types

from vaultseek.base.model import JSON, Link, Place
from vaultseek.base.text import count, fold, remove_hidden
from vaultseek.content.files.obsidian import has_obsidian
from vaultseek.content.kinds import is_markdown
from vaultseek.content.markdown.links import in_quotes
from vaultseek.content.markdown.resolve import NOTE_SUFFIX
from vaultseek.content.markdown.spelling import destination, linkable_heading, new_target
from vaultseek.core.notes.anchors import Anchors, block_text
from vaultseek.core.notes.completer import Completer, Entry
from vaultseek.core.notes.new_links import manner_of
from vaultseek.doors.lsp.blocks import INSERT_ID, blocks_without_id, insertion
from vaultseek.doors.lsp.cursor import Typing, typing_at
from vaultseek.doors.lsp.documents import Text
from vaultseek.doors.lsp.edits import markup
from vaultseek.doors.lsp.labels import CALLOUTS, labels
from vaultseek.doors.lsp.session import DRAFT, Session, Spot
from vaultseek.doors.lsp.targets import names_of, targets

COMPLETED = 50
"""Maximum number of items in one answer; each further key press sends a new request."""
PREVIEW_LINES = 24
TRIGGERS = ("[", "#", "^", "(", "/", "!", ":", " ", "-")

_KINDS = {
    "note": types.CompletionItemKind.File,
    "file": types.CompletionItemKind.File,
    "heading": types.CompletionItemKind.Reference,
    "block": types.CompletionItemKind.Reference,
    "tag": types.CompletionItemKind.Keyword,
    "property": types.CompletionItemKind.Property,
    "value": types.CompletionItemKind.Value,
}


async def complete(session: Session, params: types.CompletionParams) -> types.CompletionList | None:
    """Return the completions at the cursor."""
    uri = params.text_document.uri
    spot = await session.spot(uri) or await session.spot_of_draft(uri)
    text = session.text(uri, spot)
    if text is None:
        return None
    line, column = text.place(params.position)
    typing = typing_at(text, line, column)
    context = params.context
    is_blank = context is not None and context.trigger_character in (" ", "-", ":")
    if typing is None or (is_blank and typing.kind not in ("value", "tag")):
        return None
    if spot is None and typing.note != "":
        return None  # a note outside all vaults can link only to its own headings and blocks
    spot = spot or Spot("", DRAFT, "")
    items = await _items(session, spot, text, typing, line)
    start, end = typing.start, typing.end
    if typing.form == "wikilink" and _wants_markdown(spot, text, line):
        # As in Obsidian, the typed brackets are converted to a Markdown link.
        start -= len("![[" if typing.embeds else "[[")
        end += 0 if typing.closing else len(f"{typing.rest}]]")
        typing = replace(typing, closing="", as_markdown=True)
    edit = text.range(Place(line, start, end))
    shown = text.line(line)[start:column]
    made = [item for each in items if (item := _item(each, typing, edit, spot))]
    if typing.kind == "heading" and typing.note is None:
        # If several notes contain the same heading, a link by its name leads to the first note.
        first: dict[tuple[str | None, str], types.CompletionItem] = {}
        for item in made:
            first.setdefault((item.detail, item.label), item)
        made = list(first.values())
    for number, item in enumerate(made):
        # Keep the daemon's order and its tolerance of typing errors, because the client filters by the typed
        # text.
        item.sort_text = f"{number:03}"
        item.filter_text = f"{shown} {item.label}" if shown else item.label
    return types.CompletionList(is_incomplete=True, items=made)


async def resolve(session: Session, item: types.CompletionItem) -> types.CompletionItem:
    """Add a preview of the note, heading or block to a completion item."""
    data = item.data
    if not isinstance(data, dict) or not is_markdown(str(data.get("path", ""))):
        return item
    first = max(1, int(data.get("line") or 1))
    answer = await session.ask(
        "note/get", data["root"], note=data["path"], start_line=first, end_line=first + PREVIEW_LINES
    )
    item.documentation = markup(
        session, str(answer["text"]), "completion.completion_item.documentation_format"
    )
    return item


def _wants_markdown(spot: Spot, text: Text, line: int) -> bool:
    """Return True if a link at ``line`` should be a Markdown link; in properties, Obsidian supports only
    wikilinks."""
    return bool(spot.root) and line >= text.note.body_line and manner_of(Path(spot.root)).links.markdown


async def _items(session: Session, spot: Spot, text: Text, typing: Typing, line: int) -> list[JSON]:
    own = typing.note == ""
    if typing.kind == "heading" and own:
        return _headings(text, typing.typed)
    if typing.kind == "block" and own:
        return _blocks(session, text, typing.typed, line=line)
    if typing.kind == "label":
        return _labels(text, typing.typed)
    if typing.kind == "callout":
        return [{"text": kind} for kind in CALLOUTS if fold(typing.typed) in kind]
    common = {"text": typing.typed[:500], "limit": COMPLETED}
    if typing.kind == "note":
        return await _notes(session, spot, typing, common)
    more = {"property": typing.property} if typing.property else {}
    if typing.kind in ("heading", "block"):
        if typing.note is not None:
            return await _parts(session, spot, typing)
        more = {"source": spot.path}
    answer = await session.ask("complete", spot.root, kind=typing.kind, **common, **more)
    return list(answer["items"])


async def _notes(session: Session, spot: Spot, typing: Typing, common: JSON) -> list[JSON]:
    """Return completions for notes and, in embeds and Markdown links, also for other files."""
    folder = posixpath.dirname(spot.path)
    dotted = typing.form == "markdown" and typing.typed.startswith(("./", "../"))
    if dotted:
        path = posixpath.normpath(posixpath.join(folder, typing.typed)).removeprefix("../")
        common = {
            **common,
            "text": (f"{path}/".removeprefix("./") if typing.typed.endswith("/") else path)[:500],
        }
    common["source"] = spot.path
    wanted = [
        session.ask(
            "complete",
            spot.root,
            kind="note",
            missing=typing.form == "wikilink" and not typing.embeds,
            **common,
        )
    ]
    if typing.form == "markdown" or typing.embeds:
        wanted.append(session.ask("complete", spot.root, kind="file", **common))
    notes, *files = await asyncio.gather(*wanted)
    found = [item for answer in files for item in answer["items"]]
    items = [*found, *notes["items"]] if typing.embeds else [*notes["items"], *found]
    unsaved = await _unsaved(session, spot, typing.typed, items)
    written = {item["path"] for item in unsaved}
    items = [item for item in items if item["match"] != "missing" or item["path"] not in written]
    items += unsaved
    ranks = {"prefix": 0, "word": 1, "inside": 2, "missing": 2, "fuzzy": 3}
    if not typing.embeds or typing.typed:
        items.sort(key=lambda item: ranks[item["match"]])
    if dotted or (typing.form == "markdown" and not has_obsidian(Path(spot.root))):
        dots = typing.typed.startswith("./")
        items = [{**item, "link": _from_folder(folder, item["path"], dots=dots)} for item in items]
    return items[:COMPLETED]


async def _unsaved(session: Session, spot: Spot, typed: str, items: list[JSON]) -> list[JSON]:
    """Return completions for open notes that are not on disk yet; their links match none of ``items``."""
    texts = await session.unsaved(spot.root)
    names = names_of(texts)
    for item in items:
        names.add(item["path"])
    style = manner_of(Path(spot.root)).links
    return [
        {"text": name, "path": path, "match": "inside", "link": new_target(path, spot.path, names, style)}
        for path in texts
        if path != spot.path
        and fold(typed) in fold(name := posixpath.basename(path).removesuffix(NOTE_SUFFIX))
    ]


def _from_folder(folder: str, path: str, *, dots: bool) -> str:
    relative = posixpath.relpath(path, folder or ".")
    return f"./{relative}" if dots and not relative.startswith("../") else relative


async def _parts(session: Session, spot: Spot, typing: Typing) -> list[JSON]:
    """Return the headings or blocks of the linked note, from the editor's text if the note is open."""
    target = unquote(typing.note or "") if typing.form == "markdown" else typing.note or ""
    link = Link("wikilink", target.strip(), None, None, None, 1)
    (found,) = await targets(session, spot, [link])
    path = found.path
    text = session.text_of(spot, path) if path and is_markdown(path) else None
    if path is None or text is None:
        return []
    if typing.kind == "block":
        return _blocks(session, text, typing.typed, uri=spot.uri(path))
    return _headings(text, typing.typed)


def _headings(text: Text, written: str) -> list[JSON]:
    """Return the headings of a note below the headings already ``written``, each with the ``part`` of a link
    that leads to it."""
    headings = text.note.headings
    parents, _, typed = written.rpartition("#")
    chain = text.anchors.nested(parents.split("#")) if parents else None
    if chain is None:  # as in ``C# notes``
        parents, typed = "", written
    first, end = (chain[-1] + 1, text.anchors.section_end(chain[-1])) if chain else (0, len(headings))
    entries = (
        Entry(shown, -heading.line, {"line": heading.line, "level": heading.level, "at": at})
        for at, heading in enumerate(headings[first:end], first)
        if (shown := heading.shown)
    )
    items = []
    for match in Completer(entries).complete(typed, COMPLETED):
        entry = match.entry
        part = _part_to(int(entry.more["at"]), text.anchors, first, parents)
        if part is not None:
            nested = part.removeprefix(f"{parents}#") if parents else part
            shown = nested if "#" in nested else entry.text
            items.append({"text": shown, "part": part, "path": text.path, **entry.more})
    return items


def _part_to(at: int, anchors: Anchors, first: int, parents: str) -> str | None:
    """Return the part after the ``#`` in a link to the heading with index ``at``, or None if no part leads to
    it.

    The part begins with ``parents``, whose first subheading has the index ``first``, and includes further
    parent headings if necessary.
    """
    names: list[str] = []
    headings = anchors.headings
    level = headings[at].level + 1
    for above in range(at, first - 1, -1):
        if headings[above].level < level:
            level = headings[above].level
            names.insert(0, linkable_heading(headings[above].shown))
            part = "#".join([parents, *names] if parents else names)
            if anchors.heading(part) is headings[at]:
                return part
    return None


def _labels(text: Text, typed: str) -> list[JSON]:
    found = {
        label.key: text.line(label.place.line)[label.place.end + 2 :].strip()
        for label in labels(text)
        if label.defines and label.key.startswith("^") == typed.startswith("^")
    }
    typed = fold(typed).removeprefix("^")
    return [{"text": key, "of": of} for key, of in found.items() if typed in fold(f"{key} {of}")]


def _blocks(session: Session, text: Text, typed: str, *, line: int = 0, uri: str = "") -> list[JSON]:
    """Return the blocks that have an id, then the blocks for which a new id is proposed.

    ``uri`` is the URI of the note if it is not the open note. No id is proposed for the block in ``line``,
    where a link is being typed.
    """
    items: list[JSON] = [
        {
            "text": block.id,
            "line": block.line,
            "of": block_text(text.lines, block.line, block.id),
            "path": text.path,
        }
        for block in text.note.blocks
    ]
    if not uri or session.can("workspace.apply_edit"):
        items += (
            {
                "text": block.words,
                "id": block.id,
                "line": block.line,
                "of": f"new id ^{block.id}",
                "path": text.path,
                "insert": types.Command("Insert the id", INSERT_ID, arguments=[uri, block.id])
                if uri
                else types.TextEdit(text.range(insertion(text, block).place), block.inserted),
            }
            for block in blocks_without_id(text)
            if not block.line <= line <= block.end_line
        )
    matching = (item for item in items if fold(typed) in fold(f"{item['text']} {item['of']}"))
    return list(islice(matching, COMPLETED))


def _item(item: JSON, typing: Typing, edit: types.Range, spot: Spot) -> types.CompletionItem | None:
    label = str(item["text"])
    if remove_hidden(label) != label or any(ord(sign) < 32 for sign in label):
        return None  # names with control characters cannot be typed, and are unsafe to insert
    made = types.CompletionItem(
        label=label,
        kind=_KINDS.get(typing.kind),
        detail=_detail(item, typing),
        text_edit=types.TextEdit(edit, _inserted(item, typing) + typing.closing),
        data={"root": spot.root, "path": item["path"], "line": item.get("line")} if "path" in item else None,
    )
    insert = item.get("insert")
    if isinstance(insert, types.TextEdit):
        made.additional_text_edits = [insert]
    made.command = insert if isinstance(insert, types.Command) else None
    if item.get("is") == "alias":
        made.label_details = types.CompletionItemLabelDetails(description=str(item["title"]))
    return made


def _detail(item: JSON, typing: Typing) -> str | None:
    if typing.kind == "heading" and "level" in item:
        where = f" {item['path']}" if typing.note is None else ""
        return "#" * int(item["level"]) + where
    if typing.kind in ("block", "label"):
        return str(item.get("of") or "") + (f" ({item['path']})" if typing.note is None else "")
    if item.get("match") == "missing":
        return f"no note yet; {count(item['count'], 'note links', 'notes link')} to it"
    if "path" in item:
        return str(item["path"])
    return None if item.get("count") is None else count(item["count"], "note")


def _inserted(item: JSON, typing: Typing) -> str:
    text = str(item["text"])
    if typing.as_markdown:
        text = _markdown_link(item, typing)
    elif typing.kind == "note":
        text = _note_target(item, typing)
    elif typing.kind in ("heading", "block"):
        text = _part_target(item, typing)
    elif typing.kind == "value" and not typing.quote and not _PLAIN.match(text):
        return '"' + in_quotes(text, '"') + '"'
    return in_quotes(text, typing.quote)


def _note_target(item: JSON, typing: Typing) -> str:
    link = str(item.get("link") or item["path"])
    if typing.form == "markdown":
        path = link if is_markdown(link) or not is_markdown(str(item["path"])) else f"{link}{NOTE_SUFFIX}"
        return destination(path)
    if str(item["path"]).endswith(NOTE_SUFFIX):
        link = link.removesuffix(NOTE_SUFFIX)  # present in vaults that use Markdown links
    name = str(item["text"])
    named = item.get("is") in ("alias", "title") and "|" not in typing.rest
    if not named or _ENDS_LINK.search(name):
        return link
    return _in_cell(f"{link}|{name}", typing)


def _in_cell(text: str, typing: Typing) -> str:
    """Escape vertical bars in text for a table cell, because they would end the cell."""
    return text.replace("|", r"\|") if typing.in_table else text


def _markdown_link(item: JSON, typing: Typing) -> str:
    sign = "!" if typing.embeds else ""
    fragment, _, alias = typing.rest.replace(r"\|", "|").partition("|")
    text = _in_cell(_BRACKETS.sub("", alias or str(item["text"])), typing)
    note = typing.note
    if note and not note.lower().endswith(NOTE_SUFFIX):
        note += NOTE_SUFFIX
    meant = replace(typing, form="markdown", note=note)
    target = _note_target(item, meant) if typing.kind == "note" else _part_target(item, meant)
    rest = f"#{destination(fragment[1:])}" if fragment else ""
    return f"{sign}[{text}]({target}{rest})"


def _part_target(item: JSON, typing: Typing) -> str:
    if typing.kind == "heading":
        part = str(item.get("part") or linkable_heading(str(item["text"])))
    else:
        part = f"^{item.get('id', item['text'])}"
    target = str(item.get("link", "")) if typing.note is None else typing.note
    if typing.form != "markdown":
        return f"{target.removesuffix(NOTE_SUFFIX) if typing.note is None else target}#{part}"
    part = "#".join(map(destination, part.split("#")))
    return f"{target if '%' in target else destination(target)}#{part}"


_ENDS_LINK = re.compile(r"\[\[|\]\]|\]\Z")
_BRACKETS = re.compile(r"[\[\]]")
_PLAIN = re.compile(r"[\w/\u0080-\U0010ffff](?:(?!: |\s#|[\[\]{},]).)*(?<![:\s])\Z")
