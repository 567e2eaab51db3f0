"""Features for navigation: definition, references, document links and hover."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from lsprotocol import types

from vaultseek.base.model import JSON, Heading, Link, Place
from vaultseek.base.text import count, fold
from vaultseek.content.kinds import file_type, is_markdown
from vaultseek.core.notes.anchors import block_lines, tag_places
from vaultseek.doors.lsp.cursor import block_at, heading_at, link_at, tag_at
from vaultseek.doors.lsp.documents import Text, start_of_line
from vaultseek.doors.lsp.edits import escaped, harmless, one_line, visible, without_frontmatter
from vaultseek.doors.lsp.labels import Label, definitions_and_uses, label_at
from vaultseek.doors.lsp.session import Session, Spot
from vaultseek.doors.lsp.targets import Target, targets
from vaultseek.errors import VaultseekError

REFERENCES = 1000
"""Maximum number of links in a list of references."""
TAGGED_NOTES = 200
HOVER_LINES = 30
HOVER_LIST = 5
SIMILAR_MS = 400
"""Maximum milliseconds that a hover waits for similar notes."""


async def definition(
    session: Session, spot: Spot, text: Text, params: types.DefinitionParams
) -> list[types.Location] | None:
    """Return the target of the link at a position or, for a label, the label's definitions."""
    link = link_at(text.note, *text.place(params.position))
    if link is None:
        label = label_at(text, *text.place(params.position))
        defined, _ = definitions_and_uses(text, label) if label else ((), ())
        return [_own_location(params.text_document.uri, text, each) for each in defined] or None
    (target,) = await targets(session, spot, [link])
    return None if target.path is None else [_location(session, spot, target.path, target.line)]


async def document_links(
    session: Session, spot: Spot, text: Text, params: types.DocumentLinkParams
) -> list[types.DocumentLink]:
    """Return the links in a note whose targets exist."""
    links = [link for link in text.note.links if link.place]
    return [
        types.DocumentLink(
            text.range(target.link.place),
            spot.uri(target.path) + (f"#L{target.line}" if target.line else ""),
            target.path,
        )
        for target in await targets(session, spot, links)
        if target.path is not None and target.link.place is not None
    ]


async def references(
    session: Session, spot: Spot, text: Text, params: types.ReferenceParams
) -> list[types.Location]:
    """Return the links to the link target, label, heading or tag at a position; elsewhere, return the links
    to the note."""
    line, column = text.place(params.position)
    if tag := tag_at(text.note, line, column):
        return await _tagged(session, spot, tag.tag)
    if label := label_at(text, line, column):
        defined, used = definitions_and_uses(text, label)
        wanted_labels = [*defined, *used] if params.context.include_declaration else used
        return [_own_location(params.text_document.uri, text, each) for each in wanted_labels]
    path, heading = spot.path, heading_at(text.note, line)
    own_block = block_at(text.note, line)
    block = own_block.id if own_block else None
    if link := link_at(text.note, line, column):
        (target,) = await targets(session, spot, [link])
        if target.path is None:
            return []
        path, block = target.path, link.block
        other = session.text_of(spot, path)
        heading = other.anchors.heading(link.heading) if link.heading and other else None
    elif heading is not None and heading.level == 1 and heading is text.note.headings[0]:
        heading = None  # the heading is the note's title, so all links to the note count
    wanted = _fragments(session, spot, path, heading, block)
    locations = await _links_to(session, spot, path, wanted)
    locations += await _links_of_texts(session, spot, path, wanted, part=bool(heading or block))
    locations.sort(key=lambda each: (each.uri, each.range.start.line, each.range.start.character))
    if params.context.include_declaration:
        line_of_own = heading.line if heading else own_block.line if own_block and path == spot.path else None
        locations.insert(0, _location(session, spot, path, line_of_own))
    return locations


async def hover(session: Session, spot: Spot, text: Text, params: types.HoverParams) -> types.Hover | None:
    """Return the text to show at a position: for a link, the target with backlinks and similar notes; for a
    tag, its number of notes; for a label, the definition."""
    line, column = text.place(params.position)
    if link := link_at(text.note, line, column):
        return await _hover_link(session, spot, text, link)
    form = _form(session)
    if tag := tag_at(text.note, line, column):
        answer = await session.ask("complete", spot.root, kind="tag", text=tag.tag, limit=5)
        counts = (item["count"] for item in answer["items"] if item["text"].casefold() == tag.tag.casefold())
        known = next(counts, 0)
        body = f"{form.bold}{form.words(f'#{tag.tag}')}{form.bold} · {count(known, 'note')}"
        return types.Hover(form.contents(body), text.range(tag.place))
    if label := label_at(text, line, column):
        defined, _ = definitions_and_uses(text, label)
        spans = [block_lines(text.note, each.place.line) for each in defined[:1]]
        body = "\n".join(line for first, last in spans for line in text.lines[first - 1 : last])
        shown = form.passage(body) or form.words(label.message)
        return types.Hover(form.contents(shown), text.range(label.place))
    return None


async def backlinks(session: Session, spot: Spot, path: str) -> list[JSON]:
    """Return the links from other notes to the note at ``path``; empty if that note is not indexed yet."""
    with suppress(VaultseekError):
        answer = await session.ask("links/backlinks", spot.root, note=path, limit=REFERENCES)
        links: list[JSON] = answer["links"]
        return links
    return []


def _location(session: Session, spot: Spot, path: str, line: int | None) -> types.Location:
    text = session.text_of(spot, path) if line else None
    return types.Location(spot.uri(path), text.whole_line(line) if text and line else start_of_line(1))


def _own_location(uri: str, text: Text, label: Label) -> types.Location:
    return types.Location(uri, text.range(label.place))


Wanted = Callable[[str | None, str | None], bool]
"""Function that returns True if a link with this heading and block id is wanted."""


def _fragments(session: Session, spot: Spot, path: str, heading: Heading | None, block: str | None) -> Wanted:
    target = session.text_of(spot, path)

    def wanted(name: str | None, id: str | None) -> bool:
        if block is not None:
            return id is not None and fold(id) == fold(block)
        if heading is None:
            return True
        return name is not None and target is not None and target.anchors.heading(name) == heading

    return wanted


async def _links_to(session: Session, spot: Spot, path: str, wanted: Wanted) -> list[types.Location]:
    """Return the locations of links to a note, or to a part of it, in notes that are not open."""
    locations = []
    texts: dict[str, Text | None] = {}
    for link in await backlinks(session, spot, path):
        source = link["path"]
        if not wanted(link["heading"], link["block"]) or session.is_open(spot.uri(source)):
            continue
        if source not in texts:
            texts[source] = session.text_of(spot, source)
        text = texts[source]
        if text is not None:
            locations.append(types.Location(spot.uri(source), text.range(_place(link, text))))
    return locations


async def _links_of_texts(
    session: Session, spot: Spot, path: str, wanted: Wanted, *, part: bool
) -> list[types.Location]:
    """Return the locations of links to a note, or to a part of it, in open notes; for a part, also in the
    note itself."""
    texts = await session.open_texts(spot.root)
    own = texts.pop(path, None)
    if part and (text := own[1] if own else session.text_of(spot, path)):
        texts[path] = spot.uri(path), text
    locations = []
    for source, (uri, text) in texts.items():
        links = [link for link in text.note.links if link.place and wanted(link.heading, link.block)]
        leading = await targets(session, spot.beside(source), links)
        for target in leading:
            if target.path == path and target.link.place:
                locations.append(types.Location(uri, text.range(target.link.place)))
    return locations


def _place(link: JSON, text: Text) -> Place:
    line = int(link["line"])
    if link.get("column") is None:
        return Place(line, 0, len(text.line(line)))
    return Place(line, link["column"] - 1, link["end_column"] - 1)


async def _tagged(session: Session, spot: Spot, tag: str) -> list[types.Location]:
    answer = await session.ask(
        "search", spot.root, query="", filters={"tag": tag}, mode="keyword", limit=TAGGED_NOTES, brief=True
    )
    locations = []
    for path in sorted(result["path"] for result in answer["results"]):
        text = session.text_of(spot, path)
        for placed in tag_places(text.note, tag) if text else ():
            locations.append(types.Location(spot.uri(path), text.range(placed.place)))  # type: ignore[union-attr]
    return locations


class _Form(NamedTuple):
    """The format of hovers in a client; ``words`` and ``passage`` convert text from a note to this format."""

    kind: types.MarkupKind
    words: Callable[[str], str]
    passage: Callable[[str], str]
    bold: str

    def contents(self, body: str) -> types.MarkupContent:
        return types.MarkupContent(self.kind, body)


def _form(session: Session) -> _Form:
    if types.MarkupKind.Markdown in (session.can("text_document.hover.content_format") or ()):
        return _Form(types.MarkupKind.Markdown, escaped, harmless, "**")
    return _Form(types.MarkupKind.PlainText, one_line, visible, "")


async def _hover_link(session: Session, spot: Spot, text: Text, link: Link) -> types.Hover | None:
    form = _form(session)
    (target,) = await targets(session, spot, [link], similar=True)
    at = text.range(link.place) if link.place else None
    if target.path is None:
        similar = ", ".join(form.words(item["text"]) for item in target.answer.get("similar") or ())
        more = f"\n\nNearest: {similar}" if similar else ""
        return types.Hover(form.contents(form.words(target.message or "") + more), at)
    if not is_markdown(target.path):
        picture = file_type(target.path) == "image" and form.kind == types.MarkupKind.Markdown
        shown = f"![]({spot.uri(target.path)})" if picture else form.words(target.path)
        return types.Hover(form.contents(shown), at)
    links, like = await asyncio.gather(
        backlinks(session, spot, target.path), _similar(session, spot, target.path)
    )
    excerpt = _excerpt(session, spot, target)
    title = form.words(target.title or target.path)
    about = [f"{form.bold}{title}{form.bold} · {form.words(target.path)}"]
    if target.problem:
        about.append(form.words(target.message or ""))
    about.append(form.passage(excerpt))
    about.append("---")
    about.append(_backlinks_line(links, form))
    if like:
        about.append("Similar: " + ", ".join(form.words(title) for title in like))
    return types.Hover(form.contents("\n\n".join(filter(None, about))), at)


def _excerpt(session: Session, spot: Spot, target: Target) -> str:
    text = session.text_of(spot, target.path or "")
    if text is None:
        return ""
    if target.link.block and target.line:
        first, last = block_lines(text.note, target.line)
        return "\n".join(text.lines[first - 1 : last]).strip()
    if target.line:
        lines = text.lines[target.line - 1 : target.line - 1 + HOVER_LINES]
        own = [heading.line for heading in text.note.headings if heading.line > target.line]
        if heading_at(text.note, target.line) and own:
            lines = lines[: own[0] - target.line]
        return "\n".join(lines).strip()
    body = without_frontmatter("\n".join(text.lines)).split("\n")
    return "\n".join(body[:HOVER_LINES]).strip()


def _backlinks_line(links: Sequence[JSON], form: _Form) -> str:
    titles = list(dict.fromkeys(str(link["title"]) for link in links))
    if not titles:
        return "No backlinks"
    more = f" and {len(titles) - HOVER_LIST} more" if len(titles) > HOVER_LIST else ""
    names = ", ".join(form.words(title) for title in titles[:HOVER_LIST])
    return f"{count(len(links), 'backlink')}: {names}{more}"


async def _similar(session: Session, spot: Spot, path: str) -> list[str]:
    with suppress(VaultseekError):
        answer = await session.ask("note/related", spot.root, note=path, limit=3, deadline_ms=SIMILAR_MS)
        return [str(result["title"]) for result in answer["results"]]
    return []
