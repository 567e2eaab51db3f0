"""Read JSON Canvas 1.0 files: cards become Markdown, files and labelled edges become links, and groups become
headings.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple

from vaultseek.base.limits import CANVAS_GROUPS, CANVAS_NODES
from vaultseek.base.model import JSON, Note, Place
from vaultseek.content.extractors.composition import Composition, link_target, named_only, one_line
from vaultseek.content.markdown.decode import decode

LABEL_CHARS = 80


@dataclass(slots=True)
class _Node:
    id: str
    kind: str
    fields: JSON
    x: float
    y: float
    width: float
    height: float
    nodes: list[_Node] = field(default_factory=list)
    groups: list[_Node] = field(default_factory=list)

    def holds(self, other: _Node) -> bool:
        """True if the centre of the other node is within this node."""
        across, down = other.x + other.width / 2, other.y + other.height / 2
        return self.x <= across <= self.x + self.width and self.y <= down <= self.y + self.height

    def text(self, name: str) -> str:
        value = self.fields.get(name)
        return value if isinstance(value, str) else ""

    @property
    def place(self) -> tuple[float, float]:
        return self.y, self.x


def read(data: bytes, path: str) -> Note:
    """Read a canvas as a note. Each card is a separate part, in reading order: from top to bottom, then left
    to right.
    """
    text, _ = decode(data)
    try:
        canvas = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        return named_only(path, "damaged", "not a canvas: it is not JSON")
    if not isinstance(canvas, dict):
        return named_only(path, "damaged", "not a canvas: it has no nodes")
    made = Composition(path)
    every = [node for node in map(_node, _objects(canvas.get("nodes"))) if node is not None]
    if len(every) > CANVAS_NODES:
        made.problem("too_many_nodes", f"more than {CANVAS_NODES:,} nodes; only the first ones are searched")
    nodes = every[:CANVAS_NODES]
    edges = _edges(canvas.get("edges"), nodes)
    top = _nested(nodes, made)
    _write(top, edges, made)
    return made.note()


def _objects(value: Any) -> list[JSON]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _node(fields: JSON) -> _Node | None:
    id, kind = fields.get("id"), fields.get("type")
    if not isinstance(id, str) or kind not in ("text", "file", "link", "group"):
        return None
    x, y, width, height = (_number(fields.get(name)) for name in ("x", "y", "width", "height"))
    return _Node(one_line(id)[:LABEL_CHARS], kind, fields, x, y, width, height)


def _number(value: Any) -> float:
    usable = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e12
    return float(value) if usable and not math.isnan(value) else 0.0


@dataclass(frozen=True, slots=True)
class _Edge:
    label: str
    target: _Node


def _edges(value: Any, nodes: Sequence[_Node]) -> dict[str, list[_Edge]]:
    by_id = {node.id: node for node in nodes}
    edges: dict[str, list[_Edge]] = {}
    for each in _objects(value)[:CANVAS_NODES]:
        ends = (each.get("fromNode"), each.get("toNode"))
        source, target = (by_id.get(one_line(end)) if isinstance(end, str) else None for end in ends)
        label = each.get("label")
        if source and target and isinstance(label, str) and label.strip():
            edges.setdefault(source.id, []).append(_Edge(one_line(label), target))
    return edges


def _nested(nodes: Sequence[_Node], made: Composition) -> _Node:
    """Put each node into the smallest group that contains it, and return the root group."""
    top = _Node("", "group", {}, 0.0, 0.0, 0.0, 0.0)
    groups = sorted((n for n in nodes if n.kind == "group"), key=lambda n: n.width * n.height)
    if len(groups) > CANVAS_GROUPS:
        made.problem(
            "too_many_groups",
            f"more than {CANVAS_GROUPS} groups; cards in the other groups are indexed without their group",
        )
        groups = groups[-CANVAS_GROUPS:]
    for number, group in enumerate(groups):
        next((outer for outer in groups[number + 1 :] if outer.holds(group)), top).groups.append(group)
    for node in nodes:
        if node.kind != "group":
            next((group for group in groups if group.holds(node)), top).nodes.append(node)
    return top


def _write(top: _Node, edges: dict[str, list[_Edge]], made: Composition) -> None:
    waiting = [(top, 0)]
    while waiting and not made.full:
        group, depth = waiting.pop()
        if group is not top:
            made.place(group.id, depth - 1)
            line = made.next_line
            made.heading(depth, group.text("label") or "Group")
            made.link_at(line, group.text("background"))
        for node in sorted(group.nodes, key=lambda each: each.place):
            if made.full:
                return
            made.place(node.id, depth)
            _write_card(node, depth, made)
            for edge in edges.get(node.id, ()):
                _write_edge(edge, made)
        inner = sorted(group.groups, key=lambda each: each.place, reverse=True)
        waiting += [(each, depth + 1) for each in inner]


def _write_card(node: _Node, depth: int, made: Composition) -> None:
    if node.kind == "text":
        made.markdown(node.text("text"), depth)
    elif node.kind == "link":
        made.paragraph(one_line(node.text("url")))
    elif file := file_target(node.text("file")):
        subpath = one_line(node.text("subpath"))
        made.link(f"[[{file}{subpath}]]", file, subpath)


def _write_edge(edge: _Edge, made: Composition) -> None:
    target = edge.target
    if target.kind == "file" and (file := file_target(target.text("file"))):
        subpath = one_line(target.text("subpath"))
        made.link(f"{edge.label} → [[{file}{subpath}]]", file, subpath, edge.label)
        return
    name = target.text("label") or target.text("url") or target.text("text")
    first = next((line.lstrip("# ") for line in name.split("\n") if line.strip()), "")
    made.paragraph(f"{edge.label} → {one_line(first)[:LABEL_CHARS]}")


# -- where links are written


def file_target(path: str) -> str:
    """Return the link target for a full path. A slash keeps a space at the beginning of the path."""
    return link_target(f"/{path}" if path.startswith(" ") and path.strip() else path)


FILE_FIELDS = ("file", "background")
"""Canvas fields that hold a file path: the file of a card, and the background of a group."""
_LINKING = re.compile(
    r'(?<!\\)"(file|background|subpath|text)"\s*:\s*'
    r'"((?:[^"\\\0-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*)"'
)
_CHARACTER = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u.{4}|\\.|.")
_LINE_END = re.compile(r"\r\n?|\n")


class Written(NamedTuple):
    """Value of a field that may contain links, as written between quotation marks on one line of the file."""

    field: str
    line: int
    start: int
    raw: str

    @property
    def text(self) -> str:
        """The value without escapes."""
        return str(json.loads(f'"{self.raw}"'))

    def escaped(self, text: str) -> str:
        """Return ``text`` escaped in the same way as this value: characters other than ASCII are escaped only
        if this value escapes them.
        """
        in_ascii = self.raw.isascii() and "\\u" in self.raw
        return json.dumps(text, ensure_ascii=in_ascii)[1:-1]

    @property
    def whole(self) -> Place:
        """Position of the whole value in the file."""
        return Place(self.line, self.start, self.start + len(self.raw))

    def place(self, of_text: Place) -> Place:
        """Convert a position in the unescaped value to a position in the file."""
        offsets = [0, *accumulate(map(len, _CHARACTER.findall(self.raw)))]
        text = self.text
        line = [0, *(end.end() for end in _LINE_END.finditer(text))][of_text.line - 1]
        start, end = (self.start + offsets[line + column] for column in of_text[1:])
        return Place(self.line, start, end)


def written_fields(lines: Sequence[str]) -> Iterator[Written]:
    """Yield the fields of a canvas that may contain links: file paths, headings in linked files, and the text
    of cards.

    ``lines`` are all lines of the canvas file.
    """
    text = "\n".join(lines)
    number = start = counted = 0
    for match in _LINKING.finditer(text):
        number += text.count("\n", counted, match.start(2))
        counted = match.start(2)
        start = text.rfind("\n", 0, counted) + 1
        yield Written(match[1], number + 1, counted - start, match[2])
