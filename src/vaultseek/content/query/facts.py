"""The port of filters: the facts of a note that conditions refer to, and the pieces that a scope tests."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol

from vaultseek.base.model import Task

Scope = Literal["content", "section", "line", "block"]


class NoteFacts(Protocol):
    """The facts of one note that conditions refer to."""

    @property
    def path(self) -> str:
        """Vault path with ``/`` between folders and with its extension."""

    @property
    def title(self) -> str: ...

    @property
    def aliases(self) -> Collection[str]: ...

    @property
    def tags(self) -> Collection[str]:
        """Tags without ``#``."""

    @property
    def properties(self) -> Mapping[str, Any]:
        """Frontmatter: text, number, bool, None or a list of these."""

    @property
    def created(self) -> float | None:
        """Unix time, None if unknown."""

    @property
    def modified(self) -> float | None:
        """Unix time, None if unknown."""

    @property
    def links(self) -> Collection[str]:
        """Paths of the notes that this one links to; for unresolved links the target as written."""

    @property
    def backlinks(self) -> Collection[str]:
        """Paths of the notes that link to this one."""

    @property
    def headings(self) -> Collection[str]: ...

    @property
    def tasks(self) -> Sequence[Task]: ...

    def passages(self, scope: Scope) -> Iterable[str]:
        """Yield the note's text as a whole, by section, by line, or by paragraph, list item and quote."""


_BLOCK_BORDER = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*+>]|\d+[.)])\s)")
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
    return [block for _, text in chunks for block in _BLOCK_BORDER.split(text) if block.strip()]


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
