"""Progress of indexing, reported to a client that waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from vaultseek.base import limits
from vaultseek.daemon.follow import VaultFollower
from vaultseek.protocol.wire.context import RequestContext


@asynccontextmanager
async def progress_reported(
    follower: VaultFollower, context: RequestContext, *, wanted: bool = True, vectors: bool = True
) -> AsyncIterator[None]:
    """Send ``index/progress`` to the client, if ``wanted``, until the context is left.

    Without ``vectors`` the progress is that of the notes alone.
    """
    reporting = asyncio.create_task(_report(follower, context, vectors)) if wanted else None
    try:
        yield
    finally:
        if reporting is not None:
            reporting.cancel()


async def _report(follower: VaultFollower, context: RequestContext, vectors: bool) -> None:
    while True:
        context.notify("index/progress", await asyncio.to_thread(partial(follower.progress, vectors=vectors)))
        await asyncio.sleep(limits.PROGRESS_SECONDS)
