"""Blocks without an id. A link to a block requires an id, which is proposed here and inserted by the
editor."""

import itertools
from collections.abc import Iterator
from hashlib import sha256
from textwrap import dedent
from typing import NamedTuple

from lsprotocol import types

from vaultseek.base.model import Place
from vaultseek.base.text import fold, one_line, printable, remove_hidden
from vaultseek.content.markdown.parse import parse
from vaultseek.content.query.facts import LIST_ITEM
from vaultseek.core.notes.anchors import Blocks
from vaultseek.doors.lsp.documents import Text
from vaultseek.doors.lsp.edits import replacing
from vaultseek.doors.lsp.guard import Change, Guard, lines_in_comments
from vaultseek.doors.lsp.session import Session, Spot

INSERT_ID = "vaultseek.insertBlockId"
"""Command that makes the editor insert a block id in another note."""
ID_LETTERS = 6
WORDS_CHARS = 80
_INLINE = ("paragraph", "list_item")
"""Kinds of blocks whose id is at the end of their last line; other blocks have the id on a separate line
below."""


class Block(NamedTuple):
    """A block without an id, with the id proposed for it, its first words, its lines and the text to
    insert."""

    id: str
    words: str
    line: int
    end_line: int
    inserted: str


def blocks_without_id(text: Text) -> Iterator[Block]:
    """Yield the blocks of a note that have no id. Blocks with the same text get the same id."""
    if text.has_open_properties:
        return
    note = text.note
    blocks = Blocks(note)
    known = {line for block in note.blocks for line in (block.line, blocks.first_line(block.line))}
    ids = {fold(block.id) for block in note.blocks}
    commented = lines_in_comments(text)
    untried: dict[str, Iterator[str]] = {}
    for span in note.spans:
        if span.kind in ("heading", "list", "other") or span.start_line in known:
            continue
        last = span.end_line
        if span.kind == "list_item":
            below = (n for n in range(span.start_line + 1, last + 1) if LIST_ITEM.match(text.line(n)))
            last = next(below, last + 1) - 1
        while last > span.start_line and not text.line(last).strip():
            last -= 1
        if last in commented:
            continue
        lines = "\n".join(text.lines[span.start_line - 1 : last])
        id = next(id for id in untried.setdefault(lines, _ids(lines)) if id not in ids)
        ids.add(id)
        if span.kind == "list_item" and last > span.start_line and not _ends_in_text(lines):
            continue
        after = "\n" if text.line(last + 1).strip() else ""
        inserted = f" ^{id}" if span.kind in _INLINE else f"\n\n^{id}{after}"
        yield Block(id, one_line(remove_hidden(lines), WORDS_CHARS), span.start_line, last, inserted)


def _ends_in_text(item: str) -> bool:
    """Return False if the last line of a list item is in a code block, table or formula and cannot take an
    id."""
    return any(block.id == "id" for block in parse(f"{dedent(item)} ^id", "").blocks)


def insertion(text: Text, block: Block) -> Change:
    """Return the change that inserts a block's id in place of any blanks at the end of the block."""
    line = text.line(block.end_line)
    return Change(Place(block.end_line, len(line.rstrip()), len(line)), block.inserted)


def edit_of_id(session: Session, spot: Spot, id: str) -> tuple[str, types.WorkspaceEdit] | None:
    """Return a title and the edit that inserts ``id`` after its block in the note at ``spot``.

    Returns None if ``id`` is not proposed for any block, or if the edit is unsafe.
    """
    text = session.text(spot.uri(spot.path), spot)
    block = next((block for block in blocks_without_id(text) if block.id == fold(id)), None) if text else None
    if text is None or block is None or not Guard(text).adds_id(insertion(text, block), block.id):
        return None
    title = f"Insert ^{block.id} in {printable(spot.path)}: {block.words}"
    return title, replacing(session, spot.uri(spot.path), text, [insertion(text, block)])


def _ids(text: str) -> Iterator[str]:
    for number in itertools.count():
        yield sha256(f"{number}{text}".encode()).hexdigest()[:ID_LETTERS]
