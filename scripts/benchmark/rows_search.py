"""Rows: searches over the socket."""

from collections.abc import Iterator

from benchmark.figures import Figure, Times, alternate, number
from benchmark.notes import WORD_COUNTS
from benchmark.registry import row
from benchmark.worlds import Bench, World

FASTER, LONG_QUERY = 20, 8
"""The keyword lane is to be this many times as fast as Whoosh, from so many words on."""


@row("hybrid-small", quick=True)
def hybrid_small(bench: Bench) -> Iterator[Figure]:
    """Hybrid searches of a small vault beside the embedding of the same queries."""
    yield _hybrid("hybrid-small", bench, bench.small(), (1, 0), (2, 0))


def _hybrid(
    name: str, bench: Bench, world: World, p50: tuple[float, float], p95: tuple[float, float]
) -> Figure:
    """Measure hybrid searches; a target is ``(factor, milliseconds)`` of the time to embed alone."""
    reference = bench.sentence_transformers
    sides = {"search": world.searcher("hybrid"), "encode": reference.encode_one}
    world.incomplete = 0
    times = alternate(sides, world.texts.queries(bench.queries), seconds=bench.seconds)
    search, encode = times["search"], times["encode"]
    e = encode.p50
    goal50, goal95 = p50[0] * e + p50[1], p95[0] * e + p95[1]
    notes = world.notes
    return Figure(
        name,
        f"hybrid search, {notes:,} notes",
        str(search) + (f", {world.incomplete} answers lack a lane" if world.incomplete else ""),
        f"SentenceTransformer.encode (e): {encode}",
        f"p50 ≤ {_goal(p50)}, p95 ≤ {_goal(p95)}: {number(goal50)}, {number(goal95)} ms",
        search.p50 / e,
        search.p50 <= goal50 and search.p95 <= goal95 and not world.incomplete,
        search.numbers("search") | encode.numbers("encode") | {"notes": notes},
        guarded={name: search.p10 / encode.p10} if name == "hybrid-small" else {},
    )


@row("hybrid-large")
def hybrid_large(bench: Bench) -> Iterator[Figure]:
    """The same in a vault of 38,430 notes."""
    yield _hybrid("hybrid-large", bench, bench.large(), (1, 5), (2, 10))


def _goal(target: tuple[float, float]) -> str:
    factor = "e" if target[0] == 1 else f"{target[0]:g} e"
    return factor + (f" + {target[1]:g} ms" if target[1] else "")


@row("keyword-small", quick=True)
def keyword_small(bench: Bench) -> Iterator[Figure]:
    """Keyword searches of a small vault beside Whoosh's own."""
    yield from _keyword("keyword-small", bench, bench.small(), 2)


@row("keyword-large")
def keyword_large(bench: Bench) -> Iterator[Figure]:
    """Keyword searches of 38,430 notes beside Whoosh's own."""
    yield from _keyword("keyword-large", bench, bench.large(), 5)


def _keyword(name: str, bench: Bench, world: World, goal: float) -> Iterator[Figure]:
    """Measure searches of 1 to 12 words over the socket, and the time that the keyword lane takes of it."""
    whoosh = bench.whoosh(world)
    medians = {"search": 0.0, "whoosh": 0.0}
    for size in WORD_COUNTS:
        queries = world.texts.of_words(size, bench.queries // 2)
        lane: list[float] = []

        def explained(query: str, lane: list[float] = lane) -> None:
            answer = world.search(query, "keyword", explain=True)
            lane.append(answer["explain"]["milliseconds"]["keyword"])

        sides = {"search": world.searcher("keyword"), "explained": explained, "whoosh": whoosh.search}
        times = alternate(sides, queries, seconds=bench.seconds) | {"lane": Times.of(lane)}
        medians = {side: total + times[side].p50 for side, total in medians.items()}
        figure = _beside_whoosh(name, world.notes, size, goal, times)
        if size == WORD_COUNTS[-1]:
            figure.guarded[name] = medians["search"] / medians["whoosh"]
        yield figure


def _beside_whoosh(name: str, notes: int, size: int, goal: float, times: dict[str, Times]) -> Figure:
    search, lane, reference = times["search"], times["lane"], times["whoosh"]
    faster = reference.p50 / lane.p50
    least = FASTER if size >= LONG_QUERY else 0
    return Figure(
        name,
        f"keyword search, {notes:,} notes, {size} word{'s' * (size > 1)}",
        f"{search}; the lane itself {number(lane.p50)} ms",
        f"Whoosh's own search: {reference}; the lane is {faster:.1f}x as fast",
        f"p50 ≤ {goal:g} ms" + (f", lane ≥ {least}x" if least else ""),
        search.p50 / reference.p50,
        search.p50 <= goal and faster >= least,
        search.numbers("search") | lane.numbers("lane") | reference.numbers("whoosh") | {"words": size},
    )
