"""Rows: embedding, compared with sentence-transformers."""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmark.figures import Figure, alternate, number
from benchmark.registry import row
from benchmark.worlds import Bench
from vaultseek.semantic.inference.embed import load
from vaultseek.semantic.models.catalogue import BUNDLED, find_model
from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.worker import SemanticWorker

BATCH = 32
CHOICE_SECONDS = 45.0
"""Maximum time for the worker to choose how to compute a long run."""
LEAST_TEXTS = 160
QUERY_COSINE = 0.998
"""Minimum cosine between the two encoders' vectors of a query; vaultseek's weights may have eight bits."""
Encode = Callable[[Sequence[str]], Vectors]


@row("embed-query", quick=True)
def embed_query(bench: Bench) -> Iterator[Figure]:
    """One query, embedded by vaultseek's encoder and by sentence-transformers in the same process."""
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
        f"{mine}, cosine ≥ {min(cosines):.4f}",
        f"SentenceTransformer.encode: {reference}",
        f"≤ 0.4x, cosine ≥ {QUERY_COSINE}",
        ratio,
        ratio <= 0.4 and min(cosines) >= QUERY_COSINE,
        mine.numbers("vaultseek") | reference.numbers("reference") | {"cosine": min(cosines)},
        guarded={"embed-query": mine.p10 / reference.p10},
    )


@row("embed-bulk", quick=True)
def embed_bulk(bench: Bench) -> Iterator[Figure]:
    """Passages of the model's full length, embedded by the worker in the background."""
    size = BATCH // 4 if bench.quick else BATCH
    passages = bench.texts.passages(size * (4 if bench.quick else 12))
    with contextlib.ExitStack() as stack:
        # In long runs, a worker chooses between ways of computing; a quick run is too short for that.
        ours = load(BUNDLED).encode if bench.quick else stack.enter_context(_worker(bench.folder, passages))
        sides: dict[str, Encode] = {
            "vaultseek": ours,
            "reference": partial(bench.sentence_transformers.encode, batch_size=BATCH),
        }
        yield _bulk_figure(sides, passages, size)


def _bulk_figure(sides: dict[str, Encode], passages: Sequence[str], size: int) -> Figure:
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    cosines = []
    for encode in sides.values():
        encode(passages[:8])
    for start in range(0, len(passages), size):
        vectors = []
        for name, encode in sides.items():
            began = time.perf_counter()
            vectors.append(encode(passages[start : start + size]))
            seconds[name].append(time.perf_counter() - began)
        cosines.append(float((vectors[0] * vectors[1]).sum(1).min()))
    rates = {name: size / float(np.median(values)) for name, values in seconds.items()}
    faster = rates["vaultseek"] / rates["reference"]
    return Figure(
        "embed-bulk",
        "embedding in bulk, 238 tokens a passage",
        f"{number(rates['vaultseek'])} passages/s ({faster:.1f}x as fast), cosine ≥ {min(cosines):.4f}",
        f"SentenceTransformer.encode(batch_size=32): {number(rates['reference'])} passages/s",
        "≥ 2x with bf16 or VNNI, never below 1x",
        1 / faster,
        faster >= 2,
        {**{f"{name}_per_second": rate for name, rate in rates.items()}, "cosine": min(cosines)},
        guarded={"embed-bulk": min(seconds["vaultseek"]) / min(seconds["reference"])},
    )


@contextlib.contextmanager
def _worker(folder: Path, passages: Sequence[str]) -> Iterator[Encode]:
    """Yield the embedding of a semantic worker that has chosen how to compute a long run."""
    os.environ["XDG_STATE_HOME"] = str(folder / "worker-state")  # where it keeps its measurements
    with asyncio.Runner() as runner:
        worker = SemanticWorker(find_model(BUNDLED), log=folder / "worker.log")
        embed: Encode = lambda texts: runner.run(worker.embed(texts))  # noqa: E731
        deadline = time.monotonic() + CHOICE_SECONDS
        try:
            for start in range(0, 1_000_000, BATCH // 2):
                embed(passages[start % len(passages) :][: BATCH // 2])
                computing = worker.state.computing or ""
                if time.monotonic() > deadline or (start > LEAST_TEXTS and "until" not in computing):
                    break
            yield embed
        finally:
            runner.run(worker.stop())
