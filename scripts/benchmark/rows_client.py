"""Rows: delays that a person notices. The command, typing, a cold start, many simultaneous clients."""

import asyncio
import contextlib
import itertools
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmark.daemon import Daemon
from benchmark.figures import MILLISECONDS, Figure, Times, alternate, number
from benchmark.registry import row
from benchmark.worlds import Bench, World
from vaultseek.client import AsyncClient, Client
from vaultseek.errors import VaultseekError

KEYS = 30
KEY_SECONDS = 0.08
KEY_GOAL_MS = 50.0
TYPED_TEXTS = 5
PROCESS_MS = 40.0
COLD_STARTS = 3
COLD_GOALS = {"keyword": 0.5, "hybrid": 4.0}
COLD_MOST = 120.0
CLIENTS = (1, 32)
CLIENT_SECONDS = 6.0
CLIENT_GOALS = {"hybrid": 120, "keyword": 400}
CLIENT_P95_MS = 400.0


@row("process")
def process(bench: Bench) -> Iterator[Figure]:
    """The command ``vaultseek search``, compared with ``python -c pass``, and with a search over the
    socket."""
    world = bench.small()
    for mode in ("keyword", "hybrid"):
        queries = world.texts.queries(12 if bench.quick else 33, seed=11)
        sides = {"command": _command(world, mode), "python": _python, "socket": world.searcher(mode)}
        times = alternate(sides, queries, block=11, seconds=bench.seconds)
        command, python, socket = times["command"], times["python"], times["socket"]
        goal = python.p50 + socket.p50 + PROCESS_MS
        yield Figure(
            "process",
            f"`vaultseek search --mode {mode}` as a process",
            str(command),
            f"`python -c pass` (p): {number(python.p50)} ms, over the socket (s): {number(socket.p50)} ms",
            f"p50 ≤ p + s + 40 ms = {number(goal)} ms",
            command.p50 / (python.p50 + socket.p50),
            command.p50 <= goal,
            command.numbers("command") | python.numbers("python") | socket.numbers("socket"),
        )


def _command(world: World, mode: str) -> Callable[[str], object]:
    script = Path(sys.executable).with_name("vaultseek")
    words = [str(script)] if script.exists() else [sys.executable, "-m", "vaultseek"]
    # An installed package has its bytecode, whatever this run's environment says.
    environment = world.home.variables | {"PYTHONPYCACHEPREFIX": str(world.home.folder / "bytecode")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def run(query: str) -> None:
        search = [*words, "search", query, "--mode", mode, "--vault", str(world.vault)]
        done = subprocess.run(search, env=environment, capture_output=True, check=False)
        assert done.returncode in (0, 1), done.stderr

    return run


def _python(query: str) -> None:
    subprocess.run([sys.executable, "-c", "pass"], check=True)


@row("typing")
def typing(bench: Bench) -> Iterator[Figure]:
    """A query at each of 30 keystrokes, 80 ms apart; a key cancels the unanswered query before it."""
    world = bench.large()
    texts = [text for text in world.texts.of_words(8, 60, seed=21) if len(text) >= KEYS][:TYPED_TEXTS]
    complete = {"kind": "note", "vault": str(world.vault)}
    keyword, hybrid = (
        {"vault": str(world.vault), "limit": 10, "mode": mode} for mode in ("keyword", "hybrid")
    )
    for what, method, params, field in (
        ("`complete` of a note", "complete", complete, "text"),
        ("search as you type, by word", "search", keyword, "query"),
        ("search as you type, hybrid", "search", hybrid, "query"),
    ):
        answers = asyncio.run(_typed(world, texts, method, params, field))
        times = Times.of([spent for spent, _ in answers])
        cancelled = sum(1 for _, answered in answers if not answered)
        yield Figure(
            "typing",
            f"{what}, {world.notes:,} notes, {KEYS} keystrokes 80 ms apart",
            f"{times}, longest {number(times.most)} ms, {cancelled} of {len(answers)} requests cancelled",
            target=f"every answer within {KEY_GOAL_MS:g} ms of its keystroke",
            met=times.most <= KEY_GOAL_MS and not cancelled,
            numbers=times.numbers("key") | {"cancelled": cancelled},
        )


async def _typed(
    world: World, texts: list[str], method: str, params: dict[str, Any], field: str
) -> list[tuple[float, bool]]:
    """Return, for each key, the milliseconds until its answer or cancellation, and whether it was
    answered."""
    answers: list[tuple[float, bool]] = []
    assert world.client is not None
    async with AsyncClient(world.home.socket) as client:

        async def key(text: str) -> None:
            began = time.perf_counter()
            answered = False
            try:
                await client.call(method, params | {field: text})
                answered = True
            except VaultseekError:
                pass  # an unfinished query may be invalid, such as `tag:`
            finally:
                answers.append(((time.perf_counter() - began) * MILLISECONDS, answered))

        for text in texts:
            last: asyncio.Task[None] | None = None
            for length in range(1, KEYS + 1):
                if last is not None and not last.done():
                    last.cancel()
                last = asyncio.create_task(key(text[:length]))
                await asyncio.sleep(KEY_SECONDS)
            if last is not None:
                await asyncio.wait([last], timeout=5)
            await asyncio.sleep(0.2)
    return answers


@row("cold-start")
def cold_start(bench: Bench) -> Iterator[Figure]:
    """The time from starting the daemon to its first answers, with its files in the system's cache."""
    world = bench.large()
    seconds: dict[str, list[float]] = {mode: [] for mode in COLD_GOALS}
    for turn in range(1 if bench.quick else COLD_STARTS):
        world.stop()
        query = world.texts.queries(50, seed=31)[turn]
        for mode, spent in zip(COLD_GOALS, _first_answers(world, query), strict=True):
            seconds[mode].append(spent)
    for mode, goal in COLD_GOALS.items():
        times = Times.of(seconds[mode])
        yield Figure(
            "cold-start",
            f"cold start to the first {mode} answer, {world.notes:,} notes",
            f"{times.p50:.2f} s (median of {len(times.values)}; range {times.values[0]:.2f} to "
            f"{times.most:.2f})",
            target=f"< {goal:g} s",
            met=times.p50 < goal,
            numbers={"seconds": times.p50, "all": list(times.values)},
        )


def _first_answers(world: World, query: str) -> Iterator[float]:
    """Yield the seconds from the daemon's start to the first keyword answer and to the first hybrid
    answer."""
    world.daemon = Daemon(world.home)
    for mode in COLD_GOALS:
        while not _complete(world, query, mode):
            if time.perf_counter() - world.daemon.began > COLD_MOST:
                raise TimeoutError(f"no complete {mode} answer within {COLD_MOST:g} s of the start")
            time.sleep(0.005)
        yield time.perf_counter() - world.daemon.began


def _complete(world: World, query: str, mode: str) -> bool:
    with contextlib.suppress(VaultseekError):
        params = {"query": query, "vault": str(world.vault), "mode": mode, "limit": 10}
        answer = world.client.call("search", params)
        return not answer["partial"]
    return False


@row("clients")
def clients(bench: Bench) -> Iterator[Figure]:
    """One client and 32 clients that search without a pause."""
    world = bench.small()
    for mode in CLIENT_GOALS:
        for count in CLIENTS:
            yield _crowd(bench, world, mode, count)


def _crowd(bench: Bench, world: World, mode: str, count: int) -> Figure:
    """Let ``count`` clients search at once, each with different queries."""
    seconds = 2.0 if bench.quick else CLIENT_SECONDS
    queries = itertools.cycle(world.texts.queries(3_000, seed=41))
    shared = threading.Lock()
    times: list[list[float]] = [[] for _ in range(count)]
    stop = time.monotonic() + seconds + 1
    counted_from = time.monotonic() + 1  # the first second is not counted: clients are still connecting

    def search(mine: list[float]) -> None:
        with Client(world.home.socket, timeout=60) as client:
            while time.monotonic() < stop:
                with shared:
                    query = next(queries)
                params = {"query": query, "vault": str(world.vault), "mode": mode, "limit": 10}
                began = time.perf_counter()
                client.call("search", params)
                if time.monotonic() > counted_from:
                    mine.append((time.perf_counter() - began) * MILLISECONDS)

    threads = [threading.Thread(target=search, args=(mine,)) for mine in times]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    everything = Times.of([spent for mine in times for spent in mine] or [seconds * MILLISECONDS])
    rate = len(everything.values) / seconds
    fewest = min(len(mine) for mine in times) / (len(everything.values) / count)
    goal, many = CLIENT_GOALS[mode], count > 1
    target = f"≥ {goal} a second, p95 < {CLIENT_P95_MS:g} ms, no client waits"
    met = rate >= goal and everything.p95 < CLIENT_P95_MS and fewest > 0.5
    return Figure(
        "clients",
        f"{mode} searches from {count} client{'s' * many}, {world.notes:,} notes",
        f"{rate:.0f} a second, {everything}" + (f"; the slowest client got {fewest:.0%} of its share" * many),
        target=target if many else "–",
        met=met if many else None,
        numbers=everything.numbers("search") | {"per_second": rate, "fewest_share": fewest},
    )
