"""Data types shared by all packages: a parsed note and its parts, chunks, problems. No I/O.

Lines are numbered from 1, and ranges of lines include both ends. Ranges of characters are half-open.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

from vaultseek.errors import Unavailable, VaultseekError

JSON = dict[str, Any]
TokenCount = Callable[[str], int]
"""Function that counts the embedding model's tokens in a text."""
Mode = Literal["hybrid", "keyword", "semantic"]
LinkKind = Literal["wikilink", "embed", "markdown"]
EngineKind = Literal["embedded", "postgres"]
VectorIndexKind = Literal["auto", "exact", "chroma"]
CompletionKind = Literal["note", "file", "heading", "block", "tag", "property", "value", "query"]
SpanKind = Literal[
    "heading", "paragraph", "list", "list_item", "code", "table", "quote", "html", "math", "break", "other"
]


ReasonCode = Literal[
    "loading",
    "model_unusable",
    "worker_unavailable",
    "not_embedded",
    "unread_language",
    "being_built",
    "behind",
    "index_damaged",
    "deadline",
    "being_read",
    "paused",
    "polling",
    "vault_missing",
    "disk_full",
    "failing",
    "unavailable",
    "found",
    "filtered",
    "no_lane",
    "no_match",
    "not_searched",
    "below_limit",
    "below_minimum",
    "nothing_near",
]
"""Codes of all reasons; ``docs/protocol.md`` explains them."""
REASON_CODES: tuple[ReasonCode, ...] = get_args(ReasonCode)


@dataclass(frozen=True, slots=True)
class Reason:
    """The reason for a state or for a missing part of an answer: ``code`` for programs, ``text`` for
    display."""

    code: ReasonCode
    text: str
    advice: JSON | None = field(default=None, hash=False)

    @classmethod
    def of(cls, error: VaultseekError) -> Reason:
        """Convert an error to a reason."""
        code = error.cause or error.code
        known: ReasonCode = next((each for each in REASON_CODES if each == code), "unavailable")
        return cls(known, str(error), error.advice)

    def error(self) -> Unavailable:
        """Return the error for a request that cannot be answered for this reason."""
        return Unavailable(self.text, self.code, self.advice)

    def as_json(self) -> JSON:
        """Return the reason as the fields of an answer."""
        return {"code": self.code, "reason": self.text, **({"advice": self.advice} if self.advice else {})}


NO_REASON: JSON = {"code": None, "reason": None}


def reason_json(reason: Reason | None) -> JSON:
    """Return the reason as the fields of an answer; without a reason, both fields are None."""
    return dict(NO_REASON) if reason is None else reason.as_json()


NOT_EMBEDDED = "not_embedded"
"""Problem code: the model returned no vector for a text of the note."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault in a note and how it was handled; ``code`` never changes, ``message`` is human-readable."""

    code: str
    message: str
    line: int | None = None

    def as_json(self) -> JSON:
        """Return the problem as the JSON object that ``inspect --json`` and ``status --json`` print."""
        return {"code": self.code, "message": self.message, "line": self.line}


class Edit(NamedTuple):
    """An edit: ``text`` replaces the characters from ``start`` up to, but excluding, ``end``. Edits of the
    same text are sorted and disjoint."""

    start: int
    end: int
    text: str = ""


def apply_edits(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """Return ``text`` with ``edits`` applied."""
    parts: list[str] = []
    position = 0
    for start, end, new in edits:
        parts += (text[position:start], new)
        position = end
    return "".join((*parts, text[position:]))


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading outside quotes and lists. ``level`` is 1 to 6, ``text`` is Markdown as written.

    ``rendered`` is the displayed text, or None if it equals ``text``.
    """

    level: int
    text: str
    line: int
    rendered: str | None = None

    @property
    def shown(self) -> str:
        """The displayed text; if it is empty, the text as written."""
        return self.rendered or self.text


class Place(NamedTuple):
    """A range of characters in a line: ``start`` and ``end`` count characters from 0, and ``end`` is
    exclusive."""

    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Link:
    """A link as written, not resolved.

    ``target`` is ``""`` for a link within the note. ``property`` is the key of the frontmatter property that
    contains the link, if any. ``place`` spans the link or, if the link has several lines, the part on the
    first line. ``written`` spans the target as written: the text between the brackets of a wikilink, or the
    destination of a Markdown link.
    """

    kind: LinkKind
    target: str
    heading: str | None
    block: str | None
    alias: str | None
    line: int
    property: str | None = None
    place: Place | None = field(default=None, compare=False, repr=False)
    written: Place | None = field(default=None, compare=False, repr=False)

    def as_json(self) -> JSON:
        """Return the link as a JSON object for answers, without its position."""
        return {
            "kind": self.kind,
            "target": self.target,
            "heading": self.heading,
            "block": self.block,
            "alias": self.alias,
            "line": self.line,
            "property": self.property,
        }


class PlacedTag(NamedTuple):
    """A tag in the text of a note, and the range of its characters; neither includes the ``#``."""

    tag: str
    place: Place


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """A fenced or indented code block. Its lines include the fences; ``lang`` is None if no language is
    given."""

    lang: str | None
    line: int
    end_line: int

    def text(self, lines: Sequence[str]) -> str:
        """Return the text between the fences, taken from the note's ``lines``; the block may be inside a
        quote."""
        inner = list(lines[self.line : self.end_line])
        if inner and inner[-1].strip(" >\t").startswith(("```", "~~~")):
            inner.pop()
        quoted = lines[self.line - 1].lstrip().startswith(">")
        return textwrap.dedent(
            "\n".join(line.lstrip().removeprefix(">") if quoted else line for line in inner)
        )


@dataclass(frozen=True, slots=True)
class BlockId:
    """A ``^id`` marker and its line."""

    id: str
    line: int


@dataclass(frozen=True, slots=True)
class Task:
    """A list item with a checkbox; any ``mark`` except a space counts as done.

    ``text`` is Markdown as written; ``rendered`` is the displayed text, or None if it equals ``text``.
    """

    mark: str
    text: str
    line: int
    rendered: str | None = None

    @property
    def shown(self) -> str:
        """The displayed text; if it is empty, the text as written."""
        return self.rendered or self.text


@dataclass(frozen=True, slots=True)
class Callout:
    """A callout: ``kind`` is its type in lower case, ``line`` is the line with its ``[!type]``."""

    kind: str
    title: str
    line: int


class Span(NamedTuple):
    """A block of the body.

    Spans are in document order and do not overlap, with one exception: a ``list`` is followed by the
    ``list_item`` spans of its direct children, which lie inside it.
    """

    kind: SpanKind
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a file that links can point to, such as ``page=3``, and the first line of its text.

    A part ends where the next part begins. ``name`` is the text after the ``#`` of a link to the part; ""
    means no part. Headings above the part also apply to it if their level is at most ``depth``.
    """

    name: str
    line: int
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Note:
    """A parsed note, or the text of a file other than Markdown.

    ``path`` is relative to the vault, with forward slashes. ``lines`` are all lines of the file, including
    the frontmatter, without line endings; for a binary file, they are the lines of its extracted text.
    ``body_line`` is the first line of the body: 1 without frontmatter. ``places`` are sorted by line.
    ``placed_tags`` contains every occurrence of a tag in the body. ``edits`` contains, by line number, the
    edits that turn a line into displayed text (``content/markdown/rendering.py``).
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
    places: tuple[Part, ...] = ()
    placed_tags: tuple[PlacedTag, ...] = field(default=(), compare=False, repr=False)
    edits: Mapping[int, Sequence[Edit]] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of a note: the unit that is embedded and that results point to.

    ``text`` is the displayed text of lines ``start_line`` to ``end_line``; ``edits`` turn it back into the
    source. ``id`` depends only on the path, the heading path, the text and the ordinal among equal chunks.
    ``code`` contains the character ranges of ``text`` that lie in code blocks, ascending and disjoint.
    ``place`` names the part of the file that contains the chunk, such as ``page=3``.
    """

    id: str
    heading_path: tuple[str, ...]
    start_line: int
    end_line: int
    text: str
    code: tuple[tuple[int, int], ...] = ()
    place: str | None = None
    edits: tuple[tuple[int, int, str], ...] = ()

    @property
    def source(self) -> str:
        """The chunk's text as written in the file."""
        return apply_edits(self.text, self.edits) if self.edits else self.text

    def column(self, offset: int) -> int:
        """Convert an ``offset`` in ``text`` to a column in the file; both count from 0.

        The column is 0 on a line that has no displayed text.
        """
        start = self.text.rfind("\n", 0, offset) + 1
        column = offset - start
        if not column and self.text[offset : offset + 1] in ("", "\n"):
            return 0
        for low, high, text in self.edits:
            if start <= low and high <= offset:
                column += len(text) - (high - low)
        return column

    def prose_text(self) -> str:
        """Return the text without its code; the remaining pieces are joined by newlines."""
        return self._pick(inside=False) if self.code else self.text

    def code_text(self) -> str:
        """Return only the code in the text; the pieces are joined by newlines."""
        return self._pick(inside=True) if self.code else ""

    def _pick(self, *, inside: bool) -> str:
        parts: list[str] = []
        prose_start = 0
        for start, end in self.code:
            parts.append(self.text[start:end] if inside else self.text[prose_start:start])
            prose_start = end
        if not inside:
            parts.append(self.text[prose_start:])
        return "\n".join(part for part in parts if part)


LESS_CERTAIN = 0.04
"""Certainty below which a note counts as less certain; user interfaces collapse such notes."""


def less_certain(certainties: Sequence[float]) -> int:
    """Return the number of less certain notes at the end of a list of certainties; the first note never
    counts."""
    return sum(certainty < LESS_CERTAIN for certainty in certainties[1:])
