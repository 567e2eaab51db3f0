"""Requests take turns; whether one is waiting is visible from outside."""

import asyncio

import pytest

from vaultseek.base.threads import Turns, Waiting, waiting


@pytest.mark.fault("K7")
def test_work_that_had_its_turn_goes_on_while_the_rest_waits() -> None:
    async def run() -> None:
        turns, gate, requests, order = Turns(1), asyncio.Event(), [Waiting(), Waiting()], []

        async def work(request: Waiting) -> None:
            waiting.set(request)
            async with turns.turn():
                order.append(request)
                async with turns.turn():  # its own, again
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
