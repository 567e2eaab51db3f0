"""Cross-encoders: read query and passage together and say how well they fit. Slow, so for the first few only.

Light to import; sentence-transformers is imported when a model is loaded, in the semantic worker.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vaultseek.errors import ConfigError
from vaultseek.models import bundled
from vaultseek.text import replace_surrogates


class CrossEncoderReranker:
    """A sentence-transformers ``CrossEncoder`` with one score a pair, from a folder on this machine."""

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
            raise ValueError(f"it gives {self._model.num_labels} scores a pair, not one")

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """How well each text answers the query, in (0, 1): ``(len(texts),)``."""
        if not texts:
            return np.zeros(0, dtype=np.float32)
        scores = self._model.predict(
            [(replace_surrogates(query), replace_surrogates(text)) for text in texts],
            activation_fn=lambda logits: logits.sigmoid(),
            show_progress_bar=False,
            convert_to_numpy=True,
        )
        checked = np.asarray(scores, dtype=np.float32)
        if checked.shape != (len(texts),) or not np.isfinite(checked).all():
            raise ValueError(f"the reranker gave scores of shape {checked.shape} or not finite")
        return checked


def load(name: str) -> CrossEncoderReranker:
    """The reranker called ``name``: a folder, or a model that was fetched.

    Raises `ConfigError`, one line, for one that is missing, damaged or not to be trusted.
    """
    directory = bundled.locate(name)
    bundled.refuse_code(directory)
    try:
        return CrossEncoderReranker(directory)
    except Exception as error:  # each library has errors of its own
        line = " ".join(str(error).split())[:200]
        raise ConfigError(f"reranker {name!r} cannot be loaded: {line}; fetch it again") from None
