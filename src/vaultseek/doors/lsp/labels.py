"""Labels of footnotes (beginning with ``^``) and of reference links, and where a note defines and uses
them."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from vaultseek.base.model import Place
from vaultseek.content.markdown.links import label_key
from vaultseek.doors.lsp.documents import Text

CALLOUTS = (
    "note",
    "abstract",
    "info",
    "todo",
    "tip",
    "success",
    "question",
    "warning",
    "failure",
    "danger",
    "bug",
    "example",
    "quote",
)
"""The types of callouts in Obsidian."""
_DEFINITION = re.compile(r"(?:[ \t]{0,3}>)*[ \t]{0,3}\[(\^[^\s\[\]]+|[^\[\]^!]+)\]:")
_FOOTNOTE = re.compile(r"(?<![\[\\])\[(\^[^\s\[\]]+)\]")
_REFERENCE = re.compile(r"(?<![\w\[\]\\])\[[^\[\]]+\]\[([^\[\]^]+)\]")
_BACKTICKS = re.compile("`+")


class Label(NamedTuple):
    """A label in normalized form, with its place; ``defines`` is True if the label is defined there."""

    key: str
    place: Place
    defines: bool

    @property
    def message(self) -> str:
        """The message to show if the label is not defined."""
        kind = "footnote" if self.key.startswith("^") else "reference"
        return f"this note has no {kind} [{self.key}]; define it on a line that begins with [{self.key}]:"


def labels(text: Text) -> list[Label]:
    """Return the labels outside code in a note, in order."""
    note = text.note
    code = {line for block in note.code_blocks for line in range(block.line, block.end_line + 1)}
    lines = (number for number in range(note.body_line, len(text.lines) + 1) if number not in code)
    return [label for number in lines for label in _of_line(text.line(number), number)]


def undefined(text: Text) -> list[Label]:
    """Return the labels that a note uses but does not define."""
    found = labels(text)
    defined = {label.key for label in found if label.defines}
    return [label for label in found if label.key not in defined]


def label_at(text: Text, line: int, column: int) -> Label | None:
    """Return the label at a position, or None."""
    if any(block.line <= line <= block.end_line for block in text.note.code_blocks):
        return None
    found = _of_line(text.line(line), line)
    return next((each for each in found if each.place.start <= column <= each.place.end), None)


def definitions_and_uses(text: Text, label: Label) -> tuple[list[Label], list[Label]]:
    """Return the definitions of a label and its uses."""
    own = [each for each in labels(text) if each.key == label.key]
    return [each for each in own if each.defines], [each for each in own if not each.defines]


def _of_line(line: str, number: int) -> Iterator[Label]:
    if "[" not in line:
        return
    line = _without_code(line)
    start = 0
    if match := _DEFINITION.match(line):
        start = match.end()
        yield _label(match, number, defines=True)
    uses = [*_FOOTNOTE.finditer(line, start), *_REFERENCE.finditer(line, start)]
    for match in sorted(uses, key=lambda match: match.start()):
        yield _label(match, number, defines=False)


def _label(match: re.Match[str], number: int, *, defines: bool) -> Label:
    return Label(label_key(match[1]), Place(number, *match.span(1)), defines)


def _without_code(line: str) -> str:
    """Return a line with blanks in place of code spans. A code span ends at the next run of as many backticks
    as it begins with."""
    runs = [match.span() for match in _BACKTICKS.finditer(line)]
    ends: dict[int, list[int]] = {}
    for start, end in reversed(runs):
        ends.setdefault(end - start, []).append(end)
    parts, done = [], 0
    for start, end in runs:
        same = ends[end - start]
        same.pop()
        if start >= done and same:
            parts += [line[done:start], " " * (same[-1] - start)]
            done = same[-1]
    return "".join([*parts, line[done:]])
