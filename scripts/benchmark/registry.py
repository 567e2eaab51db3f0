"""The rows of the table, by name, in the order in which they run."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmark.figures import Figure
from benchmark.worlds import Bench

Measure = Callable[[Bench], Iterator[Figure]]


@dataclass(frozen=True)
class Row:
    """A measurement that can be selected by name; CI runs those that are ``quick``."""

    name: str
    measure: Measure
    quick: bool


ROWS: dict[str, Row] = {}
ORDER = (
    ("embed-query", "embed-bulk"),
    ("hybrid-small", "keyword-small", "process", "clients", "profile", "memory-small", "rerank"),
    ("hybrid-large", "keyword-large", "typing", "editor", "save", "idle", "profile-large"),
    ("hybrid-beside", "cold-start"),
    ("filters", "memory", "growth"),
    ("indexing", "index-wait", "qmd", "parse", "links", "vectors", "before", "install"),
)
"""The names in the order in which they run, so that vaults are shared."""


def ordered() -> list[Row]:
    """Return the rows in the order in which they run."""
    return [ROWS[name] for line in ORDER for name in line]


def row(name: str, *, quick: bool = False) -> Callable[[Measure], Measure]:
    """Register a measurement."""

    def register(measure: Measure) -> Measure:
        ROWS[name] = Row(name, measure, quick=quick)
        return measure

    return register
