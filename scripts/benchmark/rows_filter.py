"""Rows: filtered searches, memory and growth, on generated notes."""

import time
from collections.abc import Callable, Iterator

from benchmark.figures import MILLISECONDS, Figure, Times, alternate, number
from benchmark.growth import Point, draw
from benchmark.registry import row
from benchmark.worlds import FILTERED_PASSAGES, Bench, World
from vaultseek.semantic.worker.bulk import BULK_IDLE_SECONDS

BLOCK = 10
SHARES = (1, 10, 50)
FOLDERS = {1: "all/half/tenth/hundredth/", 10: "all/half/tenth/", 50: "all/half/"}
YEARS = {1: "2023-01-01", 10: "2022-01-01", 50: "2021-01-01"}
FILTERS: dict[str, Callable[[int], dict[str, str]]] = {
    "tag": lambda share: {"tag": f"p{share}"},
    "path": lambda share: {"path": FOLDERS[share]},
    "property": lambda share: {"property": f"share<={share}"},
    "date": lambda share: {"created_after": YEARS[share]},
}
FACTOR = 1.5
SMALL_MB = 250
"""Maximum memory of the daemon and worker of the small vault, in megabytes."""
SAVES = 12
GROWTH = (1_000, 10_000, 100_000)
FULL_GROWTH = 1_000_000
GROWTH_FACTOR = 3


@row("filters")
def filters(bench: Bench) -> Iterator[Figure]:
    """Hybrid searches with a filter, compared with the same searches without a filter; the vectors are
    checked by brute force."""
    world = bench.generated(_passages(bench))
    queries = world.texts.queries(61 if not bench.quick else 21)
    for kind, filter_of in FILTERS.items():
        for share in SHARES:
            _check_count(world, filter_of(share), share)
            sides = {
                "plain": world.searcher("hybrid"),
                "filtered": world.searcher("hybrid", filter_of(share)),
            }
            times = alternate(sides, queries, block=BLOCK, seconds=bench.seconds)
            plain, filtered = times["plain"], times["filtered"]
            missed = world.counts.get("missed", {}).get(str(share))
            checked = "not checked" if missed is None else f"{missed} neighbours missed"
            yield Figure(
                "filters",
                f"hybrid search, filter for {share} % of {world.counts['passages']:,} passages, by {kind}",
                f"{filtered}, {checked}",
                f"unfiltered: {plain}",
                f"≤ {FACTOR:g}x, none missed",
                filtered.p50 / plain.p50,
                filtered.p50 <= FACTOR * plain.p50 and missed == 0,
                filtered.numbers("filtered") | plain.numbers("plain") | {"missed": missed},
            )


def _check_count(world: World, filters: dict[str, str], share: int) -> None:
    """Raise AssertionError unless the filter matches this percentage of the notes."""
    listed = world.search("", "keyword", filters=filters)
    total, wanted = listed["total"], world.counts["notes"] * share / 100
    assert abs(int(str(total)) - wanted) <= 1, f"{filters}: {total} notes instead of {wanted}"


@row("memory")
def memory(bench: Bench) -> Iterator[Figure]:
    """Memory of daemon and worker after searches of every kind."""
    world = bench.generated(_passages(bench))
    for mode in ("hybrid", "keyword"):
        for query in world.texts.queries(bench.queries, seed=5):
            world.search(query, mode)
    assert world.daemon is not None
    size = (world.counts["passages"] + world.counts["notes"]) * world.counts["dimension"] * 4 / 1e6
    used = [process.memory_full_info() for process in world.daemon.processes()]
    processes = {"daemon": used[:1], "worker": used[1:]}
    goals = {"daemon": 300.0, "worker": 2 * size + 350}
    for name, goal in goals.items():
        resident = sum(info.rss for info in processes[name]) / 1e6
        share = sum(info.pss for info in processes[name]) / 1e6
        yield Figure(
            "memory",
            f"memory of the {name}, {world.counts['passages']:,} passages",
            f"{share:.0f} MB (PSS), {resident:.0f} MB resident",
            f"vectors in float32 (v): {size:.0f} MB",
            "< 300 MB" if name == "daemon" else f"< 2 v + 350 MB = {goal:.0f} MB",
            None,
            resident < goal,
            {"rss_mb": resident, "pss_mb": share, "vectors_mb": size},
        )


@row("memory-small")
def memory_small(bench: Bench) -> Iterator[Figure]:
    """Memory of the daemon and worker of the small vault, once both have released the memory of indexing."""
    world = bench.small()
    for mode in ("hybrid", "keyword"):
        for query in world.texts.queries(bench.queries, seed=5):
            world.search(query, mode)
    assert world.daemon is not None
    time.sleep(2 * BULK_IDLE_SECONDS)
    shares = [process.memory_full_info().pss / 1e6 for process in world.daemon.processes()]
    yield Figure(
        "memory-small",
        f"memory of daemon and worker, {world.notes:,} notes",
        f"{sum(shares):.0f} MB (PSS), {shares[0]:.0f} of it for the daemon",
        target=f"≤ {SMALL_MB} MB",
        met=sum(shares) <= SMALL_MB,
        numbers={"pss_mb": sum(shares)},
    )


@row("growth")
def growth(bench: Bench) -> Iterator[Figure]:
    """Searches and saves in vaults of growing size; with ``--write-docs`` the plot is written to ``docs``."""
    sizes = (100, 1_000) if bench.quick else (*GROWTH, FULL_GROWTH) if bench.full else GROWTH
    points = []
    for size in sizes:
        world = bench.generated(size)
        queries = world.texts.queries(bench.queries // 2, seed=3)
        sides = {mode: world.searcher(mode) for mode in ("keyword", "hybrid")}
        times = alternate(sides, queries, seconds=bench.seconds)
        saves = save(world)
        point = Point(world.counts["passages"], times["keyword"].p50, times["hybrid"].p50, saves.p50)
        points.append(point)
        bench.say(f"  {size:,}: keyword {times['keyword']}, hybrid {times['hybrid']}, save {saves}")
        if size != FILTERED_PASSAGES:
            bench.forget(f"generated-{size}")
    bench.plot = draw(points)
    yield from _growth_figures(points)


def _growth_figures(points: list[Point]) -> Iterator[Figure]:
    first = points[1] if len(points) > 2 else points[0]
    last = points[-1]
    grown = f"from {first.passages:,} to {last.passages:,} passages"
    for name, attribute, factor in (
        ("keyword search", "keyword_ms", GROWTH_FACTOR),
        ("hybrid search", "hybrid_ms", GROWTH_FACTOR),
        ("time until a saved note is found by word", "save_ms", 1.5),
    ):
        before, after = getattr(first, attribute), getattr(last, attribute)
        steps = ", ".join(f"{number(getattr(point, attribute))}" for point in points)
        yield Figure(
            "growth",
            f"{name}, p50, {grown}",
            f"{number(after)} ms ({steps} ms at {', '.join(f'{point.passages:,}' for point in points)})",
            f"{number(before)} ms at {first.passages:,}",
            f"grows less than {factor:g}x" if attribute != "save_ms" else "does not grow (less than 1.5x)",
            after / before,
            after / before < factor,
            {str(point.passages): getattr(point, attribute) for point in points},
        )


def save(world: World, saves: int = SAVES) -> Times:
    """Time from the end of a write until a keyword search finds the note."""
    times = []
    for turn in range(saves):
        word = f"quuxword{turn}x{time.monotonic_ns() % 1_000_000}"
        note = world.vault / f"saved {turn}.md"
        note.write_text(f"# {word}\n\nA note about {word} and nothing else.\n", encoding="utf-8")
        began = time.perf_counter()
        while not _has(world, word, note.name, began):
            time.sleep(0.002)
        times.append((time.perf_counter() - began) * MILLISECONDS)
        time.sleep(0.3)
    return Times.of(times)


def _has(world: World, word: str, name: str, began: float) -> bool:
    if time.perf_counter() - began > 30:
        raise TimeoutError(f"{name} was not indexed within 30 s")
    params = {"query": word, "vault": str(world.vault), "mode": "keyword", "limit": 1}
    results = world.client.call("search", params)["results"]
    return bool(results) and results[0]["path"] == name


def _passages(bench: Bench) -> int:
    return 1_000 if bench.quick else FILTERED_PASSAGES
