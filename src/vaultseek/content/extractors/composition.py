"""Compose a file's text as a note. The text consists of parts, each with a place in the file, such as
``page=3``.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from vaultseek.base import limits
from vaultseek.base.model import JSON, Edit, Heading, Link, Note, Part, Problem, Span
from vaultseek.content.kinds import shown_name
from vaultseek.content.markdown.parse import bounded, parse
from vaultseek.content.markdown.rendering import render_plain
from vaultseek.content.markdown.title import file_stem

_UNREADABLE = re.compile(r"[\0-\x08\x0b-\x1f\x7f\ud800-\udfff]")
LEVELS = 6


class Composition:
    """The text of one file, composed by adding parts in reading order."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lines: list[str] = []
        self._places: list[Part] = []
        self._spans: list[Span] = []
        self._headings: list[Heading] = []
        self._links: list[Link] = []
        self._tags: dict[str, str] = {}
        self._parts: list[Note] = []
        self._edits: dict[int, Sequence[Edit]] = {}
        self._problems: list[Problem] = []
        self._chars = 0

    @property
    def full(self) -> bool:
        """True once the text has reached its limit."""
        return self._chars >= limits.EXTRACTED_CHARS

    @property
    def next_line(self) -> int:
        """Number of the next line to be added."""
        return len(self._lines) + 1

    def place(self, name: str, depth: int = 0) -> None:
        """Begin the part ``name`` of the file. Earlier headings also apply to it if their level is at most
        ``depth``.
        """
        line = self.next_line
        if self._places and self._places[-1].line == line:
            self._places.pop()
        self._places.append(Part(name, line, depth))

    def heading(self, level: int, text: str) -> None:
        """Add a heading."""
        level = min(level, LEVELS)
        text = one_line(text)
        line = self.next_line
        self._edits[line] = [Edit(0, level + 1)]
        self._add([f"{'#' * level} {text}", ""])
        self._headings.append(Heading(level, text, line))
        self._spans.append(Span("heading", line, line))

    def paragraph(self, text: str) -> None:
        """Add plain text, escaping anything that looks like Markdown."""
        lines = plain_lines(text)
        line = self.next_line
        self._edits |= render_plain(lines, line)
        self._add([*lines, ""])
        self._spans += paragraphs(lines, line)

    def markdown(self, text: str, level: int = 0, *, of_app: bool = True) -> None:
        """Add Markdown, with its headings demoted by ``level`` levels.

        ``of_app`` is false for text that was not written in a note-taking app: ``#word`` is then not a tag,
        and ``[[word]]`` is not a link.
        """
        # The line break keeps a rule at the beginning of a part from being read as frontmatter.
        part = parse(f"\n{text}", self._path)
        shift = self.next_line - 2
        self._add([*part.lines[1:], ""])
        shifted = _shifted(part, shift, level)
        self._parts.append(shifted)
        self._edits |= shifted.edits
        self._spans += shifted.spans
        self._headings += shifted.headings
        self._links += [link for link in shifted.links if of_app or link.kind == "markdown"]
        for tag in shifted.tags if of_app else ():
            self.tag(tag)

    def link(self, text: str, target: str, fragment: str = "", alias: str | None = None) -> None:
        """Add a line with a link to ``target``, or to the heading or block ``fragment`` in ``target``."""
        line = self.next_line
        self.paragraph(text)
        self.link_at(line, target, fragment, alias)

    def link_at(self, line: int, target: str, fragment: str = "", alias: str | None = None) -> None:
        """Add a link to an existing line, without changing the line's text."""
        fragment = fragment.removeprefix("#")
        block = fragment[1:] if fragment.startswith("^") else None
        heading = None if block is not None else fragment or None
        if target and len(target) <= limits.PATH_BYTES:
            self._links.append(Link("embed", link_target(target), heading, block, alias, line))

    def tag(self, tag: str) -> None:
        """Add a tag that applies to the whole file."""
        self._tags.setdefault(tag.casefold(), tag)

    def problem(self, code: str, message: str) -> None:
        """Add a problem found in the file."""
        if len(self._problems) < limits.NOTE_PROBLEMS:
            self._problems.append(Problem(code, message))

    def note(self, title: str = "", properties: JSON | None = None) -> Note:
        """Return the composed note. Its title is ``title`` or, if that is empty, the file's name."""
        if self.full:
            message = "only the beginning of the text is searched; split the file"
            self.problem("too_long", message)
        problems = [*self._problems, *(problem for part in self._parts for problem in part.problems)]
        return Note(
            path=self._path,
            title=one_line(title)[: limits.TITLE_CHARS] or name_of(self._path),
            title_source="frontmatter" if one_line(title) else "name",
            lines=tuple(self._lines),
            frontmatter=properties or {},
            tags=bounded(tuple(self._tags.values()), limits.NOTE_TAGS, "tags", problems),
            links=bounded(self._links, limits.NOTE_LINKS, "links", problems),
            headings=bounded(self._headings, limits.NOTE_HEADINGS, "headings", problems),
            code_blocks=tuple(block for part in self._parts for block in part.code_blocks),
            blocks=tuple(block for part in self._parts for block in part.blocks),
            tasks=tuple(task for part in self._parts for task in part.tasks),
            callouts=tuple(callout for part in self._parts for callout in part.callouts),
            spans=tuple(self._spans),
            problems=tuple(problems[: limits.NOTE_PROBLEMS]),
            places=tuple(self._places),
            edits=self._edits,
        )

    def _add(self, lines: Sequence[str]) -> None:
        self._lines += lines
        self._chars += sum(map(len, lines)) + len(lines)


def name_of(path: str) -> str:
    """Return the name of the file at ``path``, to serve as the title of a file that has none."""
    return shown_name(file_stem(path))


def named_only(path: str, code: str, message: str) -> Note:
    """Return a note that has only the file's name, and the problem that prevented reading its content."""
    return Note(path, name_of(path), problems=(Problem(code, f"{message}; only its name is searched"),))


def plain_lines(text: str) -> list[str]:
    """Return the lines of ``text``, with control characters replaced."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return [_UNREADABLE.sub("\ufffd", line) for line in text.rstrip("\n").split("\n")]


def paragraphs(lines: Iterable[str], first: int) -> list[Span]:
    """Return the spans of the paragraphs in ``lines``; blank lines separate paragraphs.

    ``first`` is the number of the first line.
    """
    spans: list[Span] = []
    start = last = 0
    for number, line in enumerate(lines, first):
        if not line.strip():
            continue
        if start and last < number - 1:
            spans.append(Span("paragraph", start, last))
            start = 0
        start, last = start or number, number
    return [*spans, Span("paragraph", start, last)] if start else spans


def one_line(text: str) -> str:
    """Return ``text`` without line breaks and control characters."""
    return " ".join(_UNREADABLE.sub(" ", text).split())


def link_target(text: str) -> str:
    """Return a link target without line breaks and control characters. Spaces are kept, because they may be
    part of a name.
    """
    return _UNREADABLE.sub(" ", text.replace("\n", " ")).strip()


def _shifted(part: Note, lines: int, level: int) -> Note:
    return replace(
        part,
        spans=tuple(Span(s.kind, s.start_line + lines, s.end_line + lines) for s in part.spans),
        headings=tuple(
            replace(heading, level=min(heading.level + level, LEVELS), line=heading.line + lines)
            for heading in part.headings
        ),
        edits={line + lines: edits for line, edits in part.edits.items()},
        links=tuple(replace(link, line=link.line + lines, place=None, written=None) for link in part.links),
        code_blocks=tuple(
            replace(code, line=code.line + lines, end_line=code.end_line + lines) for code in part.code_blocks
        ),
        blocks=tuple(replace(block, line=block.line + lines) for block in part.blocks),
        tasks=tuple(replace(task, line=task.line + lines) for task in part.tasks),
        callouts=tuple(replace(callout, line=callout.line + lines) for callout in part.callouts),
        problems=tuple(
            replace(problem, line=problem.line + lines if problem.line else None) for problem in part.problems
        ),
    )
