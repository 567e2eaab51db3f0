"""One note: what is known of it, and its text by lines as it is on disk now."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from vaultseek.errors import NotFound, Unavailable
from vaultseek.index.ledger import Ledger, NoteRow
from vaultseek.limits import NOTE_TEXT_CHARS
from vaultseek.markdown.decode import decode
from vaultseek.markdown.parse import parse
from vaultseek.model import JSON
from vaultseek.text import printable
from vaultseek.vault.read import read_note


def note(row: NoteRow, ledger: Ledger, root: Path, start: int = 1, end: int | None = None) -> JSON:
    """The note and its lines ``start`` to ``end`` (from 1, both included; cut at ``NOTE_TEXT_CHARS``).

    Raises NotFound if the file has just gone, Unavailable if it cannot be read.
    """
    lines = _lines(row, root)
    last = min(len(lines), end or len(lines))
    text = "\n".join(lines[start - 1 : last])
    cut = text[:NOTE_TEXT_CHARS]
    if len(cut) < len(text):
        last = start + cut.count("\n")
    return {
        **about(row),
        "aliases": list(row.aliases),
        "properties": row.properties,
        "headings": [{"level": h.level, "text": h.text, "line": h.line} for h in row.headings],
        "created": iso(row.created),
        "chunks": [
            {
                "chunk_id": c.id,
                "heading_path": list(c.heading_path),
                "start_line": c.start_line,
                "end_line": c.end_line,
            }
            for c in ledger.chunks.by_note([row.id])[row.id]
        ],
        "lines": len(lines),
        "start_line": start,
        "end_line": max(last, start - 1),
        "text": cut,
        "truncated": len(cut) < len(text),
    }


def block_ids(row: NoteRow, root: Path) -> list[JSON]:
    """The ``^ids`` of the note's blocks as on disk now, each with its line. Raises as ``note`` does."""
    lines = _lines(row, root)
    ids = parse("\n".join(lines), row.path).blocks
    return [{"id": found.id, "line": found.line, "of": lines[found.line - 1].strip()} for found in ids]


def about(row: NoteRow) -> JSON:
    """What every list of notes says of each."""
    return {"path": row.path, "title": row.title, "tags": list(row.tags), "modified": iso(row.modified)}


def iso(seconds: float) -> str:
    """A time as answers give it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _lines(row: NoteRow, root: Path) -> list[str]:
    found = read_note(root, row.path)
    if found is None:
        raise NotFound(f"{printable(row.path)} is not there any more; search again")
    if found.problem is not None:
        raise Unavailable(
            f"{printable(row.path)} cannot be read: {found.problem.message}; its name is known all the same"
        )
    text, _ = decode(found.data)
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]
