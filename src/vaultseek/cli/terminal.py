"""Text for a person's terminal: colour or none, its width, and nothing that the terminal would act on."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TextIO

from vaultseek import limits
from vaultseek.text import acts_on_terminal, escape_controls

TERMINAL_COLUMNS_LEAST = 40
TERMINAL_COLUMNS_MOST = 120
"""Wider than this, lines are hard to read."""
TERMINAL_LINES = 24

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
_BREAKS = {ord(c): " " for c in "\t\r\n"}
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;;[^\x1b]*\x1b\\")
_LINKS = re.compile(r"\x1b\]8;;[^\x1b]*\x1b\\")
_WITHOUT_LINKS = ("dumb", "linux", "cons25", "vt100", "vt220", "emacs", "eterm-color")
_BLOCKS = " ▏▎▍▌▋▊▉█"


class Terminal:
    """Where text goes: whether in colour and with links, and how many columns and lines there are to see it.

    What is no ``screen`` gets everything at full length: it is read by a program, or later.
    """

    __slots__ = ("color", "height", "links", "screen", "width")

    def __init__(
        self,
        *,
        color: bool = False,
        width: int = limits.TERMINAL_COLUMNS,
        height: int = TERMINAL_LINES,
        links: bool = False,
        screen: bool = True,
    ) -> None:
        self.color = color
        self.width = width
        self.height = height
        self.links = links
        self.screen = screen

    def paint(self, text: str, *styles: str) -> str:
        """``text`` in the styles named, if this terminal has colour."""
        if not self.color or not text:
            return text
        return f"\x1b[{';'.join(_STYLES[style] for style in styles)}m{text}\x1b[0m"

    def link(self, text: str, file: str) -> str:
        """``text`` that leads to ``file``, an absolute path, when clicked on, where that is possible."""
        if not self.links or not text or not file.startswith("/"):
            return text
        from urllib.parse import quote

        address = f"file://{quote(_host(), safe='')}{quote(os.fsencode(file), safe='/')}"
        return f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\"

    def fit(self, text: str, columns: int) -> str:
        """``text`` cut to ``columns`` columns, if this is a screen."""
        return cut(text, columns) if self.screen else text

    def listed(self, parts: Sequence[str], *, margin: str = "", between: str = " · ") -> list[str]:
        """Parts in a row, on a screen in as many lines as they take.

        A part is broken only if it is longer than a line, and at spaces.
        """
        lines: list[str] = []
        for part in parts:
            longer = f"{lines[-1]}{between}{part}" if lines else margin + part
            if not self.screen or _seen(longer) <= self.width:
                lines[-1:] = [longer]
            elif lines:
                lines += self.wrapped(part, margin=f"{margin}  ")
            else:
                lines = self.wrapped(part, margin=margin, hanging="  ")
        return lines

    def wrapped(self, text: str, *, margin: str = "", hanging: str = "") -> list[str]:
        """``text``, on a screen broken at spaces; all lines but the first stand further in by ``hanging``."""
        if not self.screen:
            return [margin + text]
        lines: list[str] = []
        for word in text.split(" "):
            longer = f"{lines[-1]} {word}" if lines else margin + word
            if lines and _seen(longer) > self.width:
                lines.append(margin + hanging + word)
            else:
                lines[-1:] = [longer]
        return lines

    def tabled(
        self, rows: Sequence[Sequence[str]], *, right: Iterable[int] = (), margin: str = ""
    ) -> list[str]:
        """A table; on a screen that is too narrow the last columns of each row stand below its first ones."""
        cells = _aligned(rows, right)
        made = []
        for row in cells:
            for number, part in enumerate(
                self._side_by_side([width_of(cell) for cell in cells[0]], len(margin))
            ):
                line = "  ".join(row[part]).rstrip()
                if line or not number:
                    made.append(f"{margin}{'  ' * (number > 0)}{line}")
        return made

    def tabled_or_listed(self, rows: Sequence[Sequence[str]], *, margin: str = "") -> list[str]:
        """A table where the screen is wide enough for it, else each row by itself as ``listed``."""
        lines = [margin + line for line in table(rows)]
        if not self.screen or max(map(_seen, lines), default=0) <= self.width:
            return lines
        return [line for row in rows for line in self.listed(row, margin=margin, between="  ")]

    def _side_by_side(self, widths: Sequence[int], margin: int) -> list[slice]:
        """Which columns fit beside each other, the first of them by themselves."""
        starts, used = [0], margin
        for at, width in enumerate(widths):
            if self.screen and at > starts[-1] and used + width > self.width:
                starts.append(at)
                used = margin + 2
            used += width + 2
        return [slice(start, end) for start, end in zip(starts, [*starts[1:], len(widths)], strict=True)]

    def bar(self, share: float, cells: int = 8) -> str:
        """A bar of ``cells`` columns, filled by ``share`` (0 to 1) to an eighth of a column."""
        eighths = round(max(0.0, min(1.0, share)) * cells * 8)
        full, rest = divmod(eighths, 8)
        filled = _BLOCKS[-1] * full + (_BLOCKS[rest] if rest else "")
        return self.paint(filled, "green") + self.paint("·" * (cells - len(filled)), "dim")


def terminal(stream: TextIO, *, color: bool = True) -> Terminal:
    """The terminal behind ``stream``; colour and links only where wanted, possible and not forbidden."""
    screen, kind = stream.isatty(), os.environ.get("TERM", "dumb")
    escapes = color and screen and kind != "dumb" and not os.environ.get("NO_COLOR")
    width, height = _size(stream)
    links = escapes and kind not in _WITHOUT_LINKS
    return Terminal(color=escapes, width=width, height=height, links=links, screen=screen)


def without_links(text: str) -> str:
    """``text`` without the marks of ``Terminal.link``."""
    return _LINKS.sub("", text)


def clean(text: object) -> str:
    """One line of ``text`` with escapes, ``\\x1b``, in place of everything that a terminal would act on."""
    line = str(text)
    return line if line.isprintable() else escape_controls(line.replace("\r\n", " ").translate(_BREAKS))


def clean_json(text: str) -> str:
    """JSON with the same meaning, in which nothing is left that a terminal would act on."""
    if text.isprintable():
        return text
    return "".join(f"\\u{ord(c):04x}" if acts_on_terminal(c) else c for c in text)


def width_of(text: str) -> int:
    """How many columns ``text`` takes: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(map(_cells, text))


def cut(text: str, columns: int) -> str:
    """``text`` in at most ``columns`` columns, with an ellipsis where some was left out."""
    if width_of(text) <= columns:
        return text
    used = 0
    for at, character in enumerate(text):
        used += _cells(character)
        if used > columns - 1:
            return text[:at].rstrip() + "…"
    return text


def wrap(text: str, columns: int, lines: int) -> list[str]:
    """``text`` in at most ``lines`` lines of ``columns`` columns, broken at spaces where there are any."""
    made: list[str] = []
    rest = " ".join(text.split())
    while rest and len(made) < lines - 1:
        line, rest = _first_line(rest, columns)
        made.append(line)
    return [*made, cut(rest, columns)] if rest else made


def count(number: int, one: str, many: str | None = None) -> str:
    """``1 note``, ``1,003 notes``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def size(number: float) -> str:
    """Bytes in words: ``412 MB``."""
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}"
        number /= 1024
    return f"{number:.1f} GB"


def duration(seconds: float) -> str:
    """Seconds in words, in at most two units: ``2 h 3 min``."""
    whole = max(0, round(seconds))
    units = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
    parts: list[str] = []
    for name, length in units:
        amount, whole = divmod(whole, length)
        if amount or parts:
            parts.append(f"{amount} {name}" if amount else "")
    return " ".join(part for part in parts[:2] if part) or "0 s"


def age(modified: object, now: float) -> str:
    """How long ago a time (seconds since 1970, or ISO 8601) was, roughly; empty for what is no time."""
    then = _timestamp(modified)
    if then is None:
        return ""
    seconds = now - then
    if seconds < 60:
        return "just now" if seconds > -60 else "in the future"
    for name, length in (("year", 365.25), ("month", 30.44), ("week", 7.0), ("day", 1.0)):
        if seconds >= length * 86_400:
            return f"{count(int(seconds // (length * 86_400)), name)} ago"
    return f"{int(seconds // 3600)} h ago" if seconds >= 3600 else f"{int(seconds // 60)} min ago"


def table(rows: Sequence[Sequence[str]], *, right: Iterable[int] = ()) -> list[str]:
    """Rows of equal length as lines with aligned columns; the columns in ``right`` are flushed right."""
    return ["  ".join(row).rstrip() for row in _aligned(rows, right)]


def _aligned(rows: Sequence[Sequence[str]], right: Iterable[int]) -> list[list[str]]:
    widths = [max(map(width_of, column)) for column in zip(*rows, strict=True)]
    aligned = set(right)
    return [
        [
            _padded(cell, width, right=at in aligned)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        for row in rows
    ]


def _size(stream: TextIO) -> tuple[int, int]:
    try:
        columns, lines = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError, AttributeError):
        columns, lines = 0, 0
    columns, lines = (
        int(named) if (named := os.environ.get(name, "")).isdecimal() and int(named) > 0 else there
        for name, there in (("COLUMNS", columns), ("LINES", lines))
    )
    columns = columns or limits.TERMINAL_COLUMNS
    width = max(TERMINAL_COLUMNS_LEAST, min(columns, TERMINAL_COLUMNS_MOST))
    return width, lines or TERMINAL_LINES


@cache
def _host() -> str:
    # Over ssh a terminal must not take the path for one of its own machine.
    return os.uname().nodename


def _seen(text: str) -> int:
    """The columns of a text with escapes of ours."""
    return width_of(_ESCAPES.sub("", text) if "\x1b" in text else text)


def _cells(character: str) -> int:
    if character < "\u0300":
        return 1
    import unicodedata

    if unicodedata.combining(character) or character in "\u200b\u200c\u200d\ufe0e\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _first_line(text: str, columns: int) -> tuple[str, str]:
    used = 0
    space = 0
    for at, character in enumerate(text):
        used += _cells(character)
        if character == " ":
            space = at
        if used > columns:
            end = space or at or 1
            return text[:end].rstrip(), text[end:].lstrip()
    return text, ""


def _padded(cell: str, width: int, *, right: bool) -> str:
    gap = " " * (width - width_of(cell))
    return gap + cell if right else cell + gap


def _timestamp(value: object) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, str):
        return None
    from datetime import datetime

    try:
        return datetime.fromisoformat(value).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def plain_output() -> None:
    """Let nothing that is printed fail for the sake of the terminal's character set."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
