"""Lookup of the model named in the settings, and of the data that the daemon needs before the model is
loaded."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from vaultseek.base import limits
from vaultseek.base.model import Reason
from vaultseek.errors import ConfigError
from vaultseek.semantic.models.directories import BUNDLED_NAME, is_bundled, model_directory
from vaultseek.semantic.models.metadata import fingerprint, window_of
from vaultseek.semantic.models.packed import PACKED, PackedCounter
from vaultseek.semantic.models.safety import BUNDLED_SHA256
from vaultseek.semantic.models.service import Service
from vaultseek.semantic.models.tokens import TokenCounter, count_words

BUNDLED = "bundled"
HASHING = "hashing"
PINNED = {BUNDLED_NAME: BUNDLED_SHA256}
"""SHA-256 of the weights of known models; for any other model, the first fetch records a digest."""
SUGGESTED = {
    "Snowflake/snowflake-arctic-embed-xs": "English; as large as the bundled one; BEIR 50.2, 8 points better",
    "MongoDB/mdbr-leaf-ir": "English; as large as the bundled one; 768 numbers per vector; BEIR 53.6",
    "BAAI/bge-small-en-v1.5": "English; 1.5 times the size; BEIR 51.7",
    "google/embeddinggemma-300m": "a hundred languages; 13 times the size; needs a Hugging Face account",
    "sentence-transformers/all-mpnet-base-v2": "English; larger and slower",
    "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2": "about fifty languages",
    "cross-encoder/ms-marco-MiniLM-L-6-v2": "a reranker: it reads the query and a passage together",
}
"""Models on the hub that are worth trying, with descriptions."""


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model on this machine, or on a server (``service``). ``directory`` is None for a model on a server,
    and for the stand-in used in tests.

    ``window`` is the maximum number of tokens in a text, without special tokens. ``fault`` is the reason why
    the model cannot be used, or None.
    """

    name: str
    directory: Path | None
    fingerprint: str
    window: int
    fault: Reason | None = None
    service: Service | None = None

    def counter(self) -> Callable[[str], int]:
        """Return a function that counts a text's tokens like the model's tokenizer.

        Raises `ConfigError` if the tokenizer cannot be read.
        """
        # The server's tokenizer is unknown; the bundled model needs at least as many tokens.
        if self.service is not None:
            return find_model(BUNDLED).counter()
        if self.directory is None:
            return count_words
        if self.name in PACKED:
            return PackedCounter(PACKED[self.name])
        try:
            return TokenCounter.from_tokenizer_file(self.directory / "tokenizer.json")
        except (OSError, ValueError):
            raise ConfigError(
                f"model folder {self.directory} has no readable tokenizer.json; set model.name to bundled"
            ) from None


def find_model(name: str) -> LocalModel:
    """Return the model named in the settings: ``bundled``, a packed model, a folder, a fetched model, or
    ``hashing[-32]``."""
    directory = find_directory(name)
    if directory is None:
        return LocalModel(name, None, name, limits.MODEL_WINDOW)
    if name in PACKED:
        return LocalModel(name, directory, PACKED[name].fingerprint, PACKED[name].window)
    # The worker loads no other weights under the bundled model's names, so they need not be read here.
    weights = BUNDLED_SHA256 if is_bundled(name) else None
    return LocalModel(name, directory, fingerprint(directory, weights), window_of(directory))


def served_model(service: Service) -> LocalModel:
    """Return the model on a server. If the server's settings cannot be used, ``fault`` contains the
    reason."""
    name = service.model or "the server's model"
    fault = Reason("model_unusable", service.fault) if service.fault else None
    return LocalModel(name, None, service.fingerprint, service.window, fault, service=service)


def find_directory(name: str) -> Path | None:
    """Return the folder of the model named in the settings; None for the stand-in.

    Raises `ConfigError` if there is no such model.
    """
    if name in PACKED:
        return PACKED[name].file().parent
    return None if name.partition("-")[0] == HASHING else model_directory(name)


def absent_model(name: str, error: ConfigError) -> LocalModel:
    """Return a placeholder for a model that cannot be used, so that everything else keeps working.

    The placeholder counts tokens like the bundled model, if the bundled model is installed.
    """
    fault = Reason("model_unusable", str(error), error.advice)
    with suppress(ConfigError):
        bundled = find_model(BUNDLED)
        return LocalModel(name, bundled.directory, f"absent:{name}", bundled.window, fault)
    return LocalModel(name, None, f"absent:{name}", limits.MODEL_WINDOW, fault)
