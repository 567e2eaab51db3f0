"""Work of a call counted in steps or calls, which are the same on every machine."""

import gc
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

GROWTH = 4
"""Ratio of the larger input to the smaller one."""
LINEAR = 1.5 * GROWTH
"""Maximum growth of work that counts as linear; quadratic work grows by the square of ``GROWTH``."""


def steps(call: Callable[[], object]) -> int:
    """Return the number of lines that a call executes in this thread; each turn of a loop counts.

    Counting instructions would take three times as long.
    """
    taken = 0

    def count(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal taken
        taken += event in ("call", "line")
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        call()
    finally:
        sys.settrace(before)
    return taken


def thread_seconds(call: Callable[[], object]) -> float:
    """Return the processor time that a call takes in this thread, without collections of garbage.

    For work in native code, which has neither lines nor calls to count.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    began = time.thread_time()
    try:
        call()
        return time.thread_time() - began
    finally:
        if was_enabled:
            gc.enable()


def calls(call: Callable[[], object]) -> int:
    """Return the number of functions that a call calls in this thread, in Python or in C.

    Counting them takes much less time than counting steps.
    """
    counted = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(before)
    return counted


def growth(of: Callable[[int], Callable[[], object]], size: int) -> float:
    """Return how many times more steps the call ``of`` a size takes when the size is multiplied by
    ``GROWTH``.

    Each call is made once before it is counted, so that imports and caches of the program do not count.
    """
    small, large = of(size), of(GROWTH * size)
    small()
    large()
    return steps(large) / steps(small)
