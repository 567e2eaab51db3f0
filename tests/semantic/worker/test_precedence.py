"""A search interrupts the embedding of every worker, even of workers that the search does not use."""

import asyncio
from pathlib import Path

from vaultseek.base.precedence import searching

COUNTING = """
import threading, time
from vaultseek.base import precedence
from vaultseek.semantic.worker import queues as module

precedence.WAIT_SECONDS = module.WAIT_SECONDS = 600.0
batches = 0

def handle(frame):
    global batches
    if frame.header["call"] == "vectors":  # its answer is the number of batches so far
        return {}, [np.array([batches]), np.zeros((1, 2), np.float32)]
    for text in frame.header["texts"]:
        queues.yield_to_answers()
        batches += 1
    return {"failed": []}, [np.zeros((len(frame.header["texts"]), 2), np.float32)]

queues = module.Queues(handle, send)
ready()
while (frame := pipe.read(incoming)) is not None:
    queues.put(frame)
"""


async def test_no_worker_begins_more_than_one_batch_during_a_search(workers) -> None:
    worker = workers.fake(COUNTING)

    async def batches() -> int:
        (count,) = await worker.vectors(Path("store"), [], deadline=60)
        return count

    await worker.ready()
    embedding = asyncio.create_task(worker.embed([f"text {i}" for i in range(400)]))
    while not await batches():
        await asyncio.sleep(0)
    with searching():
        before = await batches()
        during = [await batches() for _ in range(100)]
        assert max(during) <= before + 1
        assert not embedding.done()
    while await batches() <= during[-1] + 1:
        await asyncio.sleep(0)
    await embedding
