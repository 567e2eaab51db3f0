"""Read one note: structure and properties from the ledger, text and property lines from disk.

For files other than Markdown, and for notes whose folder is on another machine, the text comes from the
ledger. The property lines of notes on another machine are blank.
"""

import re
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path

from vaultseek.base.limits import NOTE_TEXT_CHARS
from vaultseek.base.model import JSON
from vaultseek.base.text import fold, printable
from vaultseek.base.when import iso_time
from vaultseek.content.extractors.excalidraw import is_drawing, without_drawing
from vaultseek.content.files.read import read_note
from vaultseek.content.kinds import is_markdown
from vaultseek.content.markdown.decode import decode
from vaultseek.content.markdown.parse import lines_of as markdown_lines
from vaultseek.content.markdown.parse import parse
from vaultseek.core.notes.anchors import block_text
from vaultseek.errors import NotFound, Unavailable
from vaultseek.store.ledger import Ledger, NoteRow


def note(row: NoteRow, ledger: Ledger, root: Path | None, start: int = 1, end: int | None = None) -> JSON:
    """Return the note with lines ``start`` to ``end``, 1-based and inclusive, cut off at ``NOTE_TEXT_CHARS``.

    Raises NotFound if the file was just deleted, or Unavailable if it cannot be read.
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
        "chunks": [
            {
                "chunk_id": c.id,
                "heading_path": list(c.heading_path),
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
    """Return the ids (``^id``) of the note's blocks on disk, each with its line. Raises the same errors as
    ``note``.
    """
    if not is_markdown(row.path):
        return []
    lines = _lines(row, ledger, root)
    blocks = parse("\n".join(lines), row.path).blocks
    return [
        {"id": block.id, "line": block.line, "of": block_text(lines, block.line, block.id)}
        for block in blocks
    ]


def about(row: NoteRow) -> JSON:
    """Return the fields that every list of notes contains for each note."""
    head = {"path": row.path, "title": row.title, "file_name": row.other_name, "kind": row.kind}
    return {
        **head,
        "tags": list(row.tags),
        "modified": iso_time(row.modified),
        "created": row.created.text,
    }


def _lines(row: NoteRow, ledger: Ledger, root: Path | None) -> Sequence[str]:
    is_on_disk = root is not None and is_markdown(row.path)
    return lines_of(row.path, root) if root and is_on_disk else _indexed_lines(row, ledger)


def lines_of(path: str, root: Path) -> Sequence[str]:
    """Return the lines of the note at ``path``. Raises the same errors as ``note``."""
    file = read_note(root, path)
    if file is None:
        raise NotFound(f"{printable(path)} no longer exists; search again")
    if file.problem is not None:
        raise Unavailable(
            f"{printable(path)} cannot be read: {file.problem.message}; only its name can be searched"
        )
    text, _ = decode(file.data)
    if is_drawing(text):
        text = "\n".join(without_drawing(text))
    return markdown_lines(text)


def _indexed_lines(row: NoteRow, ledger: Ledger) -> list[str]:
    lines: list[str] = []
    for chunk in ledger.chunks.by_note([row.id])[row.id]:
        text = chunk.source.split("\n")
        lines += [""] * (chunk.start_line - 1 + len(text) - len(lines))
        for number, line in enumerate(text, chunk.start_line - 1):
            lines[number] = f"{lines[number]} {line}" if lines[number] else line
    return lines


def with_property_places(answer: JSON, root: Path) -> JSON:
    """Return a search answer in which every displayed property has its exact line and column.

    If a note cannot be read, its properties keep a line estimated from their order.
    """
    for result in answer["results"]:
        if result.get("property"):
            try:
                place = _place(lines_of(result["path"], root), result)
            except (NotFound, Unavailable):
                continue
            if place is not None:
                line, column = place
                result |= {"line": line, "column": column, "end_line": max(line, result["end_line"])}
    return answer


def _place(lines: Sequence[str], result: JSON) -> tuple[int, int] | None:
    """Return the 1-based line and column of the matching words in a property.

    If the words are not found, returns the position of the property's name.
    """
    end = next((row for row in range(1, len(lines)) if lines[row].rstrip() == "---"), len(lines))
    name = fold(result["property"])
    keys = {row: fold(match[1].strip("\"'")) for row in range(1, end) if (match := _KEY.match(lines[row]))}
    start = next((row for row, key in keys.items() if key == name), None)
    if start is None:
        return None
    rows = [start, *takewhile(lambda row: row not in keys, range(start + 1, end))]
    words = [result["preview"][low:high] for low, high in result["highlights"]]
    # Prefer a match in the value to a match in the name.
    for word in sorted(words, key=lambda word: fold(word) == name):
        for row in rows:
            if (
                column := lines[row].find(word, len(name) + 1 if row == start and fold(word) != name else 0)
            ) >= 0:
                return row + 1, column + 1
    return start + 1, 1


_KEY = re.compile(r"(\"[^\"]*\"|'[^']*'|[^\s#\-\[\]{}\"'][^:]*?)\s*:(?:\s|$)")
