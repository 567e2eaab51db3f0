"""Row: the time of each stage of a query, as in ``search --explain``."""

import time
from collections import defaultdict
from collections.abc import Iterator

from benchmark.figures import MILLISECONDS, Figure, Times
from benchmark.registry import row
from benchmark.worlds import Bench, World


@row("profile")
def profile(bench: Bench) -> Iterator[Figure]:
    """Hybrid searches of the small vault: the median time of each stage, and the remaining time."""
    yield from _stages(bench, bench.small())


@row("profile-large")
def profile_large(bench: Bench) -> Iterator[Figure]:
    """Hybrid searches of 38,430 notes: the median time of each stage, and the remaining time."""
    yield from _stages(bench, bench.large())


def _stages(bench: Bench, world: World) -> Iterator[Figure]:
    spent: dict[str, list[float]] = defaultdict(list)
    for query in world.texts.queries(bench.queries, seed=71):
        began = time.perf_counter()
        answer = world.search(query, explain=True)
        whole = (time.perf_counter() - began) * MILLISECONDS
        for stage, milliseconds in answer["explain"]["milliseconds"].items():
            spent[stage].append(milliseconds)
        spent["in the daemon"].append(answer["took_ms"])
        spent["over the socket"].append(whole)
        spent["request, JSON and socket"].append(whole - answer["took_ms"])
    for stage, values in spent.items():
        times = Times.of(values)
        yield Figure(
            f"profile-{world.folder.name}",
            f"{stage}, {world.notes:,} notes",
            str(times),
            numbers=times.numbers("") | {"stage": stage, "notes": world.notes},
        )
