"""Links that a note may lack. A lens counts them, a command lists them, and an action inserts them."""

import asyncio
import re
from collections.abc import Sequence

from lsprotocol import types

from vaultseek.base.model import JSON, Place
from vaultseek.base.text import count, printable
from vaultseek.content.markdown.spelling import destination
from vaultseek.doors.lsp.documents import Text
from vaultseek.doors.lsp.edits import replacing
from vaultseek.doors.lsp.guard import Change, Guard
from vaultseek.doors.lsp.session import Session, Spot
from vaultseek.errors import NotFound

MISSING = "vaultseek.missing"
SUGGESTED = 9
"""Maximum number of suggestions to request."""
LENS_SECONDS = 1.0
"""Maximum seconds that other lenses wait for the number of missing links."""
INSERTED = 3
"""Maximum number of links offered at the cursor."""


async def missing_links(session: Session, spot: Spot) -> tuple[Sequence[JSON], bool]:
    """Return the links that a note probably lacks, and True if they should be written as Markdown links."""
    try:
        answer = await session.ask("graph/suggest", spot.root, note=spot.path, limit=SUGGESTED)
    except NotFound:  # the note has never been saved
        return [], False
    return [item for item in answer["suggestions"] if item["likely"]], bool(answer["markdown"])


async def missing_lens(session: Session, spot: Spot, uri: str, where: types.Range) -> list[types.CodeLens]:
    """Return a list with one lens, which counts the links that a note may lack; empty if there are none."""
    try:
        async with asyncio.timeout(LENS_SECONDS):
            links, _ = await missing_links(session, spot)
    except TimeoutError:  # the model may still be loading, and other lenses must not wait for it
        return []
    if not links:
        return []
    command = types.Command(f"{count(len(links), 'link')} missing", MISSING, arguments=[uri])
    return [types.CodeLens(where, command)]


async def insertions(
    session: Session, spot: Spot, uri: str, text: Text, at: types.Range
) -> list[types.CodeAction]:
    """Return actions that each insert a suggested link at the cursor or after the selection."""
    line, column = text.place(at.end)
    guard = Guard(text)
    if not guard.takes_link(line, column):
        return []
    links, markdown = await missing_links(session, spot)
    actions = []
    for item in links[:INSERTED]:
        link, title = str(item["link"]), re.sub(r"([\[\]\\])", r"\\\1", item["title"])
        written = f"[{title}]({destination(link)})" if markdown else f"[[{link}]]"
        if changes := guard.adding_links([Change(Place(line, column, column), written)]):
            actions.append(
                types.CodeAction(
                    f"Insert a link to {printable(item['path'])}",
                    kind=types.CodeActionKind.RefactorRewrite,
                    edit=replacing(session, uri, text, changes),
                )
            )
    return actions
