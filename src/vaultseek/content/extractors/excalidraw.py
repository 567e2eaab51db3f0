"""Read Excalidraw drawings: text, links and embedded files, without the drawing itself."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from vaultseek.base.limits import DRAWING_ELEMENTS
from vaultseek.base.model import JSON, Note, Part, Problem
from vaultseek.content.extractors.composition import (
    LEVELS,
    Composition,
    link_target,
    name_of,
    named_only,
    one_line,
)
from vaultseek.content.markdown.decode import decode
from vaultseek.content.markdown.parse import parse

_LINK = re.compile(r"\[\[([^\[\]|#]+)(#[^\[\]|]*)?(?:\|[^\[\]]*)?\]\]")
_PLUGIN = re.compile(r"(?m)^excalidraw-plugin\s*:")
_FRAME = re.compile(r"(?i)#{1,2}\s*(?:Excalidraw Data|Text Elements|Element Links|Embedded Files|Drawing)\s*")
_MARK = re.compile(rf"\s*%%\s*|{_FRAME.pattern[4:]}", re.IGNORECASE)
_FENCE = re.compile(r"```(?:compressed-json|json)\s*")
_TEXT_ID = re.compile(r"\s\^([A-Za-z0-9_-]{1,40})\s*$")
_LINK_ID = re.compile(r"([A-Za-z0-9_-]{1,40}):\s")
_MOST_HEAD = 4000


def read(data: bytes, path: str) -> Note:
    """Read a drawing as a note. Each text element is a separate part, and frames become headings."""
    text, problems = decode(data)
    if path[-3:].lower() == ".md":
        return read_markdown(text, path, problems)
    try:
        drawing = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        return named_only(path, "damaged", "not a drawing: it is not JSON")
    if not isinstance(drawing, dict):
        return named_only(path, "damaged", "not a drawing: it has no elements")
    listed = drawing.get("elements")
    elements = listed[:DRAWING_ELEMENTS] if isinstance(listed, list) else []
    made = Composition(path)
    frames: dict[str | None, list[JSON]] = {None: []}
    names: dict[str | None, str] = {}
    for each in elements:
        if not isinstance(each, dict) or each.get("isDeleted"):
            continue
        if each.get("type") in ("frame", "magicframe"):
            names[_text(each, "id")] = _text(each, "name") or "Frame"
            frames.setdefault(_text(each, "id"), [])
        elif _text(each, "text") or _text(each, "link"):
            frames.setdefault(_text(each, "frameId") or None, []).append(each)
    for frame, inside in frames.items():
        if frame is not None and (inside or frame in names):
            made.place(frame)
            made.heading(1, names.get(frame, "Frame"))
        for each in inside:
            if not made.full:
                _write(each, 0 if frame is None else 1, made)
    return made.note()


def is_drawing(text: str) -> bool:
    """True if a Markdown file is a drawing made by the Excalidraw plugin."""
    return text.startswith("---") and _PLUGIN.search(text[:_MOST_HEAD]) is not None


def read_markdown(text: str, path: str, problems: Sequence[Problem] = ()) -> Note:
    """Read a drawing stored in Markdown, keeping the file's line numbers; each element of the drawing is a
    part.
    """
    note = parse("\n".join(without_drawing(text)), path, problems)
    title = note.title if note.title_source != "name" else name_of(path)
    return replace(note, title=title, places=tuple(_places(_lines(text))))


def without_drawing(text: str) -> Iterator[str]:
    """Yield the lines of a drawing stored in Markdown, with blank lines in place of the drawing data and its
    markers.

    The note's text above the drawing data is left unchanged.
    """
    lines = _lines(text)
    began = _beginning(lines)
    in_drawing = False
    for at, line in enumerate(lines):
        if in_drawing:
            in_drawing = line.rstrip() != "```"
            yield ""
        elif at >= began and _FENCE.fullmatch(line):
            in_drawing = True
            yield ""
        elif line.startswith("==⚠") or (at >= began - 2 and _MARK.fullmatch(line)):
            yield ""
        else:
            yield line


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _beginning(lines: Sequence[str]) -> int:
    """Return the index of the line at which the drawing data begins; the plugin writes the data below the
    note.
    """
    return next((at for at, line in enumerate(lines) if _FRAME.fullmatch(line)), len(lines))


def _places(lines: Sequence[str]) -> Iterator[Part]:
    """Yield the elements of a drawing stored in Markdown. A text element ends with its id; a link begins with
    its id.
    """
    section, begun = "", 0
    for number, line in enumerate(lines[(start := _beginning(lines)) :][:DRAWING_ELEMENTS], start + 1):
        if _FRAME.fullmatch(line):
            section, begun = line.strip("# ").lower(), 0
            yield Part("", number, LEVELS)
        elif section == "text elements" and line.strip():
            begun = begun or number
            if ended := _TEXT_ID.search(line):
                yield Part(f"^{ended[1]}", begun, LEVELS)
                begun = 0
        elif section == "element links" and (linked := _LINK_ID.match(line)):
            yield Part(f"^{linked[1]}", number, LEVELS)


def _write(element: JSON, depth: int, made: Composition) -> None:
    made.place(one_line(_text(element, "id")), depth)
    text = _text(element, "rawText") or _text(element, "originalText") or _text(element, "text")
    link = link_target(_text(element, "link"))
    if text:
        made.markdown(text, depth)
    if target := _LINK.fullmatch(link):
        made.link(link, target[1], target[2] or "")
    elif link:
        made.paragraph(link)


def _text(element: JSON, name: str) -> str:
    value = element.get(name)
    return value if isinstance(value, str) else ""
