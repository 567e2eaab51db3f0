"""Interface of embedding models, and the type of their vectors."""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""Vectors as rows: ``(count, dimension)``."""


class Encoder(Protocol):
    """A model that embeds texts."""

    fingerprint: str
    """Identity of the model; vectors with different fingerprints must never be compared."""

    @property
    def dimension(self) -> int:
        """The dimension of the vectors. Raises WorkerUnavailable while it is unknown."""

    window: int
    """Maximum number of tokens in a text, without special tokens."""

    @property
    def computing(self) -> str:
        """A human-readable description of how vectors are computed."""

    def encode(
        self, texts: Sequence[str], *, query: bool = False, pause: Callable[[], None] | None = None
    ) -> Vectors:
        """Return unit vectors, one per text: ``(len(texts), dimension)``.

        ``query`` selects the model's prompt for queries. ``pause`` is called between batches.
        """
