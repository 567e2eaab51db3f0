"""Tasks in the background that go on after an error."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from vaultseek.base.limits import WORKER_BACKOFF_SECONDS

PAUSES = WORKER_BACKOFF_SECONDS
"""Seconds before a task that failed is begun again; the last one repeats."""

log = logging.getLogger(__name__)
Work = Callable[[], Coroutine[Any, Any, None]]


async def keep_running(work: Work, name: str) -> None:
    """Run ``work`` until it ends by itself, and again after a pause if it fails; log the same error once."""
    failures = 0
    logged = ""
    while True:
        try:
            await work()
        except Exception as error:
            if repr(error) != logged:
                logged = repr(error)
                log.exception("task %s failed; it is begun again", name)
        else:
            return
        await asyncio.sleep(PAUSES[min(failures, len(PAUSES) - 1)])
        failures += 1
