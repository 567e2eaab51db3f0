"""Work of a call in steps, which are the same on every machine: what is linear in size is linear in steps."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

GROWTH = 4
"""Factor by which the larger of two inputs exceeds the smaller one."""
LINEAR = 1.5 * GROWTH
"""Growth of work up to which it counts as linear; quadratic work grows by the square of ``GROWTH``."""


def steps(call: Callable[[], object]) -> int:
    """Return the instructions of Python that a call takes in this thread."""
    taken = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal taken
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        taken += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return taken


def growth(of: Callable[[int], Callable[[], object]], size: int) -> float:
    """Return how many times more steps the call ``of`` a size takes when that is ``GROWTH`` times as large.

    Each is made once before it is counted, so that imports and caches of the program count for neither.
    """
    small, large = of(size), of(GROWTH * size)
    small()
    large()
    return steps(large) / steps(small)
