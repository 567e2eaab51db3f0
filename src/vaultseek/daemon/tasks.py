"""Background tasks that continue after an error, and the pauses between attempts."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from vaultseek.base.limits import WORKER_BACKOFF_SECONDS

RETRIES_SECONDS = (1.0, 2.0, 5.0, 15.0)
"""Pauses in seconds before a vault is opened or indexed again after a failure; the last pause is repeated."""
STABLE_SECONDS = 60.0
"""Seconds without failure after which a task's next failure counts as its first."""

log = logging.getLogger(__name__)
Work = Callable[[], Coroutine[Any, Any, None]]


def pause_after(failures: int, pauses: Sequence[float] = RETRIES_SECONDS) -> float:
    """Return the seconds to wait after this many consecutive failures (one or more)."""
    return pauses[min(failures, len(pauses)) - 1]


async def keep_running(work: Work, name: str) -> None:
    """Run ``work`` until it ends by itself. If it fails, restart it after a pause; a repeated error is logged
    once."""
    failures = 0
    logged = ""
    while True:
        began = time.monotonic()
        try:
            await work()
        except Exception as error:
            if repr(error) != logged:
                logged = repr(error)
                log.exception("task %s failed; restarting it", name)
        else:
            return
        failures = failures + 1 if time.monotonic() - began < STABLE_SECONDS else 1
        await asyncio.sleep(pause_after(failures, WORKER_BACKOFF_SECONDS))
