"""The preview of a note: the lines around the one that matches, with the words of the query marked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from vaultseek.base.model import JSON
from vaultseek.base.text import is_unspaced
from vaultseek.doors.cli.terminal import clean, width_of, wrap

Row = list[tuple[str, str]]
"""A line of the screen: parts of text, each with the name of its style."""

SHOWN_ABOVE = 3
"""The line that matches stands below one part in this many of the height, so that what leads to it shows."""
_ROWS_OF_A_LINE = 40
_LEAST_COLUMNS = 10


@dataclass(frozen=True)
class Preview:
    """Lines of a note from number ``first`` on; ``line`` is the number of the one that matches, or 0.

    ``words`` are the words that matched, as the note writes them.
    """

    lines: tuple[str, ...]
    first: int
    line: int
    words: tuple[str, ...] = ()

    def page(self, columns: int, height: int, scroll: int = 0) -> list[Row]:
        """Return what a window shows, ``scroll`` rows further down than where the line that matches leads."""
        rows, match = self._laid_out(columns)
        start = max(0, match - height // SHOWN_ABOVE) + scroll
        return rows[max(0, min(start, len(rows) - 1)) :][:height]

    def scrolled(self, by: int, columns: int, height: int, scroll: int) -> int:
        """Return the next ``scroll``, such that the window never leaves the note."""
        rows, match = self._laid_out(columns)
        start = max(0, match - height // SHOWN_ABOVE)
        return max(-start, min(scroll + by, max(0, len(rows) - height) - start, len(rows)))

    def _laid_out(self, columns: int) -> tuple[list[Row], int]:
        """Return all rows, and the number of the first one of the line that matches."""
        return _laid_out(self, columns)

    @cached_property
    def _marks(self) -> re.Pattern[str] | None:
        parts = [_pattern(word) for word in sorted(self.words, key=len, reverse=True)]
        return re.compile("|".join(parts), re.IGNORECASE) if parts else None

    def _rows(self, columns: int) -> Iterator[tuple[int, Row]]:
        digits = len(str(self.first + len(self.lines) - 1))
        room = max(_LEAST_COLUMNS, columns - digits - 2)
        for number, line in enumerate(self.lines, self.first):
            at = number == self.line
            gutter = f"{number:>{digits}}{'▌' if at else ' '} "
            for piece in _wrapped(line, room):
                yield number, [("match" if at else "number", gutter), *self._marked(piece)]
                gutter = " " * (digits + 1) + " "

    def _marked(self, text: str) -> Row:
        row: Row = []
        done = 0
        for match in self._marks.finditer(text) if self._marks else ():
            row += [("", text[done : match.start()]), ("word", match[0])]
            done = match.end()
        return [*row, ("", text[done:])]


def written_words(result: JSON) -> tuple[str, ...]:
    """Return the words that the result's preview marks, as they are written there."""
    preview = str(result.get("preview") or "")
    words = (preview[low:high] for low, high in result.get("highlights") or ())
    return tuple(dict.fromkeys(word for word in words if word.strip()))


@lru_cache(maxsize=8)
def _laid_out(preview: Preview, columns: int) -> tuple[list[Row], int]:
    rows = list(preview._rows(columns))
    match = next((place for place, (number, _) in enumerate(rows) if number == preview.line), 0)
    return [row for _, row in rows], match


def _pattern(word: str) -> str:
    """Return the expression that finds a word; one of a script with spaces only as a whole."""
    escaped = re.escape(word)
    return escaped if is_unspaced(word) else rf"(?<!\w){escaped}(?!\w)"


def _wrapped(line: str, columns: int) -> list[str]:
    """Return a line of a note in as many as it takes; those that fit keep every space."""
    text = clean(line.replace("\t", "    "))
    if width_of(text) <= columns:
        return [text]
    indent = " " * min(len(text) - len(text.lstrip()), columns // 2)
    return [indent + piece for piece in wrap(text, columns - len(indent), _ROWS_OF_A_LINE)] or [""]
