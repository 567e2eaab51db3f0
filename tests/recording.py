"""The animated picture of the README: from a search by meaning to the open note, typed and drawn as an SVG.

``scripts/record`` creates it. The session runs in a home with the sample vault. Each change of the screen
becomes a frame, shown for its original duration or less. The SVG contains no program and no address, only
text and its timing.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from xml.sax.saxutils import escape

import pyte

from live_terminal import LiveTerminal
from sessions import PROJECT, opened_home

PICTURE = PROJECT / "docs" / "find.svg"
COLUMNS, LINES = 100, 26
KEY_SECONDS = 0.11
"""Pause between two keys of a fast typist."""
LONGEST_SECONDS = 2.5
"""Maximum time for which an unchanged screen is shown."""
SHORTEST_SECONDS = 0.03
"""Time within which successive screens become one, because the program was still drawing."""

STORY: tuple[tuple[str, str], ...] = (
    ("type", "vaultseek"),
    ("key", "Enter"),
    ("until", "110 notes"),
    ("type", "snails eating the salad"),
    ("until", "▌ Slimy Visitors"),
    ("until", "Tried"),
    ("pause", ""),
    ("key", "Ctrl-U"),
    ("type", "E-4107"),
    ("until", "▌ E-4107 Service"),
    ("pause", ""),
    ("key", "Ctrl-U"),
    ("type", "pump alarm"),
    ("until", "Float Switch Wiring"),
    ("key", "Tab"),
    ("until", "tag:work"),
    ("pause", ""),
    ("key", "Tab"),
    ("pause", ""),
    ("key", "Enter"),
    ("until", "hybrid"),
    ("pause", ""),
    ("key", "Enter"),
    ("until", "All"),
    ("pause", ""),
)
"""The text to type, and the text to wait for afterwards."""

_CELL = (8.4, 18)
_MARGIN = 14
_GROUND, _INK = "#16181d", "#d7dae0"
_COLOURS = {
    "black": "#2a2e37",
    "red": "#f2777a",
    "green": "#8fc26b",
    "brown": "#e8bf6a",
    "yellow": "#e8bf6a",
    "blue": "#6fa8dc",
    "magenta": "#c497d8",
    "cyan": "#66c2cd",
    "white": "#d7dae0",
    "brightblack": "#8a92a2",
}
_FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


@dataclass(frozen=True)
class Run:
    """Adjacent cells of one style, starting at a column."""

    column: int
    text: str
    ink: str = _INK
    ground: str = _GROUND
    bold: bool = False
    cells: int = 0


Row = tuple[Run, ...]
Frame = tuple[Row, ...]


@dataclass
class Film:
    """The frames of a session, each with its time."""

    frames: list[tuple[float, Frame]]

    def take(self, screen: pyte.Screen) -> None:
        """Add the current screen if it has changed."""
        frame = frame_of(screen)
        if not self.frames or self.frames[-1][1] != frame:
            self.frames.append((time.monotonic(), frame))

    def timed(self) -> list[tuple[float, Frame]]:
        """Return the frames with their durations in seconds; none is too short or too long."""
        ends = [at for at, _ in self.frames[1:]] + [self.frames[-1][0] + LONGEST_SECONDS]
        lengths = [end - at for (at, _), end in zip(self.frames, ends, strict=True)]
        shown = [(length, frame) for length, (_, frame) in zip(lengths, self.frames, strict=True)]
        return [
            (min(length, LONGEST_SECONDS), frame) for length, frame in shown if length >= SHORTEST_SECONDS
        ]


def frame_of(screen: pyte.Screen) -> Frame:
    """Return the contents of a screen, row by row."""
    cursor = None if screen.cursor.hidden else (screen.cursor.y, screen.cursor.x)
    return tuple(tuple(_runs(screen, y, cursor)) for y in range(screen.lines))


def svg(frames: Sequence[tuple[float, Frame]], columns: int, lines: int) -> str:
    """Return the frames, each with its duration in seconds, as an endlessly repeating picture.

    For users who asked their system for reduced motion, it shows only the last frame.
    """
    width, height = columns * _CELL[0] + 2 * _MARGIN, lines * _CELL[1] + 2 * _MARGIN
    drawn = [
        [(y, part) for y, row in enumerate(frame) for part in _halves(row, columns)] for _, frame in frames
    ]
    numbers = {part: n for n, part in enumerate(dict.fromkeys(part for frame in drawn for _, part in frame))}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" xml:space="preserve" aria-label="A search that opens a note">',
        f"<style>{_style(frames, height)}</style>",
        f'<rect width="100%" height="100%" rx="8" fill="{_GROUND}"/>',
        "<defs>",
        *(_drawn(part, number) for part, number in numbers.items()),
        "</defs>",
        f'<svg x="{_MARGIN}" y="{_MARGIN}" width="{columns * _CELL[0]:g}" height="{lines * _CELL[1]}">',
        '<g class="film">',
    ]
    for number, frame in enumerate(drawn):
        parts.append(f'<g transform="translate(0 {number * height:g})">')
        parts += (f'<use href="#r{numbers[part]}" y="{y * _CELL[1]}"/>' for y, part in frame)
        parts.append("</g>")
    return "\n".join([*parts, "</g>", "</svg>", "</svg>"]) + "\n"


def record() -> None:
    """Play the story and write the picture."""
    with opened_home() as home:
        home.index()
        film = Film([])
        environment = {name: value for name, value in home.environment.items() if name != "NO_COLOR"}
        del environment["COLUMNS"]
        environment |= {"PS1": "$ ", "BASH_SILENCE_DEPRECATION_WARNING": "1"}
        environment["EDITOR"] = "env TERM=vt100 vi -u NONE -c 'set laststatus=0 ruler'"
        with LiveTerminal(
            ["bash", "--norc", "--noprofile", "-i"],
            cwd=home.folder / "notes",
            environment=environment,
            columns=COLUMNS,
            lines=LINES,
            on_output=film.take,
        ) as terminal:
            terminal.shows("$")
            for verb, what in STORY:
                _play(terminal, verb, what)
    PICTURE.write_text(svg(film.timed(), COLUMNS, LINES), encoding="utf-8")


def _play(terminal: LiveTerminal, verb: str, what: str) -> None:
    if verb == "until":
        terminal.shows(what)
    elif verb == "pause":
        _watch(terminal, LONGEST_SECONDS * 0.6)
    else:
        for key in what if verb == "type" else [what]:
            terminal.type(key)
            _watch(terminal, KEY_SECONDS)


def _watch(terminal: LiveTerminal, seconds: float) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        terminal.read(left)


def _runs(screen: pyte.Screen, y: int, cursor: tuple[int, int] | None) -> Iterator[Run]:
    cells = [(x, screen.buffer[y][x]) for x in range(screen.columns)]
    styled = [(x, cell.data, _look(cell, (y, x) == cursor)) for x, cell in cells]
    for look, group in groupby(styled, key=lambda each: each[2]):
        run = list(group)
        text = "".join(data for _, data, _ in run)
        if text.strip() or look[1] != _GROUND:
            yield Run(run[0][0], text, *look, cells=len(run))


def _look(cell: pyte.screens.Char, is_cursor: bool) -> tuple[str, str, bool]:
    ink, ground = _colour(cell.fg, _INK), _colour(cell.bg, _GROUND)
    if cell.reverse != is_cursor:
        ink, ground = ground, ink
    return ink, ground, cell.bold


def _colour(name: str, default: str) -> str:
    if name == "default":
        return default
    return _COLOURS.get(name) or _COLOURS.get(name.removeprefix("bright")) or f"#{name}"


def _style(frames: Sequence[tuple[float, Frame]], height: float) -> str:
    total = sum(seconds for seconds, _ in frames)
    began, steps = 0.0, []
    for number, (seconds, _) in enumerate(frames):
        steps.append(f"{100 * began / total:.3f}%{{transform:translateY({-number * height:g}px)}}")
        began += seconds
    last = -(len(frames) - 1) * height
    return (
        f"text{{font:14px {_FONT};white-space:pre;fill:{_INK}}}.b{{font-weight:bold}}"
        f".film{{transform:translateY({last:g}px);animation:play {total:.2f}s step-end infinite}}"
        f"@keyframes play{{{''.join(steps)}}}"
        "@media (prefers-reduced-motion:reduce){.film{animation:none}}"
    )


def _halves(row: Row, columns: int) -> Iterator[Row]:
    """Yield the left and the right part of a row; they change separately, and each is drawn only once."""
    for is_left in (True, False):
        if part := tuple(run for run in row if (run.column < columns // 2) == is_left):
            yield part


def _drawn(row: Row, number: int) -> str:
    return f'<g id="r{number}">{"".join(map(_drawn_run, row))}</g>'


def _drawn_run(run: Run) -> str:
    x, width = run.column * _CELL[0], run.cells * _CELL[0]
    ground = ""
    if run.ground != _GROUND:
        ground = f'<rect x="{x:.5g}" width="{width:.5g}" height="{_CELL[1]}" fill="{run.ground}"/>'
    text = run.text.rstrip()
    if not text:
        return ground
    left = len(run.text) - len(run.text.lstrip())
    x += left * _CELL[0]
    fill = "" if run.ink == _INK else f' style="fill:{run.ink}"'
    bold = ' class="b"' if run.bold else ""
    cells = run.cells - (len(run.text) - len(text)) - left
    length = f'textLength="{cells * _CELL[0]:.5g}"'
    return f'{ground}<text x="{x:.5g}" y="13" {length}{bold}{fill}>{escape(text.lstrip())}</text>'


if __name__ == "__main__":
    record()
