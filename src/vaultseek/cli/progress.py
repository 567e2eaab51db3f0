"""Progress of indexing: bars on a terminal, otherwise a line every few seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from vaultseek.cli.terminal import clean, count, duration
from vaultseek.model import JSON

if TYPE_CHECKING:
    from rich.progress import Progress

PROGRESS_LINE_SECONDS = 5.0
"""Interval of progress lines without a terminal."""

Show = Callable[[JSON], None]


@contextmanager
def progress(*, color: bool = True, quiet: bool = False) -> Iterator[Show]:
    """Yield a function that shows an ``index/progress`` notification."""
    if quiet:
        yield lambda _: None
    elif sys.stderr.isatty():
        with _bars(color=color) as bars:
            yield _Bars(bars).show
    else:
        yield _Lines().show


def summary(state: JSON) -> str:
    """Return the state of indexing as one line: notes, passages, rate, time left."""
    parts = [f"{_counts(*_notes(state))} notes", _passages(state), _waiting(state)]
    if state.get("rate"):
        parts.append(f"{state['rate']:,.0f}/s")
    if state.get("eta_seconds"):
        parts.append(f"{duration(state['eta_seconds'])} left")
    name = f"{clean(state['vault'])}: " if state.get("vault") else ""
    return name + " · ".join(part for part in parts if part)


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


class _Bars:
    """Two bars: notes with an index of their words, passages with an embedding."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._notes = bars.add_task("notes", total=None, rest="")
        self._passages = bars.add_task("passages", total=None, rest="")

    def show(self, state: JSON) -> None:
        notes, total = _notes(state)
        self._bars.update(self._notes, completed=notes, total=total or None, rest=_counts(notes, total))
        embedded, chunks = int(state.get("embedded") or 0), state.get("chunks")
        rest = " · ".join(
            part for part in (_counts(embedded, chunks), _waiting(state), *_pace(state)) if part
        )
        # Notes have vectors, too, beside those of their passages: the bar is full when both are done.
        texts = embedded + int(state.get("pending") or 0)
        self._bars.update(self._passages, completed=embedded, total=texts if chunks else None, rest=rest)


def _bars(*, color: bool) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    console = Console(stderr=True, no_color=not color, highlight=False)
    return Progress(
        TextColumn("{task.description:<8}", markup=False),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[rest]}", markup=False),
        console=console,
        transient=True,
    )


def _pace(state: JSON) -> tuple[str, ...]:
    rate = f"{state['rate']:,.0f}/s" if state.get("rate") else ""
    left = f"{duration(state['eta_seconds'])} left" if state.get("eta_seconds") else ""
    return rate, left


def _counts(done: int, total: object) -> str:
    return f"{done:,}/{total:,}" if isinstance(total, int) and total else f"{done:,}"


def _notes(state: JSON) -> tuple[int, int]:
    """Return the notes indexed so far and in total; both are all notes if none is being indexed."""
    total = int(state.get("notes_total") or 0)
    if total:
        return int(state.get("notes_done") or 0), total
    return int(state.get("notes") or 0), int(state.get("notes") or 0)


def _waiting(state: JSON) -> str:
    return f"{count(int(state['pending']), 'text')} to go" if state.get("pending") else ""


def _passages(state: JSON) -> str:
    if not state.get("chunks"):
        return ""
    return f"{_counts(int(state.get('embedded') or 0), state['chunks'])} passages embedded"
