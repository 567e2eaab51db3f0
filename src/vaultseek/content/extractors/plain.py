"""Plain text: its lines, and nothing else, for it has neither headings nor links."""

from __future__ import annotations

from vaultseek.base.model import Note
from vaultseek.content.extractors.composition import name_of, paragraphs, plain_lines
from vaultseek.content.extractors.encodings import decode_any


def read(data: bytes, path: str, *, ocr: bool = False) -> Note:
    """Read a text file; line numbers are those of the file."""
    text, problems = decode_any(data)
    lines = plain_lines(text) if text else []
    return Note(path, name_of(path), lines=tuple(lines), spans=tuple(paragraphs(lines, 1)), problems=problems)
