"""Pieces of a note: what a test of one passage looks at, by its scope."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from vaultseek.content.query.facts import Scope

ChunkText = tuple[tuple[str, ...], str]
"""The headings that a chunk stands under, and its text."""


def pieces(chunks: Sequence[ChunkText], scope: Scope) -> Iterable[str]:
    """Return the passages of a note, given its chunks in their order."""
    if scope == "content":
        return ["\n".join(text for _, text in chunks)]
    if scope == "section":
        return _sections(chunks)
    if scope == "line":
        return [line for _, text in chunks for line in text.split("\n")]
    return [block for _, text in chunks for block in _blocks(text)]


def _sections(chunks: Iterable[ChunkText]) -> list[str]:
    """Split a note's chunks at its headings: the text between two of them is a section."""
    parts: list[list[str]] = []
    before: tuple[str, ...] | None = None
    for heading_path, text in chunks:
        for index, piece in enumerate(re.split(r"(?m)^(?=#{1,6}\s)", text)):
            if index or before != heading_path or not parts:
                parts.append([])
            parts[-1].append(piece)
            before = heading_path
    return ["\n".join(part) for part in parts]


def _blocks(text: str) -> list[str]:
    """Split a text into paragraphs, list items and quotes."""
    return [block for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*+>]|\d+[.)])\s)", text) if block.strip()]
