"""Workers by model: kept ones run on, idle ones are stopped, and none is stopped while it is used."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from vaultseek.errors import WorkerUnavailable
from vaultseek.semantic.models.catalogue import find_model
from vaultseek.semantic.worker.pool import WorkerPool, log_name
from worlds import until

FIRST, OTHER = find_model("hashing"), find_model("hashing-32")


class Worker:
    """A worker that takes a moment to stop, and reports whether it is running."""

    def __init__(self, model: Any) -> None:
        self.model, self.runs, self.stops, self.starts = model, False, 0, 0

    async def start(self) -> None:
        self.starts += not self.runs
        self.runs = True

    async def stop(self) -> None:
        await asyncio.sleep(0.02)
        self.stops += 1
        self.runs = False


@pytest.fixture
def pool() -> WorkerPool:
    return WorkerPool(Worker, idle_seconds=0.05)


async def test_a_worker_ends_when_it_is_idle_and_starts_again_when_it_is_used(pool):
    worker = pool.worker(OTHER)
    async with pool.use(OTHER) as used:
        assert (used, used.runs) == (worker, True)
        await asyncio.sleep(0.15)
        assert worker.runs
    await asyncio.sleep(0.15)
    assert not worker.runs
    async with pool.use(OTHER):
        assert (worker.runs, worker.starts) == (True, 2)
    await pool.stop()


async def test_a_worker_that_is_kept_runs_until_it_is_released(pool):
    worker = await pool.keep(FIRST)
    async with pool.use(FIRST):
        pass
    await asyncio.sleep(0.15)
    assert worker.runs
    pool.release(FIRST)
    await asyncio.sleep(0.15)
    assert not worker.runs


async def test_a_worker_that_is_being_ended_is_started_again_for_a_new_user(pool):
    async with pool.use(OTHER) as worker:
        pass
    await asyncio.sleep(0.06)  # it is stopping now
    async with pool.use(OTHER):
        assert worker.runs
        await asyncio.sleep(0.1)
        assert worker.runs
    await pool.stop()
    assert not worker.runs
    with pytest.raises(WorkerUnavailable):
        await pool.keep(OTHER)
    assert not worker.runs


async def test_a_worker_for_which_somebody_waited_in_vain_ends_when_it_is_idle(pool):
    worker, stopping, may_stop = pool.worker(OTHER), asyncio.Event(), asyncio.Event()
    stop = worker.stop

    async def stop_when_allowed() -> None:
        stopping.set()
        await may_stop.wait()
        await stop()

    worker.stop = stop_when_allowed
    async with pool.use(OTHER):
        pass
    await stopping.wait()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01), pool.use(OTHER):
            pass
    may_stop.set()
    async with pool.use(OTHER):
        assert worker.runs
    await until(lambda: not worker.runs)


async def test_each_model_has_a_worker_of_its_own(pool):
    assert pool.worker(FIRST) is pool.worker(find_model("hashing")) is not pool.worker(OTHER)
    assert (pool.worker(FIRST).model, pool.worker(OTHER).model) == (FIRST, OTHER)
    assert log_name(FIRST) == "worker-hashing.log"
    assert Path(log_name(find_model("bundled"))).name == "worker.log"
