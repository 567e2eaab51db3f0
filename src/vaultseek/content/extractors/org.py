"""Read Org files: headings, tags, links, tasks and properties."""

import re
from collections.abc import Iterable, Iterator, Sequence, Set

import orgparse
from orgparse.node import OrgBaseNode, OrgNode

from vaultseek.base.limits import NOTE_HEADINGS, NOTE_LINKS, NOTE_TAGS, PATH_BYTES, TITLE_CHARS
from vaultseek.base.model import JSON, CodeBlock, Edit, Heading, Link, Note, Place, Span, Task, apply_edits
from vaultseek.content.extractors.composition import LEVELS, name_of, one_line, paragraphs, plain_lines
from vaultseek.content.extractors.plain import decode_any
from vaultseek.content.markdown.parse import bounded

_LINK = re.compile(r"\[\[([^\[\]]+)\](?:\[([^\[\]]*)\])?\]")
_MARKUP = re.compile(
    rf"""{_LINK.pattern}|(?<![^\s\-({{'"])([*/_=~+])(?=\S)(?:(?!\3).)*?(?<=\S)\3(?![^\s\-.,;:!?'")}}\[\\])"""
)
_VERBATIM = re.compile(r"""(?<![^\s\-({'"])([=~])(?=\S)(?:(?!\1).)*(?<=\S)\1(?![^\s\-.,;:!?'")}\[\\])""")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+-]*:")
_BOX = re.compile(r"\s*(?:[-+]|\d+[.)]|(?<=\s)\*)\s+\[([ xX-])\]\s+(\S.*)")
_KEYWORD = re.compile(r"#\+(author|date|description|category|language):\s*(\S.*)", re.IGNORECASE)
_STAMP = re.compile(r"[<\[](\d{4}-\d\d-\d\d)\b[^>\]]*[>\]]")
_BLOCK = re.compile(r"\s*#\+(begin|end)_(src|example)\b[ \t]*(\S*)", re.IGNORECASE)

STRUCTURE_CHARS = 1000
"""Number of characters at the start of a line that are searched for headings, properties and dates. If more
were searched, orgparse would take quadratic time or recurse too deeply."""


def read(data: bytes, path: str) -> Note:
    """Read an Org file as a note. Line numbers are those of the file."""
    text, of_text = decode_any(data)
    problems = list(of_text)
    lines = plain_lines(text) if text else []
    root = orgparse.loads("\n".join(line[:STRUCTURE_CHARS] for line in lines))
    nodes = [node for node in root.env.nodes if isinstance(node, OrgNode)]
    headings = [_heading(node) for node in nodes]
    title = one_line(root.get_file_property("TITLE") or "")[:TITLE_CHARS]
    tags = dict.fromkeys(tag for node in (root, *nodes) for tag in sorted(node.shallow_tags))
    codes = tuple(_code(lines))
    in_code = _lines_of(codes)
    starts = {heading.line for heading in headings}
    return Note(
        path,
        title or name_of(path),
        "frontmatter" if title else "name",
        lines=tuple(lines),
        frontmatter=_keywords(lines[: min(starts, default=len(lines) + 1) - 1]) | _properties(root),
        tags=bounded(tuple(tags), NOTE_TAGS, "tags", problems),
        links=bounded(tuple(links(lines)), NOTE_LINKS, "links", problems),
        headings=bounded(headings, NOTE_HEADINGS, "headings", problems),
        code_blocks=codes,
        tasks=tuple(sorted((*_tasks(nodes), *_boxes(lines, in_code)), key=lambda task: task.line)),
        spans=tuple(_spans(lines, starts)),
        problems=tuple(problems),
        edits={
            number: edits
            for number, line in enumerate(lines, 1)
            if number not in in_code and (edits := list(_edits(line, is_heading=number in starts)))
        },
    )


def _heading(node: OrgNode) -> Heading:
    text = one_line(node.heading)
    rendered = apply_edits(text, _edits(text, is_heading=False))
    return Heading(min(node.level, LEVELS), text, node.linenumber, None if rendered == text else rendered)


def _edits(line: str, *, is_heading: bool) -> Iterator[Edit]:
    """Yield the edits that turn a line into displayed text: without stars, and with links and emphasis as
    plain text.
    """
    if is_heading:
        yield Edit(0, len(line) - len(line.lstrip("*").lstrip()))
    for match in _MARKUP.finditer(line):
        start, end = match.span()
        if match[0][0] == "[":
            text = 2 if match[2] else 1
            yield Edit(start, match.start(text))
            yield Edit(match.end(text), end)
        else:
            yield Edit(start, start + 1)
            yield Edit(end - 1, end)


def _properties(root: OrgBaseNode) -> JSON:
    return {one_line(str(name)): value for name, value in root.properties.items()}


def _keywords(lines: Sequence[str]) -> JSON:
    """Return a dict from the keywords above the first heading, in lower case, to their values."""
    keywords = (match for line in lines if (match := _KEYWORD.match(line)))
    return {match[1].lower(): _STAMP.sub(r"\1", match[2].strip()) for match in keywords}


def _boxes(lines: Sequence[str], in_code: Set[int]) -> Iterator[Task]:
    for number, line in enumerate(lines, 1):
        match = _BOX.match(line)
        if match and number not in in_code:
            yield Task("x" if match[1] in "xX" else " ", match[2].strip(), number)


def _tasks(nodes: Sequence[OrgNode]) -> Iterator[Task]:
    for node in nodes:
        if node.todo:
            mark = " " if node.todo in node.env.todo_keys else "x"
            yield Task(mark, one_line(node.heading), node.linenumber)


def _spans(lines: Sequence[str], starts: set[int]) -> Iterator[Span]:
    begun = 1
    for number in [*sorted(starts), len(lines) + 1]:
        yield from paragraphs(lines[begun - 1 : number - 1], begun)
        if number <= len(lines):
            yield Span("heading", number, number)
        begun = number + 1


def links(lines: Sequence[str]) -> Iterator[Link]:
    """Yield the links in an Org file; each link's ``written`` is the position of the target without
    ``file:``.
    """
    in_code = _lines_of(_code(lines))
    for number, line in enumerate(lines, 1):
        if number in in_code or "[[" not in line:
            continue
        for match in _LINK.finditer(_VERBATIM.sub(lambda verbatim: " " * len(verbatim[0]), line)):
            path, _, place = match[1].partition("::")
            target = path.removeprefix("file:")
            is_url = _SCHEME.match(path) and target == path
            if not is_url and len(target) <= PATH_BYTES and not target.startswith(("*", "#")):
                heading = place.lstrip("*# ") or None
                end = match.start(1) + len(path)
                written = Place(number, end - len(target), end)
                yield Link("markdown", target, heading, None, match[2] or None, number, written=written)


def _lines_of(codes: Iterable[CodeBlock]) -> set[int]:
    return {number for code in codes for number in range(code.line, code.end_line + 1)}


def _code(lines: Sequence[str]) -> Iterator[CodeBlock]:
    begun, language = 0, None
    for number, line in enumerate(lines, 1):
        match = _BLOCK.match(line)
        if match and match[1].lower() == "begin" and not begun:
            begun, language = number, match[3] or None
        elif match and begun and match[1].lower() == "end":
            yield CodeBlock(language, begun, number)
            begun = 0
