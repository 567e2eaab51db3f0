"""The guard of CI: no ratio of the quick run may more than double."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from benchmark.figures import Figure

FILE = Path(__file__).with_name("guard.json")
LOSS = 2.0
ATTEMPTS = 3
"""Number of times a row that looks slower is measured; even a busy machine has quiet moments."""


def ratios(figures: Iterable[Figure]) -> dict[str, float]:
    """Return the guarded ratios by row name."""
    return {name: ratio for figure in figures for name, ratio in figure.guarded.items()}


def losses(now: Mapping[str, float], earlier: Mapping[str, float]) -> dict[str, str]:
    """Return the rows that are more than twice as slow or were not measured, each with a description."""
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
    """Save these as the ratios for later comparisons."""
    rounded = {name: round(ratio, 3) for name, ratio in now.items()}
    FILE.write_text(json.dumps(rounded, indent=1) + "\n", encoding="utf-8")
