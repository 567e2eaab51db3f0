"""Approximate index of vectors in Chroma. No other module uses Chroma.

An entry consists of a row number in the matrix and that row's vector, never text. Chroma's files are a cache
of the matrix.
"""

from pathlib import Path

import numpy as np

from vaultseek.base import paths
from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.vectors.port import Rows

_NAME = "vectors"
_HNSW = {
    "space": "cosine",
    "ef_construction": 100,
    "ef_search": 400,
    "max_neighbors": 16,
    "batch_size": 1000,
    "sync_threshold": 2_000,
}
"""Options of Chroma's HNSW index. In addition to the graph, Chroma keeps in memory the vectors of up to
``sync_threshold`` writes."""


class ChromaIndex:
    """The Chroma database in the folder ``path``, created if it is missing; see ``ApproximateIndex``."""

    def __init__(self, path: Path) -> None:
        import chromadb
        from chromadb.config import Settings

        paths.private_directory(path)
        self._client = chromadb.PersistentClient(str(path), settings=Settings(anonymized_telemetry=False))
        self._collection = self._client.get_or_create_collection(
            _NAME, embedding_function=None, configuration={"hnsw": _HNSW}
        )

    def count(self) -> int:
        return int(self._collection.count())

    def add(self, first: int, vectors: Vectors) -> None:
        rows = range(first, first + len(vectors))
        self._collection.upsert(ids=list(map(str, rows)), embeddings=vectors)

    def nearest(self, vector: Vectors, k: int) -> Rows:
        # Only ids, because everything else that Chroma can return takes several times as long.
        result = self._collection.query(query_embeddings=[vector], n_results=k, include=[])
        return np.array(result["ids"][0], dtype=np.int64)

    def close(self) -> None:
        """Close the database's files."""
        self._client.close()
