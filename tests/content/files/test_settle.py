"""Hints are passed on at the end of a burst, on a clock that advances only while every task waits."""

import asyncio
from collections.abc import Coroutine
from itertools import pairwise
from typing import Any

import pytest

from vaultseek.content.files import settle
from vaultseek.content.files.settle import FREE_CHANGES, SETTLE_MAX_SECONDS, SETTLE_SECONDS, Hints


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next timer instead of waiting for it."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 100.0
        selector = self._selector  # type: ignore[attr-defined]
        select = selector.select

        def jump(timeout: float | None = None) -> Any:
            self.now += timeout or 0.0
            return select(0)

        selector.select = jump

    def time(self) -> float:
        return self.now


GONE = "gone.md"


def exists(path: str) -> bool:
    return path != GONE


def run(scenario: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(scenario)


def test_a_burst_is_one_batch():
    async def scenario():
        loop = asyncio.get_running_loop()
        hints = Hints(loop, exists)
        for path in ("a.md", "b.md", "a.md"):
            hints.add(path)
        began = loop.time()
        batch = await hints.next_batch()
        assert (batch.paths, batch.rescan_reason) == ({"a.md", "b.md"}, None)
        assert loop.time() - began < 3 * SETTLE_SECONDS

    run(scenario())


def test_a_batch_waits_for_the_last_hint_of_a_burst():
    async def scenario():
        loop = asyncio.get_running_loop()
        hints = Hints(loop, exists)
        began = loop.time()
        for number in range(10):
            loop.call_later(number * SETTLE_SECONDS / 2, hints.add, f"{number}.md")
        batch = await hints.next_batch()
        assert len(batch.paths) == 10
        assert loop.time() - began < 10 * SETTLE_SECONDS

    run(scenario())


def test_an_endless_burst_is_handed_over_in_parts():
    async def scenario():
        loop = asyncio.get_running_loop()
        hints = Hints(loop, exists)

        async def write_for_ever():
            for number in range(10_000):
                hints.add(f"{number}.md")
                await asyncio.sleep(SETTLE_SECONDS / 5)

        writer = loop.create_task(write_for_ever())
        began = loop.time()
        first, second = await hints.next_batch(), await hints.next_batch()
        writer.cancel()
        assert not first.paths & second.paths
        assert loop.time() - began == pytest.approx(2 * SETTLE_MAX_SECONDS, rel=0.1)

    run(scenario())


def test_a_hint_after_a_batch_makes_another_one():
    async def scenario():
        hints = Hints(asyncio.get_running_loop(), exists)
        hints.add("a.md")
        await hints.next_batch()
        waiting = asyncio.ensure_future(hints.next_batch())
        await asyncio.sleep(10 * SETTLE_MAX_SECONDS)
        assert not waiting.done()
        hints.add("b.md")
        assert (await waiting).paths == {"b.md"}

    run(scenario())


def test_a_requested_rescan_says_why_and_is_done_once():
    async def scenario():
        hints = Hints(asyncio.get_running_loop(), exists)
        hints.request_rescan("the machine was asleep")
        hints.add("a.md")
        batch = await hints.next_batch()
        assert (batch.paths, batch.rescan_reason) == (frozenset(), "the machine was asleep")
        hints.add("b.md")
        assert (await hints.next_batch()).rescan_reason is None

    run(scenario())


def test_more_hints_than_are_kept_become_a_rescan(monkeypatch):
    monkeypatch.setattr(settle, "HINTS", 3)

    async def scenario():
        hints = Hints(asyncio.get_running_loop(), exists)
        for number in range(5):
            hints.add(f"{number}.md")
        batch = await hints.next_batch()
        assert (batch.paths, batch.rescan_reason) == (frozenset(), "too many changes at once")

    run(scenario())


def test_a_hint_from_another_thread_wakes_the_consumer():
    async def scenario():
        hints = Hints(asyncio.get_running_loop(), exists)
        waiting = asyncio.ensure_future(hints.next_batch())
        await asyncio.to_thread(hints.add, "a.md")
        assert (await waiting).paths == {"a.md"}

    asyncio.run(scenario())


def test_a_hint_for_a_closed_loop_is_ignored():
    loop = asyncio.new_event_loop()
    hints = Hints(loop, exists)
    loop.close()
    hints.add("a.md")
    hints.request_rescan("late")


@pytest.mark.fault("C17")
def test_a_note_written_all_the_time_is_handed_over_ever_more_rarely():
    async def scenario():
        loop = asyncio.get_running_loop()
        hints = Hints(loop, exists)
        began, taken = loop.time(), []

        async def append():
            while True:
                hints.add("log.md")
                await asyncio.sleep(0.13)

        writer = loop.create_task(append())
        while loop.time() - began < 60:
            assert (await hints.next_batch()).paths == {"log.md"}
            taken.append(loop.time() - began)
        writer.cancel()
        pauses = [later - earlier for earlier, later in pairwise(taken)]
        assert taken[1] < 0.5, "a second save is taken at once"
        assert min(pauses[1:]) >= 2.0
        assert pauses[1:-1] == pytest.approx(sorted(pauses[1:-1]), abs=2 * SETTLE_SECONDS)
        assert max(pauses) < 11.0
        assert sum(moment <= 20 for moment in taken) <= 10

    run(scenario())


async def save_until_held(hints: Hints, path: str = "log.md") -> None:
    """Save a note three times in a row, so that its last change is delayed."""
    for _ in range(FREE_CHANGES):
        hints.add(path)
        assert (await hints.next_batch()).paths == {path}
    hints.add(path)
    await asyncio.sleep(3 * SETTLE_SECONDS)


def test_both_ends_of_a_rename_are_handed_over_together_after_many_saves():
    async def scenario():
        hints = Hints(asyncio.get_running_loop(), exists)
        await save_until_held(hints, GONE)
        hints.add("new.md")
        assert (await hints.next_batch()).paths == {GONE, "new.md"}

    run(scenario())


def test_the_last_change_of_a_note_is_not_lost_and_other_notes_do_not_wait():
    async def scenario():
        loop = asyncio.get_running_loop()
        hints = Hints(loop, exists)
        await save_until_held(hints)
        began = loop.time()
        hints.add("other.md")
        assert (await hints.next_batch()).paths == {"other.md"}
        assert loop.time() - began < 3 * SETTLE_SECONDS
        assert (await hints.next_batch()).paths == {"log.md"}
        assert loop.time() - began < 2.5

    run(scenario())


def test_a_note_that_was_quiet_is_taken_at_once_again():
    async def scenario():
        loop = asyncio.get_running_loop()
        hints = Hints(loop, exists)
        for _ in range(20):
            hints.add("daily.md")
            began = loop.time()
            assert (await hints.next_batch()).paths == {"daily.md"}
            assert loop.time() - began < 3 * SETTLE_SECONDS
            await asyncio.sleep(5)

    run(scenario())


def test_a_comparison_of_everything_leaves_nothing_held_back():
    async def scenario():
        loop = asyncio.get_running_loop()
        hints = Hints(loop, exists)
        await save_until_held(hints)
        hints.add("other.md")
        await hints.next_batch()
        hints.request_rescan("requested by a client")
        assert (await hints.next_batch()).rescan_reason == "requested by a client"
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(30):
                await hints.next_batch()

    run(scenario())
