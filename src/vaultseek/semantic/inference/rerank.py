"""Cross-encoders, which score query and passage together. They are slow, so only the first results are
scored.

BERT rerankers are computed like embedding models, all other rerankers by sentence-transformers. Importing
this module is fast: onnxruntime and sentence-transformers are imported when a model is loaded, in the
semantic worker.
"""

import logging
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vaultseek.base.extras import require_extra
from vaultseek.base.text import one_line, replace_surrogates
from vaultseek.errors import ConfigError
from vaultseek.semantic.inference.bert_pairs import Batch, BertReranker, is_bert_cross_encoder
from vaultseek.semantic.models.directories import model_directory
from vaultseek.semantic.models.safety import refuse_code

Scores = NDArray[np.float32]
_ERROR_CHARS = 200
_SENTENCE_BATCH = 2
log = logging.getLogger(__name__)


class Reranker(Protocol):
    """Interface of a cross-encoder with one score per pair. ``threads`` is the number of concurrent batches.

    With ``all_at_once``, scores are comparable only within one call of ``batches``.
    """

    threads: int
    all_at_once: bool

    def batches(self, query: str, texts: Sequence[str]) -> Sequence[Batch]:
        """Split the scoring of ``texts`` into batches, in the order of the texts. Each batch returns the
        scores, in (0, 1), of its own texts."""


class TimedReranker:
    """A cross-encoder that scores as many pairs as fit into a time limit. The measured time per pair
    determines how many pairs fit."""

    def __init__(self, model: Reranker) -> None:
        self._model = model
        self._pair_seconds: float | None = None
        self._measuring = ThreadPoolExecutor(1)
        self._measurement: Future[Scores] | None = None

    def score(self, query: str, texts: Sequence[str], until: float | None = None) -> Scores:
        """Return the relevance of each text to the query, in (0, 1): ``(len(texts),)``.

        ``until`` is a deadline in seconds of `time.monotonic`. Texts that cannot be scored by then get NaN,
        starting with the last one. If no text fits, the time for one pair is measured again after the answer;
        otherwise a machine that was once busy would count as slow forever. Raises ValueError if the model
        returns anything but scores.
        """
        scores = np.full(len(texts), np.nan, dtype=np.float32)
        done = 0
        while done < len(texts) and (count := self._fitting(until, len(texts) - done)):
            scores[done : done + count] = self._timed(query, texts[done : done + count])
            done += count
        if texts and not done and (self._measurement is None or self._measurement.done()):
            self._measurement = self._measuring.submit(self._timed, query, texts[:1])
        return scores

    def _fitting(self, until: float | None, most: int) -> int:
        """Return the number of pairs that fit into half of the remaining time; one if no time has been
        measured yet.

        Only half of the time is used, because a pair may take longer than the previous one. The next pairs
        use the rest.
        """
        if until is None or (self._model.all_at_once and time.monotonic() < until):
            return most
        left = until - time.monotonic()
        if left <= 0 or self._pair_seconds is None:
            return int(left > 0)
        return min(most, int(left / 2 / self._pair_seconds))

    def _timed(self, query: str, texts: Sequence[str]) -> Scores:
        """Score ``texts``, and record the time per pair."""
        began = time.monotonic()
        scores = np.full(len(texts), np.nan, dtype=np.float32)
        batches = self._model.batches(replace_surrogates(query), [replace_surrogates(text) for text in texts])
        # Start new threads, because a new thread inherits the caller's priority.
        with ThreadPoolExecutor(self._model.threads) as threads:
            for batch, values in zip(batches, threads.map(lambda batch: batch.score(), batches), strict=True):
                scores[batch.texts] = values
        if not np.isfinite(scores).all():
            raise ValueError("the reranker returned non-finite scores")
        self._pair_seconds = (time.monotonic() - began) / len(texts)
        return scores


class SentenceReranker:
    """A ``CrossEncoder`` with one score per pair, run by sentence-transformers."""

    threads = 1
    all_at_once = False

    def __init__(self, directory: Path) -> None:
        require_extra("torch", f"the reranker in {directory}")
        import sentence_transformers

        self._model = sentence_transformers.CrossEncoder(
            str(directory),
            device="cpu",
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"use_safetensors": True},
        )
        if self._model.num_labels != 1:
            raise ValueError(f"the model returns {self._model.num_labels} scores per pair, not one")

    def batches(self, query: str, texts: Sequence[str]) -> list[Batch]:
        """Return small batches in the order of the texts."""
        numbers = list(range(len(texts)))
        parts = [numbers[start : start + _SENTENCE_BATCH] for start in range(0, len(texts), _SENTENCE_BATCH)]
        return [Batch(part, partial(self._scores, [(query, texts[i]) for i in part])) for part in parts]

    def _scores(self, pairs: Sequence[tuple[str, str]]) -> Scores:
        scores: Scores = self._model.predict(
            list(pairs),
            activation_fn=lambda logits: logits.sigmoid(),
            show_progress_bar=False,
            convert_to_numpy=True,
        )
        return scores


def load(name: str) -> Reranker:
    """Load the reranker ``name``, a folder or a fetched model.

    Raises a one-line `ConfigError` if the model is missing, damaged or not trusted.
    """
    directory = model_directory(name)
    refuse_code(directory)
    try:
        return _load(directory)
    except ConfigError:
        raise
    except Exception as error:  # each library raises its own errors
        line = one_line(str(error), _ERROR_CHARS)
        raise ConfigError(f"reranker {name!r} cannot be loaded: {line}; fetch it again") from None


def _load(directory: Path) -> Reranker:
    if not is_bert_cross_encoder(directory):
        return SentenceReranker(directory)
    try:
        return BertReranker(directory)
    except KeyError as error:  # the tensor names differ from BERT's
        log.info("using sentence-transformers for %s: the model has no tensor %s", directory.name, error)
        return SentenceReranker(directory)
