"""Progress of indexing as one number: a bar on a terminal, otherwise a line every few seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from vaultseek.cli.terminal import clean, duration
from vaultseek.model import JSON

if TYPE_CHECKING:
    from rich.progress import Progress

PROGRESS_LINE_SECONDS = 5.0
"""Interval of progress lines without a terminal."""
PATIENCE_SECONDS = 0.5
"""Time after which somebody who waits for an answer is told what for."""

Show = Callable[[JSON], None]


@contextmanager
def progress(*, color: bool = True, quiet: bool = False, after: float = 0.0) -> Iterator[Show]:
    """Yield a function that shows an ``index/progress`` notification, from ``after`` seconds on."""
    if quiet:
        yield lambda _: None
        return
    begin = time.monotonic() + after
    with ExitStack() as screen:
        display: _Bar | _Lines | None = None

        def show(state: JSON) -> None:
            nonlocal display
            if display is None and time.monotonic() >= begin:
                is_terminal = sys.stderr.isatty()
                display = _Bar(screen.enter_context(_bars(color=color))) if is_terminal else _Lines()
            if display is not None:
                display.show(state)

        yield show


def summary(state: JSON) -> str:
    """Return the state of indexing as one line: how much is done, and what is being done."""
    name = f"{clean(state['vault'])}: " if state.get("vault") else ""
    return name + " · ".join(part for part in (f"{percent(state)} %", doing(state)) if part)


def percent(state: JSON) -> int:
    """Return how much is done, 100 only if that is everything."""
    return int(100 * float(state.get("share") or 0.0))


def doing(state: JSON) -> str:
    """Say what is being done, and how long it will take; nothing if all is done."""
    if state.get("phase") == "reading":
        total = int(state.get("notes_total") or 0)
        read = f"{int(state.get('notes_done') or 0):,} of {total:,}"
        return f"reading notes, {read}" if total else "looking for changes"
    if state.get("phase") != "embedding":
        return ""
    if state.get("waiting_for"):
        return f"waiting for the model: {clean(state['waiting_for'])}"
    parts = ["computing vectors"]
    if state.get("rate"):
        parts.append(f"{state['rate']:,.0f}/s")
    if state.get("eta_seconds"):
        parts.append(f"{duration(state['eta_seconds'])} left")
    return ", ".join(parts)


class _Lines:
    """Lines: one when the phase changes, otherwise one every few seconds if anything changed."""

    def __init__(self) -> None:
        self._phase: object = None
        self._line = ""
        self._due = 0.0

    def show(self, state: JSON) -> None:
        now, line = time.monotonic(), summary(state)
        if line == self._line or (state.get("phase") == self._phase and now < self._due):
            return
        self._phase, self._line = state.get("phase"), line
        self._due = now + PROGRESS_LINE_SECONDS
        print(line, file=sys.stderr, flush=True)


class _Bar:
    """A bar of the vault, which never goes back although the share is an estimate."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._task = bars.add_task("", total=100, doing="")
        self._percent = 0

    def show(self, state: JSON) -> None:
        self._percent = max(self._percent, percent(state))
        self._bars.update(
            self._task,
            description=clean(state.get("vault") or ""),
            completed=self._percent,
            doing=f"{self._percent} % · {doing(state)}".removesuffix(" · "),
        )


def _bars(*, color: bool) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    console = Console(stderr=True, no_color=not color, highlight=False)
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[doing]}", markup=False),
        console=console,
        transient=True,
    )
