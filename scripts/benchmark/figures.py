"""Figures: what was measured, the reference, and whether the target was reached."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

MILLISECONDS = 1e3
TURNS_SECONDS = 60.0


@dataclass(frozen=True)
class Figure:
    """One line of the table.

    ``ratio`` is the time divided by the reference's time, so less is better; None without a reference.
    ``met`` is true if the target was reached, None without a target. ``numbers`` go to the JSON file.
    ``guarded`` has ratios by row name, which the quick run compares with earlier ones.
    """

    row: str
    what: str
    measured: str
    reference: str = "–"
    target: str = "–"
    ratio: float | None = None
    met: bool | None = None
    numbers: dict[str, Any] = field(default_factory=dict)
    guarded: dict[str, float] = field(default_factory=dict)

    def json(self) -> dict[str, Any]:
        """Return the figure as an object of the JSON file."""
        return asdict(self)


@dataclass(frozen=True)
class Times:
    """Durations of many calls, in milliseconds."""

    values: tuple[float, ...]

    @classmethod
    def of(cls, milliseconds: Sequence[float]) -> Times:
        """Return the durations in ascending order."""
        return cls(tuple(sorted(milliseconds)))

    @property
    def p50(self) -> float:
        """The median."""
        return statistics.median(self.values)

    @property
    def p10(self) -> float:
        """The 10th percentile, the figure least affected by a busy machine."""
        return self.values[len(self.values) // 10]

    @property
    def p95(self) -> float:
        """The 95th percentile."""
        return self.values[min(len(self.values) - 1, int(len(self.values) * 0.95))]

    @property
    def most(self) -> float:
        """The longest."""
        return self.values[-1]

    def __str__(self) -> str:
        return f"p50 {number(self.p50)} ms, p95 {number(self.p95)} ms"

    def numbers(self, name: str) -> dict[str, float]:
        """Return median, 95th percentile, longest and count, for the JSON file."""
        figures = {"p50_ms": self.p50, "p95_ms": self.p95, "max_ms": self.most}
        prefix = f"{name}_" if name else ""
        return {prefix + key: round(value, 3) for key, value in figures.items()} | {
            f"{prefix}count": len(self.values)
        }


def alternate(
    sides: dict[str, Callable[[str], object]],
    queries: Sequence[str],
    *,
    block: int = 20,
    seconds: float = TURNS_SECONDS,
) -> dict[str, Times]:
    """Time every query on every side, in alternating turns of ``block`` queries, so that noise affects all
    sides alike.

    The first query of a turn is not counted, because the other side's turn has left caches cold. No turn
    begins after ``seconds``, in case the machine is too busy.
    """
    times: dict[str, list[float]] = {name: [] for name in sides}
    deadline = time.monotonic() + seconds
    for start in range(0, len(queries), block):
        if start and time.monotonic() > deadline:
            break
        for name, call in sides.items():
            call(queries[start])
            for query in queries[start + 1 : start + block]:
                began = time.perf_counter()
                call(query)
                times[name].append((time.perf_counter() - began) * MILLISECONDS)
    return {name: Times.of(values) for name, values in times.items()}


def number(value: float) -> str:
    """Return the number with two or three significant digits."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
