"""BERT encoders, which tokenize texts and compute a unit vector for each text, in batches.

Most small embedding models, including the bundled one, are BERT encoders. Computing them without torch,
transformers and sentence-transformers makes start-up seconds faster, saves 300 MB of memory, and takes a
third of the time for a short query; the vectors of passages are the same to six digits. `embed` runs all
other models with sentence-transformers.

Two networks compute the same vectors: `OnnxNetwork` and, for many texts, `TorchNetwork`, which uses bfloat16
on processors that support it natively. On processors with native eight-bit multiplication, queries use
eight-bit weights. The weights for passages are in memory only while passages are being embedded.

Mean pooling and unit length as in Reimers and Gurevych, *Sentence-BERT* (2019).
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaultseek.base.child_process import processor_count, processor_flags, return_free_memory
from vaultseek.semantic.inference.bert_graph import (
    EightBitTensors,
    EncoderGraph,
    FileTensors,
    OnnxNetwork,
    Tensors,
    Weights,
    embeddings,
)
from vaultseek.semantic.inference.bert_torch import TorchNetwork
from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.models.metadata import WEIGHTS, BertShape, max_length, read_json, window_of
from vaultseek.semantic.models.packed_file import QuantizedMatrix

Network = Callable[[Vectors, NDArray[np.int32], Vectors], Vectors]
"""A function that returns pooled vectors. Its arguments are embeddings, lengths and shares; see
`EncoderGraph`."""

PASSAGES_SECONDS = 20.0
"""Number of seconds without embedding a passage after which the weights for passages are removed from
memory."""


class NetworkOnDemand:
    """A network that is created by ``make`` when first called, and discarded after a while without calls."""

    def __init__(self, make: Callable[[], Network], idle_seconds: float = PASSAGES_SECONDS) -> None:
        self._make = make
        self._idle_seconds = idle_seconds
        self._network: Network | None = None
        self._calls = 0
        self._lock = threading.Lock()

    def __call__(self, embeddings: Vectors, lengths: NDArray[np.int32], shares: Vectors) -> Vectors:
        """Return the pooled vectors; see `Network`. Raises the errors of ``make``."""
        with self._lock:
            self._calls += 1
            network = self._network
            if network is None:
                network = self._network = self._make()
                threading.Thread(target=self._end_when_idle, name="passages-end", daemon=True).start()
        return network(embeddings, lengths, shares)

    def _end_when_idle(self) -> None:
        calls = 0
        while self._network is not None:
            time.sleep(self._idle_seconds)
            with self._lock:
                if calls == self._calls:
                    self._network = None
                calls = self._calls
        return_free_memory()


HALF_TOKENS = 512
"""Maximum number of tokens in a bfloat16 batch, including padding; larger batches are not faster.

In float32, each text is computed alone: this takes no longer, and a vector then does not depend on other
texts."""
_EIGHT_BIT_PRODUCTS = frozenset({"avx512_vnni", "avx_vnni"})
MAX_THREADS = 2
"""Maximum number of threads for one query; more threads would spend most of their time waiting for each
other."""
MAX_PROCESSORS = 8
"""Maximum number of concurrent batches."""

_POOLING = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}


def pooling_of(directory: Path) -> str | None:
    """Return the pooling method, ``"mean"`` or ``"cls"``, of a model that `BertEncoder` supports; None for
    other models."""
    modules = read_json(directory / "modules.json")
    kinds = [str(module.get("type", "")).rpartition(".")[2] for module in modules if isinstance(module, dict)]
    if not is_plain_bert(read_json(directory / "config.json")) or kinds not in (
        ["Transformer", "Pooling", "Normalize"],
        ["Transformer", "Pooling"],
    ):
        return None
    if not all((directory / name).is_file() for name in (WEIGHTS, "tokenizer.json")):
        return None
    if read_json(directory / "sentence_bert_config.json").get("do_lower_case"):
        return None
    return _pooling(read_json(directory / modules[1].get("path", "1_Pooling") / "config.json"))


def is_plain_bert(config: Mapping[str, object]) -> bool:
    """Return true if ``config.json`` describes an encoder that `EncoderGraph` can compute."""
    return (
        config.get("model_type") == "bert"
        and config.get("position_embedding_type", "absolute") == "absolute"
        and config.get("hidden_act") == "gelu"
        and not config.get("is_decoder")
    )


def _pooling(config: Mapping[str, object]) -> str | None:
    """Return the pooling method in the pooling module's ``config.json``; None if it is not supported."""
    if config.get("include_prompt") is False:
        return None
    modes = [
        name
        for key, name in _POOLING.items()
        if config.get(key) is True or config.get("pooling_mode") == name
    ]
    others = [key for key, value in config.items() if key.startswith("pooling_mode_") and value is True]
    return modes[0] if len(modes) == 1 and len(others) <= 1 else None


@dataclass(frozen=True, slots=True)
class BertParts:
    """The parts of a BERT model, read from its files.

    ``tokenize`` returns the tokens of each text, including special ones, up to the length of ``positions``.
    ``prompts`` are the texts put before passages and before queries. ``window`` is the number of tokens that
    a text may have, not counting special tokens and prompt. ``is_mean`` selects mean pooling instead of the
    first token's vector. ``tensors_again`` reads the tensors once more, or raises WorkerUnavailable.
    """

    fingerprint: str
    shape: BertShape
    tensors: FileTensors
    words: Vectors | QuantizedMatrix
    positions: Vectors
    tokenize: Callable[[list[str]], list[list[int]]]
    prompts: tuple[str, str]
    window: int
    tensors_again: Callable[[], FileTensors]
    is_mean: bool = True


def read_folder(
    directory: Path, weights: bytes, read_again: Callable[[], bytes], *, fingerprint: str
) -> BertParts:
    """Read the parts of the model in ``directory``; ``weights`` are the bytes of its safetensors file, and
    ``read_again`` reads these bytes once more.

    Raises KeyError, ValueError or `ConfigError` if the model is damaged or is not a BERT model.
    """
    tensors = Weights(weights)
    shape = BertShape.from_config(read_json(directory / "config.json"))
    prompts = read_json(directory / "config_sentence_transformers.json").get("prompts") or {}
    words, positions = embeddings(shape, tensors, directory / WEIGHTS)
    if len(positions) < max_length(directory):
        raise ValueError(f"the weights have {len(positions)} positions, not {max_length(directory)}")
    tokenizer = tokenizer_of(directory)
    return BertParts(
        fingerprint,
        shape,
        tensors,
        words,
        positions,
        lambda texts: [encoding.ids for encoding in tokenizer.encode_batch_fast(texts)],
        (prompts.get("document") or prompts.get("passage") or "", prompts.get("query") or ""),
        window_of(directory),
        lambda: Weights(read_again()),
        pooling_of(directory) == "mean",
    )


def tokenizer_of(directory: Path) -> Any:
    """Return the model's ``tokenizers.Tokenizer``, which truncates texts and pairs of texts to the model's
    window."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    tokenizer.enable_truncation(max_length(directory))
    tokenizer.no_padding()
    return tokenizer


class BertEncoder:
    """A BERT model on the CPU.

    With ``half``, the model computes in bfloat16, for embedding many texts. The resulting vectors have a
    cosine of 0.9999 with the float32 vectors.
    """

    def __init__(self, parts: BertParts, *, half: bool = False) -> None:
        self.fingerprint = parts.fingerprint
        self.dimension = parts.shape.width
        self.window = parts.window
        self._one: Network
        self._many: Network
        self.processors = processors()
        """Number of batches computed concurrently."""
        self._batch_tokens = HALF_TOKENS if half else 1
        self._is_mean = parts.is_mean
        self._prompts = parts.prompts
        self._words, self._positions = parts.words, parts.positions
        self.computing = "float32 in onnxruntime"
        if half:
            self._one = self._many = TorchNetwork(parts.shape, parts.tensors)
        else:
            is_fast = multiplies_eight_bits()
            tensors = EightBitTensors(parts.tensors) if is_fast else parts.tensors
            self.computing += ", queries with 8-bit weights" if is_fast else ""
            graph = EncoderGraph(parts.shape, tensors).build()
            self._one = OnnxNetwork(graph, min(MAX_THREADS, processors()))
            self._many = NetworkOnDemand(partial(_passage_network, parts.shape, parts.tensors_again))
        self._tokenize = parts.tokenize

    def encode(
        self,
        texts: Sequence[str],
        *,
        query: bool = False,
        pause: Callable[[], None] | None = None,
    ) -> Vectors:
        """Return unit vectors, one per text: ``(len(texts), dimension)``. ``pause`` is called between
        batches."""
        prompt = self._prompts[query]
        tokens = self._tokenize([prompt + text for text in texts])
        lengths = [len(ids) for ids in tokens]
        batches = list(batches_by_length(lengths, self._batch_tokens))
        if len(batches) == 1:
            return self._vectors(self._one if query else self._many, tokens)
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)

        def fill(batch: list[int]) -> None:
            if pause:
                pause()
            vectors[batch] = self._vectors(self._many, [tokens[i] for i in batch])

        # Start new threads, because a new thread inherits the caller's priority.
        with ThreadPoolExecutor(self.processors) as threads:
            list(threads.map(fill, batches))
        return vectors

    def _vectors(self, network: Network, tokens: Sequence[Sequence[int]]) -> Vectors:
        """Return the unit vectors of tokenized texts; NaN for a text without tokens."""
        ids, lengths = padded(tokens)
        longest = ids.shape[1]
        embeddings = self._words[ids] + self._positions[:longest]
        pooled = network(embeddings, lengths, self._shares(lengths, longest))
        with np.errstate(invalid="ignore"):
            return np.asarray(pooled / np.linalg.norm(pooled, axis=1, keepdims=True), dtype=np.float32)

    def _shares(self, lengths: NDArray[np.int32], longest: int) -> Vectors:
        """Return each token's share in its text's vector: ``(texts, 1, longest)``."""
        pooled = np.minimum(lengths, longest if self._is_mean else 1)[:, None]
        return ((np.arange(longest) < pooled) / np.maximum(pooled, 1))[:, None].astype(np.float32)


def _passage_network(shape: BertShape, read: Callable[[], Tensors]) -> Network:
    """Return a single-threaded network with the tensors from ``read``.

    For many texts, a separate thread for each batch is faster, and each thread keeps the caller's priority.
    """
    return OnnxNetwork(EncoderGraph(shape, read()).build(), 1)


def multiplies_eight_bits() -> bool:
    """Return True if the processor reports native eight-bit multiplication; False if this is unknown."""
    return not _EIGHT_BIT_PRODUCTS.isdisjoint(processor_flags())


def processors() -> int:
    """Return the number of processors to use for computing."""
    return min(MAX_PROCESSORS, processor_count())


def padded(rows: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the rows as one table, padded with zeros, and the length of each row."""
    lengths = np.array([len(row) for row in rows], dtype=np.int32)
    table = np.zeros((len(rows), max(1, lengths.max())), dtype=np.int64)
    for line, row in zip(table, rows, strict=True):
        line[: len(row)] = row
    return table, lengths


def batches_by_length(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Yield the indexes of texts in batches of similar length, to save padding.

    The longest texts come first, so that memory use peaks only once. A batch has up to ``tokens`` tokens,
    including padding, or contains a single text.
    """
    batch: list[int] = []
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if batch and lengths[batch[0]] * (len(batch) + 1) > tokens:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch
