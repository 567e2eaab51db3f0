"""Embedding models: how one is loaded, and how texts become vectors that can be trusted.

Light to import; torch, sentence-transformers and LlamaIndex are imported by the functions that need them,
which only ever run in the semantic worker.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vaultseek.errors import ConfigError
from vaultseek.models import bundled
from vaultseek.models.bert import BertEncoder, Precision, pooling_of
from vaultseek.models.hashing import HashingEncoder
from vaultseek.text import replace_surrogates

Vectors = NDArray[np.float32]
log = logging.getLogger(__name__)


class Encoder(Protocol):
    """A model that turns texts into vectors."""

    fingerprint: str
    """Vectors of models with different fingerprints must never meet."""
    dimension: int
    window: int
    """Tokens of a text that are read, the model's own marks not counted."""

    def encode(
        self, texts: Sequence[str], *, query: bool = False, pause: Callable[[], None] | None = None
    ) -> Vectors:
        """Unit vectors, one a text: ``(len(texts), dimension)``; ``pause`` is called between batches."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors of texts, and why some are missing: index of the text and the reason. Their rows are NaN."""

    vectors: Vectors
    failed: tuple[tuple[int, str], ...] = ()


def load(name: str, directory: Path | None = None, *, precision: Precision = "auto") -> Encoder:
    """The model called ``name``, which lies in ``directory`` unless it is the bundled one or a stand-in.

    Nothing is downloaded and no code of the model's folder is run. Raises `ConfigError`, one line, for a
    model that is missing, damaged or not to be trusted.
    """
    if (stand_in := HashingEncoder.named(name)) is not None:
        return stand_in
    if directory is None:
        directory = bundled.locate(name)
    bundled.refuse_code(directory)
    try:
        return _load(name, directory, precision)
    except ConfigError:
        raise
    except Exception as error:  # each library has errors of its own
        raise ConfigError(f"model {name!r} cannot be loaded: {_line(error)}; fetch it again") from None


def embed(
    encoder: Encoder, texts: Sequence[str], *, query: bool = False, pause: Callable[[], None] | None = None
) -> Embedded:
    """Vectors of the texts, each checked. A batch that fails is halved down to the one text that fails.

    A wrong count or shape, numbers that are not finite and a lack of memory all count as failing.
    """
    vectors = np.full((len(texts), encoder.dimension), np.nan, dtype=np.float32)
    failed: list[tuple[int, str]] = []
    clean = [replace_surrogates(text) for text in texts]

    def fill(start: int, end: int) -> None:
        try:
            batch = encoder.encode(clean[start:end], query=query, pause=pause)
            vectors[start:end] = _checked(batch, (end - start, encoder.dimension))
        except Exception as error:
            if end - start == 1:
                failed.append((start, _line(error)))
                return
            middle = (start + end) // 2
            fill(start, middle)
            fill(middle, end)

    if clean:
        fill(0, len(clean))
    return Embedded(vectors, tuple(failed))


def _checked(vectors: Vectors, shape: tuple[int, int]) -> Vectors:
    if vectors.shape != shape:
        raise ValueError(f"the model gave vectors of shape {vectors.shape}")
    if not np.isfinite(vectors).all():
        raise ValueError("the model gave numbers that are not finite")
    return vectors


class SentenceEncoder:
    """Any sentence-transformers model, through that library."""

    def __init__(self, directory: Path, *, fingerprint: str) -> None:
        import sentence_transformers

        self._model = sentence_transformers.SentenceTransformer(
            str(directory),
            device="cpu",
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"use_safetensors": True},
        )
        self._model.eval()
        prompts = getattr(self._model, "prompts", None) or {}
        self._prompts = (prompts.get("document") or prompts.get("passage") or "", prompts.get("query") or "")
        self.fingerprint = fingerprint
        self.window = bundled.window_of(directory)
        self.dimension: int = self.encode([""]).shape[1]

    def encode(
        self, texts: Sequence[str], *, query: bool = False, pause: Callable[[], None] | None = None
    ) -> Vectors:
        """Unit vectors, one a text; ``pause`` is called between batches of eight."""
        longest_first = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
        rows: dict[int, Vectors] = {}
        for at in range(0, len(texts), _GENERAL_BATCH):
            if pause:
                pause()
            batch = longest_first[at : at + _GENERAL_BATCH]
            vectors = self._model.encode(
                [texts[i] for i in batch],
                prompt=self._prompts[query] or None,
                batch_size=_GENERAL_BATCH,
                normalize_embeddings=True,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
            rows |= zip(batch, np.asarray(vectors, dtype=np.float32), strict=True)
        return np.stack([rows[i] for i in range(len(texts))])


def llama_embedding(encoder: Encoder) -> Any:
    """``encoder`` as LlamaIndex sees models: a ``BaseEmbedding`` for its indexes and pipelines."""
    from llama_index.core.base.embeddings.base import BaseEmbedding

    class VaultseekEmbedding(BaseEmbedding):  # type: ignore[misc]
        """The embedding model of vaultseek."""

        def _get_query_embedding(self, query: str) -> list[float]:
            return _floats(encoder, [query], query=True)[0]

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

        def _get_text_embedding(self, text: str) -> list[float]:
            return _floats(encoder, [text])[0]

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return _floats(encoder, texts)

    return VaultseekEmbedding(model_name=encoder.fingerprint)


def _floats(encoder: Encoder, texts: Sequence[str], *, query: bool = False) -> list[list[float]]:
    done = embed(encoder, texts, query=query)
    if done.failed:
        raise ValueError(f"text {done.failed[0][0]} cannot be embedded: {done.failed[0][1]}")
    rows: list[list[float]] = done.vectors.tolist()
    return rows


_GENERAL_BATCH = 8


def _load(name: str, directory: Path, precision: Precision) -> Encoder:
    weights: bytes | None = None
    if bundled.is_bundled(name):
        weights = bundled.verify(directory)
    if pooling_of(directory) is None:
        return SentenceEncoder(directory, fingerprint=bundled.fingerprint(directory))
    weights = weights if weights is not None else (directory / bundled.WEIGHTS).read_bytes()
    fingerprint = bundled.fingerprint(directory, weights)
    try:
        return BertEncoder(directory, weights, fingerprint=fingerprint, precision=precision)
    except KeyError as error:  # other names of tensors than BERT's
        log.info("%s goes the general way: no tensor %s", fingerprint, error)
        return SentenceEncoder(directory, fingerprint=fingerprint)


def _line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return (text or type(error).__name__)[:200]
