"""The rows of the table, by name, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmark.figures import Figure
from benchmark.worlds import Bench

Measure = Callable[[Bench], Iterator[Figure]]


@dataclass(frozen=True)
class Row:
    """A measurement that can be asked for by name; ``quick`` ones run in CI, ``long`` ones only by name."""

    name: str
    measure: Measure
    quick: bool
    long: bool


ROWS: dict[str, Row] = {}


def row(name: str, *, quick: bool = False, long: bool = False) -> Callable[[Measure], Measure]:
    """Register a measurement."""

    def register(measure: Measure) -> Measure:
        ROWS[name] = Row(name, measure, quick, long)
        return measure

    return register
