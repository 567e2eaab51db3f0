"""Rows: searches over the socket."""

from collections.abc import Iterator

from benchmark.figures import Figure, Times, alternate, number
from benchmark.notes import WORD_COUNTS
from benchmark.registry import row
from benchmark.worlds import Bench, World

FASTER, LONG_QUERY = 20, 8
"""How many times as fast as Whoosh the keyword lane must be, and the number of words from which this
applies."""
HYBRID_MS, SHARE_OF_EMBEDDING = 10.0, 2 / 3
"""Maximum median of a hybrid search in milliseconds, and as a share of the time to embed the query."""


@row("hybrid-small", quick=True)
def hybrid_small(bench: Bench) -> Iterator[Figure]:
    """Hybrid searches of a small vault, compared with embedding the same queries."""
    yield _hybrid("hybrid-small", bench, bench.small())


def _hybrid(name: str, bench: Bench, world: World) -> Figure:
    """Measure hybrid searches, compared with embedding the query alone."""
    reference = bench.sentence_transformers
    sides = {"search": world.searcher("hybrid"), "encode": reference.encode_one}
    world.incomplete = 0
    times = alternate(sides, world.texts.queries(bench.queries), seconds=bench.seconds)
    search, encode = times["search"], times["encode"]
    e = encode.p50
    goal = min(SHARE_OF_EMBEDDING * e, HYBRID_MS)
    notes = world.notes
    return Figure(
        name,
        f"hybrid search, {notes:,} notes",
        str(search) + (f", {world.incomplete} answers lack a lane" if world.incomplete else ""),
        f"SentenceTransformer.encode (e): {encode}",
        f"p50 ≤ 2/3 e and {HYBRID_MS:g} ms, p95 ≤ e: {number(goal)}, {number(e)} ms",
        search.p50 / e,
        search.p50 <= goal and search.p95 <= e and not world.incomplete,
        search.numbers("search") | encode.numbers("encode") | {"notes": notes},
        guarded={name: search.p10 / encode.p10} if name == "hybrid-small" else {},
    )


@row("hybrid-large")
def hybrid_large(bench: Bench) -> Iterator[Figure]:
    """Hybrid searches of 38,430 notes, compared with embedding the same queries."""
    yield _hybrid("hybrid-large", bench, bench.large())


@row("keyword-small", quick=True)
def keyword_small(bench: Bench) -> Iterator[Figure]:
    """Keyword searches of a small vault, compared with Whoosh."""
    yield from _keyword("keyword-small", bench, bench.small(), 2)


@row("keyword-large")
def keyword_large(bench: Bench) -> Iterator[Figure]:
    """Keyword searches of 38,430 notes, compared with Whoosh."""
    yield from _keyword("keyword-large", bench, bench.large(), 4)


def _keyword(name: str, bench: Bench, world: World, goal: float) -> Iterator[Figure]:
    """Measure searches of 1 to 12 words over the socket, and the time spent in the keyword lane."""
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
