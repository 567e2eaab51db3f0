"""Row: the nearest vectors, by scanning the matrix and from Chroma's proposals."""

import shutil
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import psutil

from benchmark.figures import MILLISECONDS, Figure, alternate, number
from benchmark.registry import row
from benchmark.worlds import Bench
from vaultseek.base import limits
from vaultseek.base.paths import folder_bytes
from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.vectors.index import VectorIndex
from vaultseek.semantic.vectors.port import NoteIds, Numbers, VectorBatch
from vaultseek.semantic.worker.chroma_process import ChromaProcess

COUNTS, FULL_COUNTS, QUICK_COUNTS = (10_000, 34_000), (100_000, 350_000, 1_000_000), (2_000,)
SHARES = (1.0, 0.5, 0.1, 0.01)
PASSAGES = 3
CLUSTER = 60
"""Number of vectors per cluster."""
DIMENSION = 384
NEAREST = 100
"""Number of notes that a search requests."""
BEST = 10
RECALL = 0.999
BLOCK = 10
UNBOUNDED = 1 << 40


@row("vectors")
def vectors(bench: Bench) -> Iterator[Figure]:
    """Clustered vectors, searched in all notes and in a share of them, above and within the budget."""
    counts = QUICK_COUNTS if bench.quick else COUNTS + (FULL_COUNTS if bench.full else ())
    for count in counts:
        yield from _of_count(bench, count)


def _of_count(bench: Bench, count: int) -> Iterator[Figure]:
    source = np.random.default_rng(7)
    stored = _clustered(source, count)
    folder = bench.folder / f"vectors-{count}"
    began = time.monotonic()
    scan, proposals = (_opened(folder, stored, budget) for budget in (UNBOUNDED, 0))
    written = folder_bytes(folder)
    while not proposals.has_proposals:
        time.sleep(0.1)
    seconds = time.monotonic() - began
    chroma = sum(child.memory_info().rss for child in psutil.Process().children()) / 1e6
    size = stored.vectors.nbytes / 1e6
    disk = f"{written / 1e6:.0f} MB, of Chroma {(folder_bytes(folder) - written) / 1e6:.0f} MB"
    what = f"{count:,} vectors of {DIMENSION} numbers"
    yield Figure("vectors", f"{what}: disk", disk, f"vectors in float32: {size:.0f} MB")
    yield Figure(
        "vectors", f"{what}: Chroma filled", f"{seconds:.0f} s, {chroma:.0f} MB of memory while asked"
    )
    for share in SHARES:
        mask = source.random(count // PASSAGES + 1) < share
        allowed = None if share == 1.0 else np.flatnonzero(mask)
        yield _compared(bench, what, {"scan": scan, "proposals": proposals}, allowed, share)
    proposals.end()
    shutil.rmtree(folder)


def _compared(
    bench: Bench, what: str, indexes: dict[str, VectorIndex], allowed: NoteIds | None, share: float
) -> Figure:
    queries = {str(number): query for number, query in enumerate(_queries(indexes["scan"], bench.queries))}
    found: dict[str, dict[str, Numbers]] = {name: {} for name in indexes}
    spent = dict.fromkeys(indexes, 0.0)
    children = psutil.Process().children()

    def search(name: str, query: str) -> None:
        before = _processor_ms(children)
        found[name][query] = indexes[name].search(queries[query], NEAREST, allowed).numbers[:BEST]
        spent[name] += (_processor_ms(children) - before) / len(queries)

    sides = {name: partial(search, name) for name in indexes}
    times = alternate(sides, list(queries), block=BLOCK, seconds=bench.seconds)
    pairs = [(found["scan"][query], found["proposals"][query]) for query in found["scan"]]
    recall = sum(len(np.intersect1d(*pair)) for pair in pairs) / sum(len(first) for first, _ in pairs)
    return Figure(
        "vectors",
        f"{what}: nearest in {share:.0%} of the notes",
        f"beyond the budget: {times['proposals']}, {number(spent['proposals'])} ms of processor time,"
        f" recall of the first {BEST} {recall:.4f}",
        f"scan: {times['scan']}, {number(spent['scan'])} ms of processor time",
        f"recall ≥ {RECALL}",
        times["proposals"].p50 / times["scan"].p50,
        recall >= RECALL,
        times["proposals"].numbers("proposals") | times["scan"].numbers("scan") | {"recall": recall},
    )


def _processor_ms(children: Sequence[psutil.Process]) -> float:
    """Return the processor time of this process and of Chroma's process; it varies little on a busy
    machine."""
    times = [child.cpu_times() for child in children]
    return MILLISECONDS * (time.process_time() + sum(each.user + each.system for each in times))


def _clustered(source: np.random.Generator, count: int) -> VectorBatch:
    """Return unit vectors around random centres, three per note."""
    centres = source.normal(size=(max(1, count // CLUSTER), DIMENSION)).astype(np.float32)
    rows = np.empty((count, DIMENSION), np.float32)
    for start in range(0, count, 10_000):
        part = rows[start : start + 10_000]
        part[:] = centres[source.integers(len(centres), size=len(part))]
        part += source.normal(size=part.shape).astype(np.float32)
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    return VectorBatch(np.arange(count), np.arange(count) // PASSAGES, rows)


def _opened(folder: Path, stored: VectorBatch, budget: int) -> VectorIndex:
    """Return the index of these vectors in ``folder``, with a budget for the scan."""
    before, limits.VECTOR_SCAN_BYTES = limits.VECTOR_SCAN_BYTES, budget
    index = VectorIndex(folder, "chunks", ChromaProcess)
    if not len(index):
        index.apply(stored)
    limits.VECTOR_SCAN_BYTES = before
    return index


def _queries(index: VectorIndex, count: int) -> Iterator[Vectors]:
    """Yield vectors near stored ones."""
    source = np.random.default_rng(8)
    _, near = index.vectors(source.integers(len(index) // PASSAGES, size=count))
    for vector in near:
        moved = vector + source.normal(size=DIMENSION) / 40
        yield (moved / np.linalg.norm(moved)).astype(np.float32)
