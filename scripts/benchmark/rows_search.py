"""Rows: searches over the socket."""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmark.figures import Figure, alternate, number
from benchmark.notes import WORD_COUNTS
from benchmark.registry import row
from benchmark.worlds import Bench, World

BLOCK = 20


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
    times = alternate(sides, world.texts.queries(bench.queries), time.perf_counter, BLOCK)
    search, encode = times["search"], times["encode"]
    e = encode.p50
    goal50, goal95 = p50[0] * e + p50[1], p95[0] * e + p95[1]
    notes = world.notes
    return Figure(
        name,
        f"hybrid search, {notes:,} notes",
        str(search),
        f"SentenceTransformer.encode (e): {encode}",
        f"p50 ≤ {_goal(p50)}, p95 ≤ {_goal(p95)}: {number(goal50)}, {number(goal95)} ms",
        search.p50 / e,
        search.p50 <= goal50 and search.p95 <= goal95,
        search.numbers("search") | encode.numbers("encode") | {"notes": notes},
        guard=name,
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
    whoosh = bench.whoosh(world)
    notes = world.notes
    for size in WORD_COUNTS:
        queries = world.texts.of_words(size, bench.queries // 2)
        sides = {"search": world.searcher("keyword"), "whoosh": whoosh.search}
        times = alternate(sides, queries, time.perf_counter, BLOCK)
        search, reference = times["search"], times["whoosh"]
        faster = reference.p50 / search.p50
        least = 20 if size >= 8 else 0
        yield Figure(
            name,
            f"keyword search, {notes:,} notes, {size} word{'s' * (size > 1)}",
            str(search),
            f"Whoosh: {reference} ({faster:.1f}x)",
            f"p50 ≤ {goal:g} ms" + (f", ≥ {least}x" if least else ""),
            search.p50 / reference.p50,
            search.p50 <= goal and faster >= least,
            search.numbers("search") | reference.numbers("whoosh") | {"notes": notes, "words": size},
            guard=f"{name}-{size}" if size in (1, 8) else None,
        )
