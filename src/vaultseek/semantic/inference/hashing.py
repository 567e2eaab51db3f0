"""A deterministic stand-in for an embedding model, by feature hashing, without torch."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from vaultseek.base import limits
from vaultseek.errors import ConfigError

HASHING_DIMENSION = 64

_WORD = re.compile(r"\w+")
_NAME = re.compile(r"hashing(?:-(\d{1,4}))?")


class HashingEncoder:
    """Feature hashing of lower-case words: texts that share words are similar, others nearly orthogonal.

    ``hashing-<n>`` has ``n`` dimensions instead of the default, for testing a change of model.
    """

    window = limits.MODEL_WINDOW
    computing = "by hashing words"

    def __init__(self, dimension: int = HASHING_DIMENSION) -> None:
        self.dimension = dimension
        is_default = dimension == HASHING_DIMENSION
        self.fingerprint = "hashing" if is_default else f"hashing-{dimension}"

    @classmethod
    def from_name(cls, name: str) -> HashingEncoder | None:
        """Return the encoder called ``name``, or None if it is the name of a real model."""
        match = _NAME.fullmatch(name)
        if match is None:
            return None
        dimension = int(match[1] or HASHING_DIMENSION)
        if dimension < 2:
            raise ConfigError(f"model {name!r}: a hashing model needs at least two dimensions")
        return cls(dimension)

    def encode(
        self,
        texts: Sequence[str],
        *,
        query: bool = False,
        pause: Callable[[], None] | None = None,
    ) -> NDArray[np.float32]:
        """Return unit vectors, one per text: ``(len(texts), dimension)``. The options have no effect."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for word in _WORD.findall(text.lower()):
                number = _hash(word)
                row[(number >> 1) % self.dimension] += 1.0 if number & 1 else -1.0
            if not row.any():
                row[0] = 1.0
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / norms, dtype=np.float32)


def _hash(word: str) -> int:
    data = word.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")
