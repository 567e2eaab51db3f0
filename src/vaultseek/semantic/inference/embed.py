"""Load embedding models, and embed texts with checked results.

Importing this module is fast: onnxruntime and sentence-transformers are imported only by the functions that
need them, which run only in the semantic worker.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vaultseek.base import limits
from vaultseek.base.extras import require_extra
from vaultseek.base.text import one_line, replace_surrogates
from vaultseek.errors import ConfigError, WorkerUnavailable
from vaultseek.semantic.inference.bert import BertEncoder, BertParts, pooling_of, read_folder
from vaultseek.semantic.inference.bert_graph import position_embeddings
from vaultseek.semantic.models.directories import is_bundled, model_directory
from vaultseek.semantic.models.encoder import Encoder, Vectors
from vaultseek.semantic.models.metadata import WEIGHTS, fingerprint, window_of
from vaultseek.semantic.models.packed import PACKED, PackedModel, read_packed
from vaultseek.semantic.models.safety import refuse_code, verify_bundled
from vaultseek.semantic.models.unigram import UnigramTokenizer

_SENTENCE_BATCH = 8
_ERROR_CHARS = 200
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors of texts. ``failed`` contains pairs of index and reason for the texts without a vector; their
    rows are NaN."""

    vectors: Vectors
    failed: tuple[tuple[int, str], ...] = ()


def load(name: str, directory: Path | None = None, *, half: bool = False) -> Encoder:
    """Load the model ``name`` from ``directory``, by default from the folder found for this name. Packed
    models and the stand-in for tests need no folder.

    With ``half``, a BERT model computes in bfloat16, for embedding many texts. Nothing is downloaded and no
    code from the model's folder runs. Raises a one-line `ConfigError` if the model is missing, damaged or not
    trusted.
    """
    if (stand_in := HashingEncoder.from_name(name)) is not None:
        return stand_in
    try:
        if name in PACKED:
            return BertEncoder(read_parts(PACKED[name]), half=half)
        if directory is None:
            directory = model_directory(name)
        refuse_code(directory)
        return _load(name, directory, half)
    except ConfigError:
        raise
    except Exception as error:  # each library raises its own errors
        raise ConfigError(f"model {name!r} cannot be loaded: {_line(error)}; fetch it again") from None


def embed(
    encoder: Encoder, texts: Sequence[str], *, query: bool = False, pause: Callable[[], None] | None = None
) -> Embedded:
    """Embed ``texts`` and check the vectors. A failing batch is halved until the failing text is found.

    Failures are a wrong count or shape, non-finite numbers, and a lack of memory. Raises WorkerUnavailable if
    no text can currently be embedded.
    """
    vectors = np.full((len(texts), encoder.dimension), np.nan, dtype=np.float32)
    failed: list[tuple[int, str]] = []
    encodable = [replace_surrogates(text) for text in texts]

    def fill(start: int, end: int) -> None:
        try:
            batch = encoder.encode(encodable[start:end], query=query, pause=pause)
            vectors[start:end] = _checked(batch, (end - start, encoder.dimension))
        except WorkerUnavailable:
            raise
        except Exception as error:
            if end - start == 1:
                failed.append((start, _line(error)))
                return
            middle = (start + end) // 2
            fill(start, middle)
            fill(middle, end)

    if encodable:
        fill(0, len(encodable))
    return Embedded(vectors, tuple(failed))


def _checked(vectors: Vectors, shape: tuple[int, int]) -> Vectors:
    if vectors.shape != shape:
        raise ValueError(f"the model returned vectors of shape {vectors.shape}")
    if not np.isfinite(vectors).all():
        raise ValueError("the model returned non-finite numbers")
    return vectors


class SentenceEncoder:
    """An embedding model that the sentence-transformers library runs."""

    computing = "float32 in sentence-transformers"

    def __init__(self, directory: Path, *, fingerprint: str) -> None:
        require_extra("torch", f"the model in {directory}")
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
        self.window = window_of(directory)
        self.dimension: int = self.encode([""]).shape[1]

    def encode(
        self, texts: Sequence[str], *, query: bool = False, pause: Callable[[], None] | None = None
    ) -> Vectors:
        """Return unit vectors, one per text; ``pause`` is called between batches."""
        longest_first = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
        rows: dict[int, Vectors] = {}
        for start in range(0, len(texts), _SENTENCE_BATCH):
            if pause:
                pause()
            batch = longest_first[start : start + _SENTENCE_BATCH]
            vectors = self._model.encode(
                [texts[i] for i in batch],
                prompt=self._prompts[query] or None,
                batch_size=_SENTENCE_BATCH,
                normalize_embeddings=True,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
            rows |= zip(batch, np.asarray(vectors, dtype=np.float32), strict=True)
        return np.stack([rows[i] for i in range(len(texts))])


def _load(name: str, directory: Path, half: bool) -> Encoder:
    weights = verify_bundled(directory) if is_bundled(name) else None
    if pooling_of(directory) is None:
        return SentenceEncoder(directory, fingerprint=fingerprint(directory))
    weights = weights if weights is not None else (directory / WEIGHTS).read_bytes()
    identity = fingerprint(directory, hashlib.sha256(weights).hexdigest())
    try:
        again = partial(_same_weights, directory, identity)
        return BertEncoder(read_folder(directory, weights, again, fingerprint=identity), half=half)
    except KeyError as error:  # the tensor names differ from BERT's
        log.info("using sentence-transformers for %s: the model has no tensor %s", identity, error)
        return SentenceEncoder(directory, fingerprint=identity)


def _same_weights(directory: Path, identity: str) -> bytes:
    """Read the bytes of the weights again. Raises WorkerUnavailable if the model has changed."""
    try:
        weights = (directory / WEIGHTS).read_bytes()
        is_same = fingerprint(directory, hashlib.sha256(weights).hexdigest()) == identity
    except OSError:
        is_same = False
    if not is_same:
        raise WorkerUnavailable(f"the model in {directory} has changed; restart the daemon", "model_unusable")
    return weights


def _line(error: BaseException) -> str:
    return one_line(str(error), _ERROR_CHARS) or type(error).__name__


def read_parts(model: PackedModel) -> BertParts:
    """Read the parts of a packed model. Raises ConfigError like `read_packed`."""
    file = read_packed(model)
    tokenizer = UnigramTokenizer(file.vocabulary)
    positions = position_embeddings(file.shape, file)
    return BertParts(
        model.fingerprint,
        file.shape,
        file,
        file.words(model.file()),
        positions,
        lambda texts: [tokenizer.encode(text, len(positions)) for text in texts],
        model.prompts,
        model.window,
        lambda: read_packed(model),
    )


HASHING_DIMENSION = 64

_WORD = re.compile(r"\w+")
_NAME = re.compile(r"hashing(?:-(\d{1,4}))?")
_HASHED_WORDS = 10_000


@lru_cache(_HASHED_WORDS)
def _hash(word: str) -> int:
    digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


class HashingEncoder:
    """Encoder that hashes lower-case words: texts that share words get similar vectors, other texts nearly
    orthogonal ones.

    ``hashing-<n>`` has ``n`` dimensions instead of the default number, for testing a change of model.
    """

    window = limits.MODEL_WINDOW
    computing = "by hashing words"

    def __init__(self, dimension: int = HASHING_DIMENSION) -> None:
        self.dimension = dimension
        is_default = dimension == HASHING_DIMENSION
        self.fingerprint = "hashing" if is_default else f"hashing-{dimension}"

    @classmethod
    def from_name(cls, name: str) -> HashingEncoder | None:
        """Return the hashing encoder called ``name``; None if ``name`` is the name of a real model."""
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
            sums = [0.0] * self.dimension
            for number in map(_hash, _WORD.findall(text.lower())):
                sums[(number >> 1) % self.dimension] += 1.0 if number & 1 else -1.0
            row[:] = sums
            if not row.any():
                row[0] = 1.0
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / norms, dtype=np.float32)
