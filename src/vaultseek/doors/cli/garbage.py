"""Thresholds of the garbage collector: high for a command that ends soon, as usual for a server."""

import gc

_USUAL = gc.get_threshold()
_RARE = 100_000


def collect_rarely() -> None:
    """Raise it: most commands end before there is garbage; a collection costs a tenth of a search."""
    gc.set_threshold(_RARE)


def collect_as_usual() -> None:
    """Restore Python's own thresholds."""
    gc.set_threshold(*_USUAL)
