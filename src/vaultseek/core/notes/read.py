"""One note: its properties and structure from the ledger, and its text as it is on disk now.

The text of a file that is no Markdown is that in the ledger, where all of it is. So is that of a note whose
folder is on another machine; there only the lines of its properties are missing, which are blank.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from vaultseek.base.limits import NOTE_TEXT_CHARS
from vaultseek.base.model import JSON
from vaultseek.base.text import printable
from vaultseek.content.extractors.excalidraw import is_drawing, without_drawing
from vaultseek.content.files.read import read_note
from vaultseek.content.kinds import is_markdown
from vaultseek.content.markdown.decode import decode
from vaultseek.content.markdown.parse import parse
from vaultseek.content.markdown.plain import shown_heading
from vaultseek.core.notes.anchors import block_text
from vaultseek.errors import NotFound, Unavailable
from vaultseek.store.ledger import Ledger, NoteRow


def note(row: NoteRow, ledger: Ledger, root: Path | None, start: int = 1, end: int | None = None) -> JSON:
    """Return the note with its lines ``start`` to ``end``, 1-based and inclusive, cut at ``NOTE_TEXT_CHARS``.

    Raises NotFound if the file was just deleted, Unavailable if it cannot be read.
    """
    lines = _lines(row, ledger, root)
    last = min(len(lines), end or len(lines))
    whole = "\n".join(lines[start - 1 : last])
    text = whole[:NOTE_TEXT_CHARS]
    if len(text) < len(whole):
        last = start + text.count("\n")
    return {
        **about(row),
        "aliases": list(row.aliases),
        "properties": row.properties,
        "headings": [{"level": h.level, "text": h.text, "line": h.line} for h in row.headings],
        "created": iso(row.created),
        "chunks": [
            {
                "chunk_id": c.id,
                "heading_path": [shown_heading(heading) for heading in c.heading_path],
                "start_line": c.start_line,
                "end_line": c.end_line,
                "place": c.place,
            }
            for c in ledger.chunks.by_note([row.id])[row.id]
        ],
        "lines": len(lines),
        "start_line": start,
        "end_line": max(last, start - 1),
        "text": text,
        "truncated": len(text) < len(whole),
        **({"from_index": True} if root is None else {}),
    }


def block_ids(row: NoteRow, ledger: Ledger, root: Path | None) -> list[JSON]:
    """Return the ``^ids`` of the note's blocks on disk, each with its line. Raises what ``note`` raises."""
    if not is_markdown(row.path):
        return []
    lines = _lines(row, ledger, root)
    blocks = parse("\n".join(lines), row.path).blocks
    return [
        {"id": block.id, "line": block.line, "of": block_text(lines, block.line, block.id)}
        for block in blocks
    ]


def about(row: NoteRow) -> JSON:
    """Return the fields that every list of notes has for each."""
    head = {"path": row.path, "title": row.title, "file_name": row.other_name, "kind": row.kind}
    return {**head, "tags": list(row.tags), "modified": iso(row.modified)}


def iso(seconds: float) -> str:
    """Format a Unix time as answers do: ISO 8601, in UTC, to the second."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _lines(row: NoteRow, ledger: Ledger, root: Path | None) -> list[str]:
    is_on_disk = root is not None and is_markdown(row.path)
    return lines_of(row.path, root) if root and is_on_disk else _indexed_lines(row, ledger)


def lines_of(path: str, root: Path) -> list[str]:
    """Return the lines of the note at a path. Raises what ``note`` raises."""
    file = read_note(root, path)
    if file is None:
        raise NotFound(f"{printable(path)} no longer exists; search again")
    if file.problem is not None:
        raise Unavailable(
            f"{printable(path)} cannot be read: {file.problem.message}; its name can still be searched"
        )
    text, _ = decode(file.data)
    if is_drawing(text):
        text = "\n".join(without_drawing(text))
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def _indexed_lines(row: NoteRow, ledger: Ledger) -> list[str]:
    """Return the lines of a file as they were extracted; only blank ones are in no passage."""
    lines: list[str] = []
    for chunk in ledger.chunks.by_note([row.id])[row.id]:
        text = chunk.text.split("\n")
        lines += [""] * (chunk.start_line - 1 + len(text) - len(lines))
        for number, line in enumerate(text, chunk.start_line - 1):
            lines[number] = f"{lines[number]} {line}" if lines[number] else line
    return lines
