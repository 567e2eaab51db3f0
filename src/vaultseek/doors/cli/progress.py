"""Indexing progress: a bar on a terminal, otherwise a line every few seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from vaultseek.base.model import JSON
from vaultseek.doors.cli.terminal import clean, duration

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PROGRESS_LINE_SECONDS = 5.0
"""Minimum seconds between progress lines if there is no terminal."""
PROGRESS_LINE_SHARE = 0.25
"""Interval between progress lines as a share of the elapsed time, which gives about ten lines in two
minutes."""
BAR_COLUMNS = 30
NAME_COLUMNS = 20
"""Columns reserved for the name of a vault; on a narrow screen, the bar is shortened instead."""
STEP_COLUMNS = 54
"""Columns reserved for the description of a step; a longer description continues on a second line."""
DELAY_SECONDS = 0.5
"""Seconds before the progress of a search with ``--wait`` is shown."""

Show = Callable[[JSON], None]


@contextmanager
def progress(*, color: bool = True, quiet: bool = False, after: float = 0.0) -> Iterator[Show]:
    """Yield a function that shows ``index/progress`` notifications, but none in the first ``after``
    seconds."""
    if quiet:
        yield lambda _: None
        return
    begin = time.monotonic() + after
    with ExitStack() as screen:
        display: _Bars | _Lines | None = None

        def show(state: JSON) -> None:
            nonlocal display
            if display is None and time.monotonic() >= begin:
                is_terminal = sys.stderr.isatty()
                display = _Bars(screen.enter_context(_bars(color=color))) if is_terminal else _Lines()
            if display is not None:
                display.show(state)

        yield show


def summary(state: JSON) -> str:
    """Return the state of indexing as one line: the vault, the percentage done and the current step."""
    name = f"{clean(state['vault'])}: " if state.get("vault") else ""
    return name + " · ".join(part for part in (f"{percent(state)} %", doing(state)) if part)


def percent(state: JSON) -> int:
    """Return the percentage done, which is 100 only if everything is done."""
    return int(100 * float(state.get("share") or 0.0))


def doing(state: JSON) -> str:
    """Return a description of the current step and the remaining time, or "" if everything is done."""
    if state.get("doing"):
        return str(state["doing"])
    if state.get("phase") == "reading":
        total = int(state.get("notes_total") or 0)
        read = f"{int(state.get('notes_done') or 0):,} of {total:,}"
        return f"reading files, {read}" if total else "looking for changes"
    if state.get("phase") != "embedding":
        return ""
    if state.get("waiting_for"):
        return f"waiting: {clean(state['waiting_for'])}"
    parts = ["computing vectors"]
    if state.get("rate"):
        parts.append(f"{state['rate']:,.0f}/s")
    if state.get("eta_seconds"):
        parts.append(f"{duration(state['eta_seconds'])} left")
    return ", ".join(parts)


class _Lines:
    """Progress as lines: one whenever the phase of a vault changes, otherwise one at growing intervals."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._shown: dict[object, tuple[object, str, float]] = {}
        self._first_read: dict[object, tuple[float, int]] = {}

    def show(self, state: JSON) -> None:
        vault, now, line, phase = state.get("vault"), time.monotonic(), summary(state), state.get("phase")
        last_phase, last_line, due = self._shown.get(vault, (None, "", 0.0))
        if line == last_line or (phase == last_phase and now < due):
            return
        interval = max(PROGRESS_LINE_SECONDS, PROGRESS_LINE_SHARE * (now - self._begin))
        self._shown[vault] = (phase, line, now + interval)
        print(line + self._reading_rate(state, now), file=sys.stderr, flush=True)

    def _reading_rate(self, state: JSON, now: float) -> str:
        """Return the number of files read per second since the first line that counted them, or ""."""
        if state.get("phase") != "reading" or not state.get("notes_total"):
            return ""
        done = int(state.get("notes_done") or 0)
        first, before = self._first_read.setdefault(state.get("vault"), (now, done))
        return f", {(done - before) / (now - first):,.0f}/s" if done > before and now > first else ""


class _Bars:
    """Progress as a bar for each vault. A bar never moves back, although the share done is an estimate."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}
        self._percents: dict[str, int] = {}

    def show(self, state: JSON) -> None:
        vault = clean(state.get("vault") or "")
        if vault not in self._tasks:
            self._tasks[vault] = self._bars.add_task(vault, total=100, doing="")
        done = self._percents[vault] = max(self._percents.get(vault, 0), percent(state))
        text = f"{done} % · {doing(state)}".removesuffix(" · ")
        self._bars.update(self._tasks[vault], completed=done, doing=text)


def _bars(*, color: bool) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn
    from rich.table import Column

    console = Console(stderr=True, no_color=not color, highlight=False)
    room = console.width - STEP_COLUMNS - 2
    bar = max(4, min(BAR_COLUMNS, room - NAME_COLUMNS))
    return Progress(
        TextColumn(
            "{task.description}",
            markup=False,
            table_column=Column(max_width=max(8, room - bar), no_wrap=True),
        ),
        BarColumn(bar_width=bar),
        TextColumn("{task.fields[doing]}", markup=False, table_column=Column()),
        console=console,
        transient=True,
    )
