"""The embedding task ends when it is cancelled, whatever happens at that moment."""

import asyncio

import pytest

from vaultseek.core.indexing.embed import follow
from vaultseek.errors import WorkerUnavailable


class WithoutWorker:
    """An embedding without a running worker."""

    def __init__(self) -> None:
        self.wake, self.retry = asyncio.Event(), asyncio.Event()

    async def step(self) -> bool:
        raise WorkerUnavailable("it is down")


@pytest.mark.parametrize("turns", range(6))
async def test_it_ends_also_if_a_client_asks_for_another_try_meanwhile(turns):
    embedding, failed = WithoutWorker(), asyncio.Event()
    task = asyncio.create_task(follow(embedding, lambda problem: failed.set()))  # type: ignore[arg-type]
    await failed.wait()
    for turn in range(turns + 2):
        if turn == 2:
            embedding.retry.set()
        await asyncio.sleep(0)
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=0.5)
    while not task.done():
        task.cancel()
        await asyncio.sleep(0.01)
    assert done, "it went on"
