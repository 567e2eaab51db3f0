"""Cross-encoders: scoring query and passage together. Slow, so only for the first results.

Light to import: sentence-transformers is imported when a model is loaded, in the semantic worker.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vaultseek.errors import ConfigError
from vaultseek.models.directories import model_directory
from vaultseek.models.safety import refuse_code
from vaultseek.text import one_line, replace_surrogates

_ERROR_CHARS = 200


class CrossEncoderReranker:
    """A sentence-transformers ``CrossEncoder`` with one score per pair."""

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

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the relevance of each text to the query, in (0, 1): ``(len(texts),)``."""
        if not texts:
            return np.zeros(0, dtype=np.float32)
        scores = self._model.predict(
            [(replace_surrogates(query), replace_surrogates(text)) for text in texts],
            activation_fn=lambda logits: logits.sigmoid(),
            show_progress_bar=False,
            convert_to_numpy=True,
        )
        array = np.asarray(scores, dtype=np.float32)
        if array.shape != (len(texts),) or not np.isfinite(array).all():
            raise ValueError(f"the reranker gave scores of shape {array.shape} or not finite")
        return array


def load(name: str) -> CrossEncoderReranker:
    """Load the reranker ``name``: a folder, or a fetched model.

    Raises `ConfigError`, one line, if it is missing, damaged or not trusted.
    """
    directory = model_directory(name)
    refuse_code(directory)
    try:
        return CrossEncoderReranker(directory)
    except Exception as error:  # each library raises its own errors
        line = one_line(str(error), _ERROR_CHARS)
        raise ConfigError(f"reranker {name!r} cannot be loaded: {line}; fetch it again") from None
