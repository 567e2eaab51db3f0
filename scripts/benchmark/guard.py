"""The guard of CI: no ratio of the quick run may be more than twice what it was."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from benchmark.figures import Figure

FILE = Path(__file__).with_name("guard.json")
LOSS = 2.0
ATTEMPTS = 3
"""A row that looks slower is measured again: one of a few turns is quiet, even on a busy machine."""


def ratios(figures: Iterable[Figure]) -> dict[str, float]:
    """Return the ratios that are guarded, each by the name of its row."""
    return {name: ratio for figure in figures for name, ratio in figure.guarded.items()}


def losses(now: Mapping[str, float], earlier: Mapping[str, float]) -> dict[str, str]:
    """Return what is more than twice as slow as it was, and what was not measured, in words."""
    wrong = {name: "not measured" for name in earlier if name not in now}
    for name, ratio in now.items():
        if name in earlier and ratio > LOSS * earlier[name]:
            wrong[name] = f"{ratio:.2f} of the reference's time, was {earlier[name]:.2f}"
    return wrong


def read() -> dict[str, float]:
    """Return the earlier ratios."""
    earlier: dict[str, float] = json.loads(FILE.read_text(encoding="utf-8"))
    return earlier


def write(now: Mapping[str, float]) -> None:
    """Make these the ratios that later runs are compared with."""
    rounded = {name: round(ratio, 3) for name, ratio in now.items()}
    FILE.write_text(json.dumps(rounded, indent=1) + "\n", encoding="utf-8")
