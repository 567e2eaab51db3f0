"""Cross-encoders: scoring query and passage together. Slow, so only for the first results.

Models of the BERT kind are computed as embeddings are, all others by sentence-transformers. Light to import:
the engines are imported when a model is loaded, in the semantic worker.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vaultseek.base.text import one_line, replace_surrogates
from vaultseek.errors import ConfigError
from vaultseek.semantic.inference.bert_pairs import Batch, BertReranker, is_bert_cross_encoder
from vaultseek.semantic.models.directories import model_directory
from vaultseek.semantic.models.safety import refuse_code

_ERROR_CHARS = 200
_SENTENCE_BATCH = 2
log = logging.getLogger(__name__)


class Reranker(Protocol):
    """A cross-encoder with one score per pair. ``threads`` is the number of batches at a time."""

    threads: int

    def batches(self, query: str, texts: Sequence[str]) -> Sequence[Batch]:
        """Return the work in parts, the first texts first; each gives the relevance of its own, in (0, 1)."""


def score(
    reranker: Reranker, query: str, texts: Sequence[str], until: float | None = None
) -> NDArray[np.float32]:
    """Return the relevance of each text to the query, in (0, 1): ``(len(texts),)``.

    It returns at ``until``, on the clock of `time.monotonic`, with what it has; the rest is NaN. Raises
    ValueError if the model gives something else than scores.
    """
    scores = np.full(len(texts), np.nan, dtype=np.float32)
    if not texts:
        return scores
    encodable = [replace_surrogates(text) for text in texts]
    # New threads, because they take over the priority of the caller.
    threads = ThreadPoolExecutor(reranker.threads)
    batches = reranker.batches(replace_surrogates(query), encodable)
    tasks = {threads.submit(batch.score): batch.texts for batch in batches}
    done, _ = wait(tasks, None if until is None else max(0.0, until - time.monotonic()))
    # A batch that is late ends by itself; nobody waits for it.
    threads.shutdown(wait=False, cancel_futures=True)
    for task in done:
        values = np.asarray(task.result(), dtype=np.float32)
        if values.shape != (len(tasks[task]),) or not np.isfinite(values).all():
            raise ValueError(f"the reranker gave scores of shape {values.shape} or not finite")
        scores[tasks[task]] = values
    return scores


class SentenceReranker:
    """Any sentence-transformers ``CrossEncoder`` with one score per pair, run by that library."""

    threads = 1

    def __init__(self, directory: Path) -> None:
        import sentence_transformers

        self._model = sentence_transformers.CrossEncoder(
            str(directory),
            device="cpu",
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"use_safetensors": True},
        )
        if self._model.num_labels != 1:
            raise ValueError(f"it gives {self._model.num_labels} scores per pair, not one")

    def batches(self, query: str, texts: Sequence[str]) -> list[Batch]:
        """Return small batches in the order of the texts."""
        numbers = list(range(len(texts)))
        parts = [numbers[start : start + _SENTENCE_BATCH] for start in range(0, len(texts), _SENTENCE_BATCH)]
        return [Batch(part, partial(self._scores, [(query, texts[i]) for i in part])) for part in parts]

    def _scores(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        scores: NDArray[np.float32] = self._model.predict(
            list(pairs),
            activation_fn=lambda logits: logits.sigmoid(),
            show_progress_bar=False,
            convert_to_numpy=True,
        )
        return scores


def load(name: str) -> Reranker:
    """Load the reranker ``name``: a folder, or a fetched model.

    Raises `ConfigError`, one line, if it is missing, damaged or not trusted.
    """
    directory = model_directory(name)
    refuse_code(directory)
    try:
        return _load(directory)
    except Exception as error:  # each library raises its own errors
        line = one_line(str(error), _ERROR_CHARS)
        raise ConfigError(f"reranker {name!r} cannot be loaded: {line}; fetch it again") from None


def _load(directory: Path) -> Reranker:
    if not is_bert_cross_encoder(directory):
        return SentenceReranker(directory)
    try:
        return BertReranker(directory)
    except KeyError as error:  # the tensors have other names than BERT's
        log.info("%s is run by sentence-transformers: no tensor %s", directory.name, error)
        return SentenceReranker(directory)
