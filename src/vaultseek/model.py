"""The words that every part of vaultseek shares: notes, chunks, links, results. Values only, no I/O."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

JSON = dict[str, Any]
LinkKind = Literal["wikilink", "embed", "markdown"]
STAGES = frozenset({"rerank", "expansion"})
"""What an answer may lack that is no lane of search."""
SpanKind = Literal[
    "heading", "paragraph", "list", "list_item", "code", "table", "quote", "html", "math", "break", "other"
]


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that was wrong with a note and what was done about it."""

    code: str
    message: str
    line: int | None = None

    def as_json(self) -> JSON:
        """The form that ``inspect --json`` and ``status --json`` print."""
        return {"code": self.code, "message": self.message, "line": self.line}


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading at the top level of the note; ``text`` is raw Markdown."""

    level: int
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Link:
    """A link as written. ``target`` is ``""`` for the same note; ``property`` names the frontmatter key."""

    kind: LinkKind
    target: str
    heading: str | None
    block: str | None
    alias: str | None
    line: int
    property: str | None = None


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Fenced or indented code: language (or None) and its lines, fences included."""

    lang: str | None
    line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class BlockId:
    """A ``^id`` marker and the line it stands on."""

    id: str
    line: int


@dataclass(frozen=True, slots=True)
class Task:
    """A task item; any ``mark`` but a space counts as done."""

    mark: str
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Callout:
    """A callout: its type in lower case, its title and the line of its ``[!type]``."""

    kind: str
    title: str
    line: int


@dataclass(frozen=True, slots=True)
class Span:
    """A block of the body with its 1-based lines, both included.

    Spans come in document order and do not overlap, except that a ``list`` is followed by the ``list_item``
    spans of its direct children, which lie inside it.
    """

    kind: SpanKind
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Note:
    """What was understood of one note. ``lines`` are the whole file's lines without their line ends.

    ``body_line`` is the 1-based line on which the body starts (1 without frontmatter).
    """

    path: str
    title: str
    title_source: Literal["frontmatter", "heading", "name"] = "name"
    lines: tuple[str, ...] = ()
    body_line: int = 1
    frontmatter: JSON = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    headings: tuple[Heading, ...] = ()
    code_blocks: tuple[CodeBlock, ...] = ()
    blocks: tuple[BlockId, ...] = ()
    tasks: tuple[Task, ...] = ()
    callouts: tuple[Callout, ...] = ()
    spans: tuple[Span, ...] = ()
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of a note, the unit of embedding and of what a result points at.

    ``id`` depends on path, heading path, text and the ordinal among equals only. ``code`` holds the
    character ranges of ``text`` that are code.
    """

    id: str
    heading_path: tuple[str, ...]
    start_line: int
    end_line: int
    text: str
    code: tuple[tuple[int, int], ...] = ()

    def prose_text(self) -> str:
        """The text without its code."""
        return self._pick(inside=False)

    def code_text(self) -> str:
        """The code alone."""
        return self._pick(inside=True)

    def _pick(self, *, inside: bool) -> str:
        parts: list[str] = []
        at = 0
        for start, end in self.code:
            parts.append(self.text[start:end] if inside else self.text[at:start])
            at = end
        if not inside:
            parts.append(self.text[at:])
        return "\n".join(part for part in parts if part)
