"""Requests take turns; whether one is waiting is visible from outside."""

import asyncio
import threading
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any

import pytest

from vaultseek.base.threads import FairThreads, Turns, Waiting, requester, waiting


@pytest.mark.fault("K7")
def test_work_that_had_its_turn_goes_on_while_the_rest_waits() -> None:
    async def run() -> None:
        turns, gate, requests, order = Turns(1), asyncio.Event(), [Waiting(), Waiting()], []

        async def work(request: Waiting) -> None:
            waiting.set(request)
            async with turns.turn():
                order.append(request)
                async with turns.turn():  # a turn that it already has
                    await gate.wait()

        tasks = [asyncio.create_task(work(request)) for request in requests]
        async with asyncio.timeout(10):
            while requests[1].since is None:
                await asyncio.sleep(0)
        assert (requests[0].since, requests[0].had_turn) == (None, True)
        assert not requests[1].had_turn
        tasks[1].cancel()
        gate.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert order == requests[:1]

    asyncio.run(run())


@pytest.mark.fault("L2")
def test_a_connection_takes_one_thread_however_much_work_it_queues() -> None:
    threads, gate, done = FairThreads(2, thread_name_prefix="fair"), threading.Event(), []
    busy, other = Connection(), Connection()

    def queue(client: Connection, name: str, *, waits: bool = False) -> Future[None]:
        def work() -> None:
            if waits:
                assert gate.wait(30)
            done.append(name)

        return submitted(client, threads, work)

    slow = [queue(busy, f"slow {number}", waits=True) for number in range(4)]
    assert slow[2].cancel()
    queue(other, "fast").result(timeout=30)
    assert done == ["fast"]
    gate.set()
    for number in (0, 1, 3):
        slow[number].result(timeout=30)
    assert done == ["fast", "slow 0", "slow 1", "slow 3"]


@pytest.mark.fault("L2")
def test_work_that_fails_fails_for_its_request_alone() -> None:
    threads = FairThreads(1, thread_name_prefix="fair")
    client = Connection()
    failed = submitted(client, threads, int, "no number")
    assert submitted(client, threads, int, "7").result(timeout=30) == 7
    with pytest.raises(ValueError, match="no number"):
        failed.result(timeout=30)


class Connection:
    """Stands in for the session of a client."""


def submitted(client: Connection, threads: FairThreads, *work: Any) -> Future[Any]:
    """Queue work as a request of this client."""
    context = copy_context()
    context.run(requester.set, client)
    return context.run(threads.submit, *work)
