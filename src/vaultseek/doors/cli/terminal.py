"""Text for a terminal: colours, widths, hyperlinks and escaping of control characters."""

from __future__ import annotations

import os
import re
from functools import cache

from vaultseek.base import limits
from vaultseek.base.text import acts_on_terminal, escape_controls
from vaultseek.base.text import count as count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TextIO

TERMINAL_COLUMNS_LEAST = 40
TERMINAL_COLUMNS_MOST = 120
"""Maximum width of text in columns; longer lines are hard to read."""
TERMINAL_LINES = 24

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "magenta": "35", "blue": "34", "cyan": "36"}
_BREAKS = {ord(c): " " for c in "\t\r\n"}
_LINK = r"\x1b\]8;;[^\x1b]*\x1b\\"
_ESCAPE = rf"\x1b\[[0-9;]*m|{_LINK}"
_WITHOUT_LINKS = ("dumb", "linux", "cons25", "vt100", "vt220", "emacs", "eterm-color")
_BLOCKS = " ▏▎▍▌▋▊▉█"
_EMPTY_CELL = "·"


class Terminal:
    """Features of an output: colour, hyperlinks, width and height.

    If the output is a pipe or a file instead of a ``screen``, nothing is cut or wrapped.
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
        """Return ``text`` in the given styles, if this terminal supports colour."""
        if not self.color or not text:
            return text
        return f"\x1b[{';'.join(_STYLES[style] for style in styles)}m{text}\x1b[0m"

    def link(self, text: str, file: str) -> str:
        """Return ``text`` as a hyperlink to the absolute path ``file``, if this terminal supports
        hyperlinks."""
        if not self.links or not text or not file.startswith("/"):
            return text
        from urllib.parse import quote

        address = f"file://{quote(_host(), safe='')}{quote(os.fsencode(file), safe='/')}"
        return f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\"

    def fit(self, text: str, columns: int) -> str:
        """Return ``text``, cut to ``columns`` columns if this terminal is a screen."""
        return cut(text, columns) if self.screen else text

    def listed(self, parts: Sequence[str], *, margin: str = "", between: str = " · ") -> list[str]:
        """Return lines that contain the parts side by side; on a screen, long lines are wrapped.

        A part is broken, at its spaces, only if the part is longer than a line.
        """
        lines: list[str] = []
        for part in parts:
            longer = f"{lines[-1]}{between}{part}" if lines else margin + part
            if not self.screen or _visible_width(longer) <= self.width:
                lines[-1:] = [longer]
            elif lines:
                lines += self.wrapped(part, margin=f"{margin}  ")
            else:
                lines = self.wrapped(part, margin=margin, hanging="  ")
        return lines

    def wrapped(self, text: str, *, margin: str = "", hanging: str = "") -> list[str]:
        """Return the lines of ``text``, wrapped at spaces if this is a screen; ``hanging`` indents all lines
        except the first."""
        if not self.screen:
            return [margin + text]
        lines: list[str] = []
        for word in text.split(" "):
            longer = f"{lines[-1]} {word}" if lines else margin + word
            if lines and _visible_width(longer) > self.width:
                lines.append(margin + hanging + word)
            else:
                lines[-1:] = [longer]
        return lines

    def tabled(
        self, rows: Sequence[Sequence[str]], *, right: Iterable[int] = (), margin: str = ""
    ) -> list[str]:
        """Return the lines of a table; if the screen is too narrow, the last columns of each row continue on
        the lines below the row."""
        cells = _aligned(rows, right)
        parts = self._side_by_side([width_of(cell) for cell in cells[0]], len(margin))
        lines = []
        for row in cells:
            for number, part in enumerate(parts):
                line = "  ".join(row[part]).rstrip()
                if line or not number:
                    lines.append(f"{margin}{'  ' * (number > 0)}{line}")
        return lines

    def tabled_or_listed(self, rows: Sequence[Sequence[str]], *, margin: str = "") -> list[str]:
        """Return the lines of a table if the screen is wide enough; otherwise, the lines of each row as
        formatted by ``listed``."""
        lines = [margin + line for line in table(rows)]
        if not self.screen or max(map(_visible_width, lines), default=0) <= self.width:
            return lines
        return [line for row in rows for line in self.listed(row, margin=margin, between="  ")]

    def _side_by_side(self, widths: Sequence[int], margin: int) -> list[slice]:
        starts, used = [0], margin
        for column, width in enumerate(widths):
            if self.screen and column > starts[-1] and used + width > self.width:
                starts.append(column)
                used = margin + 2
            used += width + 2
        return [slice(start, end) for start, end in zip(starts, [*starts[1:], len(widths)], strict=True)]

    def bar(self, share: float, cells: int = 8) -> str:
        """Return a bar of ``cells`` columns that shows ``share`` (0 to 1), with the filled part in colour."""
        text = bar(share, cells)
        filled = text.rstrip(_EMPTY_CELL)
        return self.paint(filled, "green") + self.paint(text[len(filled) :], "dim")


def bar(share: float, cells: int) -> str:
    """Return a bar of ``cells`` columns, filled to ``share`` (0 to 1) in eighths of a column."""
    full, rest = divmod(round(max(0.0, min(1.0, share)) * cells * 8), 8)
    filled = _BLOCKS[-1] * full + (_BLOCKS[rest] if rest else "")
    return filled + _EMPTY_CELL * (cells - len(filled))


def terminal(stream: TextIO, *, color: bool = True) -> Terminal:
    """Return the terminal for ``stream``; it has colour if the stream supports colour and ``color`` is
    true."""
    screen, kind = stream.isatty(), os.environ.get("TERM", "dumb")
    escapes = color and screen and kind != "dumb" and not os.environ.get("NO_COLOR")
    width, height = _size(stream)
    links = escapes and kind not in _WITHOUT_LINKS
    return Terminal(color=escapes, width=width, height=height, links=links, screen=screen)


def page_text(text: str) -> None:
    """Show ``text`` in ``$PAGER``, by default less; print it if ``$PAGER`` is empty or invalid."""
    import shlex

    import click

    # With -R, less shows colours and links; with -X, it leaves the text on the screen; with -F, it exits if
    # everything fits. The user's own LESS variable takes precedence.
    os.environ.setdefault("LESS", "-FRX")
    try:
        pager = shlex.split(os.environ.get("PAGER", "less"))
    except ValueError:
        pager = []
    if not pager:
        print(text)
        return
    raw = os.path.basename(pager[0]).partition(".")[0] == "less" and "r" in os.environ["LESS"].casefold()
    click.echo_via_pager(text if raw else without_links(text))


def without_links(text: str) -> str:
    """Return ``text`` without hyperlinks."""
    return re.sub(_LINK, "", text)


def clean(text: object) -> str:
    """Return ``text`` on one line; characters that a terminal would act on are escaped, for example as
    ``\\x1b``."""
    line = str(text)
    return line if line.isprintable() else escape_controls(line.replace("\r\n", " ").translate(_BREAKS))


def shell_quoted(name: str) -> str:
    """Return a file name, quoted for a shell if it contains characters that a terminal would act on, for
    example as ``$'a\\x1b'``."""
    if name.isprintable() or not any(map(acts_on_terminal, name)):
        return name
    literal = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"$'{''.join(_shell_escape(c) if acts_on_terminal(c) else c for c in literal)}'"


def _shell_escape(character: str) -> str:
    # A shell would read \x85 as a single byte, which is not valid UTF-8.
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def clean_json(text: str) -> str:
    """Return equivalent JSON text in which characters that a terminal would act on are escaped."""
    if text.isprintable():
        return text
    return "".join(_json_escape(c) if acts_on_terminal(c) else c for c in text)


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def width_of(text: str) -> int:
    """Return the width of ``text`` in columns; wide characters count as two, combining characters as none."""
    if text.isascii():
        return len(text)
    return sum(map(_cells, text))


def cut(text: str, columns: int) -> str:
    """Return ``text`` cut to at most ``columns`` columns, with an ellipsis if it was cut."""
    if width_of(text) <= columns:
        return text
    used = 0
    for index, character in enumerate(text):
        used += _cells(character)
        if used > columns - 1:
            return text[:index].rstrip() + "…"
    return text


def wrap(text: str, columns: int, lines: int) -> list[str]:
    """Return ``text`` as at most ``lines`` lines of ``columns`` columns, wrapped at spaces where possible."""
    wrapped: list[str] = []
    rest = " ".join(text.split())
    while rest and len(wrapped) < lines - 1:
        line, rest = _first_line(rest, columns)
        wrapped.append(line)
    return [*wrapped, cut(rest, columns)] if rest else wrapped


def size(number: float) -> str:
    """Return a number of bytes as text with a unit, such as ``412 MB``."""
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}"
        number /= 1024
    return f"{number:.1f} GB"


def duration(seconds: float) -> str:
    """Return a duration in at most two units, such as ``2 h 3 min``."""
    whole = max(0, round(seconds))
    units = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
    parts: list[str] = []
    for name, length in units:
        amount, whole = divmod(whole, length)
        if amount or parts:
            parts.append(f"{amount} {name}" if amount else "")
    return " ".join(part for part in parts[:2] if part) or "0 s"


def age(modified: object, now: float) -> str:
    """Return roughly how long ago a time was, or "" for a value that is not a time. The time is given in
    seconds since 1970 or in ISO 8601."""
    timestamp = _timestamp(modified)
    if timestamp is None:
        return ""
    seconds = now - timestamp
    if seconds < 60:
        return "just now" if seconds > -60 else "in the future"
    for name, length in (("year", 365.25), ("month", 30.44), ("week", 7.0), ("day", 1.0)):
        if seconds >= length * 86_400:
            return f"{count(int(seconds // (length * 86_400)), name)} ago"
    return f"{int(seconds // 3600)} h ago" if seconds >= 3600 else f"{int(seconds // 60)} min ago"


def table(rows: Sequence[Sequence[str]], *, right: Iterable[int] = ()) -> list[str]:
    """Return rows of equal length as lines with aligned columns; the columns in ``right`` are
    right-aligned."""
    return ["  ".join(row).rstrip() for row in _aligned(rows, right)]


def _aligned(rows: Sequence[Sequence[str]], right: Iterable[int]) -> list[list[str]]:
    widths = [max(map(width_of, column)) for column in zip(*rows, strict=True)]
    right_columns = set(right)
    return [
        [
            _padded(cell, width, right=column in right_columns)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        for row in rows
    ]


def _size(stream: TextIO) -> tuple[int, int]:
    try:
        columns, lines = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError, AttributeError):
        columns, lines = 0, 0
    columns = _environment_number("COLUMNS") or columns or limits.TERMINAL_COLUMNS
    lines = _environment_number("LINES") or lines or TERMINAL_LINES
    return max(TERMINAL_COLUMNS_LEAST, min(columns, TERMINAL_COLUMNS_MOST)), lines


def _environment_number(name: str) -> int:
    value = os.environ.get(name, "")
    return int(value) if value.isdecimal() else 0


@cache
def _host() -> str:
    # The terminal must not mistake a path on a remote machine, reached by ssh, for a local path.
    return os.uname().nodename


def _visible_width(text: str) -> int:
    return width_of(re.sub(_ESCAPE, "", text) if "\x1b" in text else text)


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
    for index, character in enumerate(text):
        used += _cells(character)
        if character == " ":
            space = index
        if used > columns:
            end = space or index or 1
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
