"""Rows: embedding, beside sentence-transformers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from benchmark.figures import Figure, alternate, number
from benchmark.registry import row
from benchmark.worlds import Bench
from vaultseek.models.catalogue import BUNDLED
from vaultseek.models.embed import load
from vaultseek.models.encoder import Vectors

BATCH = 32
Encode = Callable[[Sequence[str]], Vectors]


@row("embed-query", quick=True)
def embed_query(bench: Bench) -> Iterator[Figure]:
    """One query, by vaultseek's encoder and by sentence-transformers, in the same process."""
    ours, theirs = load(BUNDLED), bench.sentence_transformers
    queries = bench.texts.queries(bench.queries)
    for query in queries[:20]:
        ours.encode([query], query=True)
    sides = {"vaultseek": lambda query: ours.encode([query], query=True), "reference": theirs.encode_one}
    times = alternate(sides, queries, seconds=bench.seconds)
    cosines = [float(ours.encode([q], query=True)[0] @ theirs.encode_one(q)) for q in queries[:100]]
    mine, reference = times["vaultseek"], times["reference"]
    ratio = mine.p50 / reference.p50
    yield Figure(
        "embed-query",
        "one query embedded",
        f"{mine}, cosine ≥ {min(cosines):.5f}",
        f"SentenceTransformer.encode: {reference}",
        "≤ 0.4x, cosine ≥ 0.9999",
        ratio,
        ratio <= 0.4 and min(cosines) >= 0.9999,
        mine.numbers("vaultseek") | reference.numbers("reference") | {"cosine": min(cosines)},
        guarded={"embed-query": mine.p10 / reference.p10},
    )


@row("embed-bulk", quick=True)
def embed_bulk(bench: Bench) -> Iterator[Figure]:
    """Passages of the model's full length, in batches of 32."""
    ours, theirs = load(BUNDLED), bench.sentence_transformers
    size = BATCH // 4 if bench.quick else BATCH
    passages = bench.texts.passages(size * (4 if bench.quick else 10))
    seconds: dict[str, list[float]] = {"vaultseek": [], "reference": []}
    sides: dict[str, Encode] = {
        "vaultseek": ours.encode,
        "reference": partial(theirs.encode, batch_size=BATCH),
    }
    vectors = {}
    for encode in sides.values():
        encode(passages[:8])
    for start in range(0, len(passages), size):
        for name, encode in sides.items():
            began = time.perf_counter()
            vectors[name] = encode(passages[start : start + size])
            seconds[name].append(time.perf_counter() - began)
    rates = {name: size / float(np.median(values)) for name, values in seconds.items()}
    cosine = float((vectors["vaultseek"] * vectors["reference"]).sum(1).min())
    faster = rates["vaultseek"] / rates["reference"]
    yield Figure(
        "embed-bulk",
        "embedding in bulk, 238 tokens a passage",
        f"{number(rates['vaultseek'])} passages/s, cosine ≥ {cosine:.4f}",
        f"SentenceTransformer.encode(batch_size=32): {number(rates['reference'])} passages/s",
        "≥ 2x faster with bf16 or VNNI, never below 1x",
        1 / faster,
        faster >= 2,
        {**{f"{name}_per_second": rate for name, rate in rates.items()}, "faster": faster, "cosine": cosine},
        guarded={"embed-bulk": min(seconds["vaultseek"]) / min(seconds["reference"])},
    )
