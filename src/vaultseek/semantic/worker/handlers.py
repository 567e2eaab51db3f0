"""Request handlers of the semantic worker: embed texts, store vectors, and search them. Used only in the
child."""

import time
from collections.abc import Callable

import numpy as np

from vaultseek.base.model import VectorIndexKind
from vaultseek.errors import ConfigError, UsageError, WorkerUnavailable
from vaultseek.semantic.inference import rerank
from vaultseek.semantic.inference.embed import embed
from vaultseek.semantic.inference.rerank import Reranker, TimedReranker
from vaultseek.semantic.models.encoder import Encoder, Vectors
from vaultseek.semantic.models.question import without_language
from vaultseek.semantic.models.service import SERVER, Service
from vaultseek.semantic.vectors.index import VectorIndex
from vaultseek.semantic.vectors.matrix import VectorHits
from vaultseek.semantic.vectors.port import NoteIds, VectorBatch
from vaultseek.semantic.worker.pipe import Frame
from vaultseek.semantic.worker.queues import ANSWER, Reply
from vaultseek.semantic.worker.store_cache import StoreCache

ANSWER_VECTORS = 20
"""Number of best notes, in each of two result lists, whose vectors are part of an answer. One list is by
passages, the other by the notes' own vectors. Ranking uses these vectors to compare the best notes with each
other."""


class RequestHandlers:
    """Handlers for the calls named in frames' headers; each call corresponds to a method of
    `SemanticWorker`."""

    def __init__(
        self,
        encoder: Encoder,
        pause: Callable[[], None],
        reranking: Service | None = None,
        vector_index: VectorIndexKind = "auto",
    ) -> None:
        """Create the handlers. ``reranking`` is the server that the reranker name `SERVER` selects."""
        self._reranking = reranking
        self._encoder = encoder
        self._stores = StoreCache(vector_index)
        self._pause = pause
        self._rerankers: dict[str, TimedReranker] = {}
        self._calls: dict[str, Callable[[Frame], Reply]] = {
            "embed": self._embed,
            "query": self._query,
            "vectors": self._vectors,
            "apply": self._apply,
            "about": self._about,
            "drop": self._drop,
            "rerank": self._rerank,
            "load_reranker": self._load_reranker,
        }

    def handle(self, frame: Frame) -> Reply:
        """Return the header and the arrays of the reply to a frame."""
        call = self._calls.get(frame.header["call"])
        if call is None:
            raise UsageError(f"the semantic worker does not support the call {frame.header['call']!r}")
        return call(frame)

    def _embed(self, frame: Frame) -> Reply:
        urgent = frame.header["queue"] == ANSWER
        batch = embed(self._encoder, frame.header["texts"], pause=None if urgent else self._pause)
        return {"failed": batch.failed}, [batch.vectors]

    def _query(self, frame: Frame) -> Reply:
        header = frame.header
        began = time.perf_counter()
        vector, allowed = self._query_arrays(frame)
        embedded = time.perf_counter()
        with self._stores.reading(header["store"]) as collection:
            chunks = _search(collection(header["chunks"]), vector, header["k"], allowed)
            notes = _search(collection(header["notes"]), vector, header["k"], allowed)
            best = _vectors_of(collection(header["notes"]), _best_notes(chunks.notes, notes.notes))
        answer = {
            "embed_ms": 1000 * (embedded - began),
            "search_ms": 1000 * (time.perf_counter() - embedded),
        }
        return answer, [vector, *chunks, notes.notes, notes.scores, *best]

    def _query_arrays(self, frame: Frame) -> tuple[Vectors, NoteIds | None]:
        """Return the query's vector and the notes to search in. The frame may contain either or both, the
        vector first."""
        arrays = list(frame.arrays)
        text = frame.header["text"]
        if text is None:
            vector = np.asarray(arrays.pop(0), dtype=np.float32)
        else:
            batch = embed(self._encoder, [text], query=True)
            if batch.failed:
                raise WorkerUnavailable(f"the query cannot be embedded: {batch.failed[0][1]}")
            vector = without_language(batch.vectors[0], self._encoder.fingerprint)
        return vector, arrays.pop(0) if frame.header["filtered"] else None

    def _vectors(self, frame: Frame) -> Reply:
        header = frame.header
        with self._stores.reading(header["store"]) as collection:
            return {}, _vectors_of(collection(header["collection"]), frame.arrays[0])

    def _apply(self, frame: Frame) -> Reply:
        header = frame.header
        numbers, notes, vectors, deletes = frame.arrays
        index = self._stores.writing(header["store"], header["collection"])
        index.apply(VectorBatch(numbers, notes, vectors), deletes, header["version"])
        return {}, ()

    def _about(self, frame: Frame) -> Reply:
        with self._stores.reading(frame.header["store"]) as collection:
            index = collection(frame.header["collection"])
            known = {} if index is None else {"version": index.version, "count": len(index)}
            return {"version": None, "count": 0} | known, ()

    def _drop(self, frame: Frame) -> Reply:
        self._stores.drop(frame.header["store"])
        return {}, ()

    def _rerank(self, frame: Frame) -> Reply:
        header = frame.header
        model = self._reranker(header["model"])
        return {}, [model.score(header["query"], header["texts"], header["until"])]

    def _load_reranker(self, frame: Frame) -> Reply:
        self._reranker(frame.header["model"])
        return {}, ()

    def _reranker(self, name: str) -> TimedReranker:
        """Return the cross-encoder ``name``, which stays loaded until a different cross-encoder is needed."""
        try:
            if name not in self._rerankers:
                self._rerankers = {name: TimedReranker(self._load(name))}
        except ConfigError as error:
            raise WorkerUnavailable(str(error), "model_unusable", error.advice) from None
        return self._rerankers[name]

    def _load(self, name: str) -> Reranker:
        if name != SERVER:
            return rerank.load(name)
        if self._reranking is None:
            raise WorkerUnavailable(_NO_SERVER, "model_unusable")
        from vaultseek.semantic.inference.served import ServedReranker

        return ServedReranker(self._reranking)


def _search(index: VectorIndex | None, vector: Vectors, k: int, allowed: NoteIds | None) -> VectorHits:
    return index.search(vector, k, allowed) if index is not None else VectorHits.none()


def _vectors_of(index: VectorIndex | None, notes: NoteIds) -> tuple[NoteIds, Vectors]:
    if index is None:
        return np.zeros(0, np.int64), np.zeros((0, 0), np.float32)
    return index.vectors(notes)


def _best_notes(by_passage: NoteIds, by_note: NoteIds) -> NoteIds:
    """Return the ids of the first notes in both lists. The lists are sorted, best first, and may repeat
    notes."""
    first = [*dict.fromkeys(by_passage.tolist())][:ANSWER_VECTORS] + by_note[:ANSWER_VECTORS].tolist()
    return np.array(sorted({*first}), np.int64)


_NO_SERVER = "no server for reranking: set reranker.url, then restart the daemon"
