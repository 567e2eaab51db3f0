"""Which embedding model the settings mean, and what the daemon has to know of it without loading it."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from vaultseek import limits
from vaultseek.errors import ConfigError
from vaultseek.models import bundled
from vaultseek.models.bundled import fingerprint, model_directory, window_of
from vaultseek.models.tokens import TokenCounter

BUNDLED = "bundled"
HASHING = "hashing"
PINNED = {bundled.NAME: bundled.WEIGHTS_SHA256}
"""The SHA-256 of the weights of models that are known; of others the first fetch remembers a digest."""
SUGGESTED = {
    "sentence-transformers/all-MiniLM-L12-v2": "English, a deeper sister of the bundled model",
    "sentence-transformers/all-mpnet-base-v2": "English, larger and slower",
    "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2": "some fifty languages",
    "cross-encoder/ms-marco-MiniLM-L-6-v2": "reranker, reads query and passage together",
}
"""Models of the hub that are worth a try, and what for."""


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model on this machine. ``directory`` is None for the stand-in that tests use.

    ``window`` is how many tokens of a text it reads, its own marks not counted. ``fault`` says why it cannot
    be used; None for one that can.
    """

    name: str
    directory: Path | None
    fingerprint: str
    window: int
    fault: str | None = None

    def counter(self) -> Callable[[str], int]:
        """Counts the tokens that the model makes of a text.

        Raises `ConfigError` if its tokenizer cannot be read.
        """
        if self.directory is None:
            return count_words
        try:
            return TokenCounter.from_tokenizer_file(self.directory / "tokenizer.json")
        except (OSError, ValueError):
            raise ConfigError(
                f"model folder {self.directory} has no readable tokenizer.json; "
                "go back with `vaultseek models use bundled`"
            ) from None


def find_model(name: str) -> LocalModel:
    """The model called ``name`` in the settings: ``bundled``, a folder, ``hashing`` or ``hashing-32``."""
    directory = find_directory(name)
    if directory is None:
        return LocalModel(name, None, name, limits.MODEL_WINDOW)
    return LocalModel(name, directory, fingerprint(directory), window_of(directory))


def find_directory(name: str) -> Path | None:
    """The folder of the model called ``name`` in the settings; None for the stand-in.

    Raises `ConfigError` if there is none.
    """
    if name.partition("-")[0] == HASHING:
        return None
    return model_directory() if name == BUNDLED else bundled.locate(name)


def absent_model(name: str, fault: str) -> LocalModel:
    """In place of a model that cannot be used, so that everything that needs none goes on.

    It counts as the bundled model does, where that is there.
    """
    with suppress(ConfigError):
        like = find_model(BUNDLED)
        return LocalModel(name, like.directory, f"absent:{name}", like.window, fault)
    return LocalModel(name, None, f"absent:{name}", limits.MODEL_WINDOW, fault)


def count_words(text: str) -> int:
    """Words and punctuation marks: the tokens of the stand-in."""
    return len(_WORD.findall(text))


_WORD = re.compile(r"\w+|[^\w\s]")
