"""Thresholds of the garbage collector: high for short-lived commands, Python's own for servers."""

import gc

_USUAL = gc.get_threshold()
_RARE = 100_000


def collect_rarely() -> None:
    """Raise the thresholds, because most commands end before there is garbage to collect, and a collection
    takes a tenth of a search's time."""
    gc.set_threshold(_RARE)


def collect_as_usual() -> None:
    """Restore Python's own thresholds, for commands that run for a long time."""
    gc.set_threshold(*_USUAL)
