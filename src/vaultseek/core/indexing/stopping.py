"""Ending long work early, when a vault is closed."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import TypeVar

from vaultseek.errors import Cancelled

T = TypeVar("T")
CLOSING = "the vault is being closed"


def until_stopped(items: Iterable[T], stopped: threading.Event) -> Iterator[T]:
    """Yield the items. Raises Cancelled as soon as ``stopped`` is set."""
    for item in items:
        if stopped.is_set():
            raise Cancelled(CLOSING)
        yield item
