"""Index a vault with vectors like the bundled model's, without embedding every text: ``python -m
benchmark.seed``.

A separate program, run in the directories of a `Home`. It indexes with the product's code and replaces only
the computation of vectors: each text gets one of the sample's real vectors, chosen by the text, with noise.
The daemon then finds the files that it would have written itself, except for the values of the vectors.

With ``--check`` it also searches the vectors with filters and compares the answers with brute force.
"""

import argparse
import asyncio
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import vaultseek.core.indexing.embed
from benchmark.notes import number_of, share_of
from vaultseek.base import paths
from vaultseek.core.indexing.open_vault import OpenVault, VaultOptions
from vaultseek.core.indexing.unembedded import EmbeddingSpec
from vaultseek.core.library import index_vault
from vaultseek.semantic.models.catalogue import BUNDLED, find_model
from vaultseek.semantic.worker import CHUNKS, NOTES, SemanticWorker

NOISE = 0.3
"""Length of the noise added to a vector of length 1; cosines with the sample's vector are near 0.96."""
CHECKED_QUERIES = 10
CHECKED_NEIGHBOURS = 10
SHARES = (1, 10, 50)
SAME = 1e-5
"""Difference below which cosines are equal."""
WAITING_TEXTS = 16_384

Vectors = NDArray[np.float32]


class RepeatingWorker(SemanticWorker):
    """A worker that invents vectors like the sample's; the real worker does everything else."""

    sample: Vectors
    stored: list[tuple[str, NDArray[np.int64], Vectors]] | None = None
    """Collection, notes and vectors of all stored vectors, if they are to be checked."""

    async def embed(self, texts: Sequence[str], **_: Any) -> Vectors:
        """Return a vector for each text, the same on every call."""
        seeds = [zlib.crc32(text.encode("utf-8", "surrogatepass")) for text in texts]
        noise = np.random.default_rng(seeds[:1]).standard_normal(
            (len(texts), self.sample.shape[1]), np.float32
        )
        rows = self.sample[[seed % len(self.sample) for seed in seeds]]
        vectors = rows + noise * np.float32(NOISE / self.sample.shape[1] ** 0.5)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)

    async def apply(self, store: Path, collection: str, **changes: Any) -> None:
        """Store vectors, and remember them for the check."""
        if self.stored is not None and changes.get("vectors") is not None:
            notes = np.asarray(changes["notes"], np.int64)
            self.stored.append((collection, notes, np.array(changes["vectors"])))
        await super().apply(store, collection, **changes)


async def seed(root: Path, sample: Vectors, *, check: bool) -> dict[str, Any]:
    """Index the vault at ``root`` in the directories of the environment, and return its counts."""
    model = find_model(BUNDLED)
    worker = RepeatingWorker(model, log=paths.private_directory(paths.state_directory()) / "seed.log")
    worker.sample = sample
    worker.stored = [] if check else None
    spec = EmbeddingSpec(model.fingerprint, model.counter(), model.window, model.name)
    directory = paths.private_directory(paths.vault_data_directory(root))
    # Fetching the next texts costs as much as sorting all the remaining ones.
    vaultseek.core.indexing.embed.WAITING_TEXTS = WAITING_TEXTS
    vault = OpenVault.open(VaultOptions(root.name, root), directory, worker, spec)
    try:
        await index_vault(vault)
        counts = vault.ledger.counts()
        report: dict[str, Any] = {
            "notes": counts.notes,
            "passages": counts.chunks,
            "dimension": sample.shape[1],
        }
        if check:
            report["missed"] = await _missed(vault, worker)
        return report
    finally:
        await worker.stop()
        vault.close()


async def _missed(vault: OpenVault, worker: RepeatingWorker) -> dict[str, int | None]:
    """Return how many of the nearest notes each share's filter missed in ``CHECKED_QUERIES`` queries."""
    everything = {
        row.id: number_of(row.path) for row in vault.ledger.notes.by_id(vault.ledger.notes.ids()).values()
    }
    queries = worker.sample[:: max(1, len(worker.sample) // CHECKED_QUERIES)][:CHECKED_QUERIES]
    missed: dict[str, int | None] = {}
    for share in SHARES:
        allowed = np.array([id for id, number in everything.items() if share_of(number) <= share], np.int64)
        missed[str(share)] = 0
        for query in queries:
            answer = await worker.query(vault.embedding.store, query, CHECKED_NEIGHBOURS, allowed=allowed)
            by_passage = _cosines(answer.passage_notes, answer.passage_scores)
            by_note = _cosines(answer.note_ids, answer.note_scores)
            for collection, cosines in ((CHUNKS, by_passage), (NOTES, by_note)):
                lacking = _lacking(worker.stored or [], collection, query, allowed, cosines)
                missed[str(share)] = (missed[str(share)] or 0) + lacking
    return missed


def _cosines(notes: Any, scores: Any) -> dict[int, float]:
    """Return the best cosine of each note in an answer."""
    best: dict[int, float] = {}
    for note, score in zip(notes.tolist(), scores.tolist(), strict=True):
        best[note] = max(best.get(note, -1.0), score)
    return best


def _lacking(stored: Any, collection: str, query: Vectors, allowed: Any, cosines: dict[int, float]) -> int:
    """Return how many notes are missing from an answer although brute force finds them nearer than its last
    note."""
    best: dict[int, float] = {}
    for name, notes, vectors in stored:
        if name == collection:
            inside = np.isin(notes, allowed)
            for note, cosine in zip(notes[inside].tolist(), (vectors[inside] @ query).tolist(), strict=True):
                best[note] = max(best.get(note, -1.0), cosine)
    nearest = sorted(best.items(), key=lambda item: -item[1])[:CHECKED_NEIGHBOURS]
    least = min(cosines.values(), default=2.0)
    return sum(1 for note, cosine in nearest if note not in cosines and cosine > least + SAME) + max(
        0, len(nearest) - len(cosines)
    )


def main() -> None:
    """Seed one vault and print its counts as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vault", type=Path)
    parser.add_argument("sample", type=Path, help="real vectors, a matrix written by numpy")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    report = asyncio.run(seed(options.vault.resolve(), np.load(options.sample), check=options.check))
    print(json.dumps(report))


if __name__ == "__main__":
    main()
