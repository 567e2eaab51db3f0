"""Row: the time that reranking adds to a search, compared with sentence-transformers."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmark.figures import Figure, Times, alternate, number
from benchmark.registry import row
from benchmark.worlds import Bench, World
from vaultseek.semantic.models.directories import bundled_directory

LOAD_SECONDS = 60.0


@row("rerank")
def rerank(bench: Bench) -> Iterator[Figure]:
    """Hybrid searches whose first ten results are reranked by a cross-encoder of 6 layers of 384 numbers."""
    folder, world = bench.folder / "cross-encoder", bench.small()
    reference = _cross_encoder(folder)
    settings = {"rerank_enabled": True, "rerank_model": str(folder)}
    queries = world.texts.queries(bench.queries // 4)
    world.search(queries[0], settings={**settings, "rerank_seconds": LOAD_SECONDS})
    pairs = {query: _pairs(world, query) for query in queries}
    stage: list[float] = []
    unread: list[str] = []

    def reranked(query: str) -> None:
        answer = world.search(query, settings=settings, explain=True)
        stage.append(answer["explain"]["milliseconds"].get("rerank", 0.0))
        unread.extend(part["reason"] for part in answer["partial"] if part["lane"] == "rerank")

    sides = {
        "plain": world.searcher("hybrid"),
        "reranked": reranked,
        "reference": lambda query: reference.predict(pairs[query], show_progress_bar=False),
    }
    times = alternate(sides, queries, block=10, seconds=bench.seconds) | {"stage": Times.of(stage)}
    plain, search, own, predict = (times[side] for side in ("plain", "reranked", "stage", "reference"))
    yield Figure(
        "rerank",
        f"hybrid search, {world.notes:,} notes, the first ten reranked by a model of 6 layers",
        f"{search}; without reranking {number(plain.p50)} ms; {_read(len(stage), unread)}",
        f"CrossEncoder.predict of the same pairs: {predict}",
        "every answer reranked within 0.7 s, reranking ≤ predict",
        own.p50 / predict.p50,
        not unread and own.p50 <= predict.p50,
        search.numbers("reranked")
        | plain.numbers("plain")
        | own.numbers("stage")
        | predict.numbers("predict"),
    )


def _read(searches: int, unread: list[str]) -> str:
    if not unread:
        return "every answer reranked in full"
    return f"{len(unread)} of {searches} answers not reranked in full ({unread[0]})"


def _pairs(world: World, query: str) -> list[tuple[str, str]]:
    """Return the query with the passage of each result."""
    pairs = []
    for result in world.search(query)["results"]:
        lines = {"start_line": result["start_line"], "end_line": result["end_line"]}
        note = world.client.call("note/get", {"vault": str(world.vault), "note": result["path"], **lines})
        pairs.append((query, note["text"]))
    return pairs or [(query, "")]


def _cross_encoder(folder: Path) -> Any:
    """Write a cross-encoder with the bundled model's layers to ``folder`` and return it loaded.

    Its last layer is random: the order means nothing, but it takes as long as a trained model.
    """
    logging.getLogger("transformers").setLevel(logging.ERROR)
    from sentence_transformers import CrossEncoder

    made = CrossEncoder(str(bundled_directory()), num_labels=1, device="cpu", local_files_only=True)
    made.save_pretrained(str(folder))
    return made
