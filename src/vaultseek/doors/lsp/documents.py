"""The text of each note that is open in the editor. As in LSP, lines end only at LF, CR LF or CR."""

import re
from array import array
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from pathlib import Path

from lsprotocol import types
from pygls.workspace import PositionCodec, TextDocument, Workspace

from vaultseek.base.model import Note, Place
from vaultseek.content.files.read import read_note
from vaultseek.content.markdown.decode import decode
from vaultseek.content.markdown.frontmatter import REJECTED
from vaultseek.content.markdown.parse import parse
from vaultseek.core.notes.anchors import Anchors

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|\Z)")


class NoteDocument(TextDocument):
    """An open document whose lines end only at LF, CR LF or CR; pygls also splits at other separators."""

    @property
    def lines(self) -> Sequence[str]:
        """Return the lines with their line endings; the last line has no ending and may be empty."""
        source = self.source
        lines = _LINE.findall(source)
        return lines[:-1] if len(lines) > 1 and not source.endswith(("\n", "\r")) else lines


class NoteWorkspace(Workspace):
    """The client's open documents and workspace folders."""

    def _create_text_document(
        self,
        doc_uri: str,
        source: str | None = None,
        version: int | None = None,
        language_id: str | None = None,
    ) -> TextDocument:
        return NoteDocument(
            doc_uri,
            source,
            version,
            language_id,
            sync_kind=self._sync_kind,
            position_codec=self._position_codec,
        )


class Text:
    """One version of a document's text, as lines without line endings. It converts positions from and to the
    client's units."""

    def __init__(self, source: str, path: str, codec: PositionCodec, version: int | None = None) -> None:
        self.source = source
        self.version = version
        self.path = path
        self.lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._codec = codec
        self._units: tuple[int, array[int]] = (0, array("q"))

    @cached_property
    def note(self) -> Note:
        """The text as a note, parsed on first use."""
        return parse(self.source, self.path)

    @property
    def has_open_properties(self) -> bool:
        """True if the user is writing properties and has not closed the frontmatter yet; they are then parsed
        as text."""
        return self.note.body_line == 1 and any(problem.code in REJECTED for problem in self.note.problems)

    @cached_property
    def anchors(self) -> Anchors:
        """The headings and blocks to which links can refer."""
        return Anchors(self.note.headings, self.note.blocks)

    def line(self, number: int) -> str:
        """Return a line by its number (1-based), or "" beyond the end."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    def place(self, position: types.Position) -> tuple[int, int]:
        """Return the line (1-based) and the column (0-based) of a position sent by the client."""
        line = self.line(position.line + 1)
        before = types.Position(0, position.character)
        return position.line + 1, min(
            self._codec.position_from_client_units([line + "\n"], before).character, len(line)
        )

    def position(self, line: int, column: int) -> types.Position:
        """Return the position, in the client's units, of a line (1-based) and a column (0-based)."""
        text, column = self.line(line), max(0, column)
        if text.isascii():
            return types.Position(line - 1, min(column, len(text)))
        if self._units[0] != line:
            # A line may contain thousands of links, so its client units are counted once for all of them.
            each = map(self._codec.client_num_units, text)
            self._units = line, array("q", accumulate(each, initial=0))
        units = self._units[1]
        return types.Position(line - 1, units[min(column, len(text))])

    def range(self, place: Place) -> types.Range:
        """Return the range, in the client's units, of a place."""
        line, start, end = place
        return types.Range(self.position(line, start), self.position(line, end))

    def whole_line(self, number: int) -> types.Range:
        """Return the range, in the client's units, of a line without its line ending."""
        return self.range(Place(number, 0, len(self.line(number))))


def start_of_line(number: int) -> types.Range:
    """Return the empty range at the beginning of a line (1-based)."""
    start = types.Position(number - 1, 0)
    return types.Range(start, start)


def text_on_disk(root: str, path: str, codec: PositionCodec) -> Text | None:
    """Return the text of a note on disk, or None if it cannot be read."""
    file = read_note(Path(root), path)
    if file is None or file.problem is not None:
        return None
    source, _ = decode(file.data)
    return Text(source.removeprefix("\ufeff"), path, codec)
