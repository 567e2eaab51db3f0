"""BERT encoders, computed directly with torch.

Most small embedding models, the bundled one among them, are BERT encoders. Without transformers and
sentence-transformers, start-up is three seconds faster, memory is 200 MB less and a short query takes less
than half the time; the vectors agree to six digits. `embed` runs all other models with sentence-transformers.

Source of the computation: Devlin et al., *BERT* (2019), encoder with post-layer normalisation; mean pooling
and unit length as in Reimers and Gurevych, *Sentence-BERT* (2019).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from vaultseek.models.metadata import WEIGHTS, max_length, read_json, window_of

EMBED_TOKENS = 2048
"""Largest batch in tokens, padding included."""

Precision = Literal["auto", "float32", "bfloat16"]
_POOLING = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}


def pooling_of(directory: Path) -> str | None:
    """Return the pooling, ``"mean"`` or ``"cls"``, of a model that `BertEncoder` can run; None for others."""
    config = read_json(directory / "config.json")
    is_plain_bert = (
        config.get("model_type") == "bert"
        and config.get("position_embedding_type", "absolute") == "absolute"
        and config.get("hidden_act") == "gelu"
        and not config.get("is_decoder")
    )
    modules = read_json(directory / "modules.json")
    kinds = [str(module.get("type", "")).rpartition(".")[2] for module in modules if isinstance(module, dict)]
    if not is_plain_bert or kinds not in (
        ["Transformer", "Pooling", "Normalize"],
        ["Transformer", "Pooling"],
    ):
        return None
    if not all((directory / name).is_file() for name in (WEIGHTS, "tokenizer.json")):
        return None
    pooling = read_json(directory / modules[1].get("path", "1_Pooling") / "config.json")
    modes = [key for key, value in pooling.items() if key.startswith("pooling_mode_") and value is True]
    return _POOLING.get(modes[0]) if len(modes) == 1 else None


class BertEncoder:
    """A BERT model on the CPU. ``weights`` are the bytes of its safetensors file."""

    def __init__(
        self, directory: Path, weights: bytes, *, fingerprint: str, precision: Precision = "auto"
    ) -> None:
        import torch
        from safetensors.torch import load
        from tokenizers import Tokenizer

        config = read_json(directory / "config.json")
        prompts = read_json(directory / "config_sentence_transformers.json").get("prompts") or {}
        self.fingerprint = fingerprint
        self.dimension: int = config["hidden_size"]
        self.window = window_of(directory)
        self._pooling = pooling_of(directory)
        self._prompts = (prompts.get("document") or prompts.get("passage") or "", prompts.get("query") or "")
        self._dtype = _dtype(torch, precision)
        self._network = _Network(torch, config, load(weights), self._dtype)
        self._tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        self._tokenizer.enable_truncation(max_length(directory))
        self._tokenizer.no_padding()

    @property
    def precision(self) -> str:
        """The type of the matrices: ``"float32"`` or ``"bfloat16"``."""
        return str(self._dtype).removeprefix("torch.")

    def encode(
        self,
        texts: Sequence[str],
        *,
        query: bool = False,
        pause: Callable[[], None] | None = None,
    ) -> NDArray[np.float32]:
        """Return unit vectors, one per text: ``(len(texts), dimension)``. ``pause`` runs between batches."""
        prompt = self._prompts[query]
        tokens = [e.ids for e in self._tokenizer.encode_batch([prompt + text for text in texts])]
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        for batch in _batches([len(ids) for ids in tokens]):
            if pause:
                pause()
            vectors[batch] = self._forward([tokens[i] for i in batch])
        return vectors

    def _forward(self, tokens: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        longest = max(len(ids) for ids in tokens)
        ids = np.zeros((len(tokens), longest), dtype=np.int64)
        mask = np.zeros((len(tokens), longest), dtype=bool)
        for row, text in enumerate(tokens):
            ids[row, : len(text)] = text
            mask[row, : len(text)] = True
        return self._network.vectors(ids, mask, mean=self._pooling == "mean")


class _Network:
    """The network: weights prepared for the computation, and the forward pass."""

    def __init__(self, torch: Any, config: Any, weights: dict[str, Any], dtype: Any) -> None:
        self._torch = torch
        self._dtype = dtype
        self._heads: int = config["num_attention_heads"]
        self._width: int = config["hidden_size"]
        self._epsilon: float = config.get("layer_norm_eps", 1e-12)
        self._weights = {name.removeprefix("bert."): tensor for name, tensor in weights.items()}
        self._words = self._get("embeddings.word_embeddings.weight")
        self._positions = (
            self._get("embeddings.position_embeddings.weight")
            + self._get("embeddings.token_type_embeddings.weight")[0]
        )
        self._norm = self._pair("embeddings.LayerNorm")
        self._layers = [self._layer(f"encoder.layer.{i}.") for i in range(config["num_hidden_layers"])]
        self._weights.clear()

    def vectors(self, ids: NDArray[np.int64], mask: NDArray[np.bool_], *, mean: bool) -> NDArray[np.float32]:
        """Return unit vectors of a padded batch: token ids and their mask, both ``(texts, tokens)``."""
        torch = self._torch
        with torch.inference_mode():
            present = torch.from_numpy(mask)
            states = self._states(torch.from_numpy(ids), None if mask.all() else present).float()
            if mean:
                weight = present.unsqueeze(-1).float()
                pooled = (states * weight).sum(1) / weight.sum(1)
            else:
                pooled = states[:, 0]
            vectors: NDArray[np.float32] = torch.nn.functional.normalize(pooled, dim=1).numpy()
            return vectors

    def _states(self, ids: Any, present: Any) -> Any:
        """Return the hidden states of the last layer, ``(texts, tokens, width)``."""
        functional = self._torch.nn.functional
        texts, count = ids.shape
        mask = present[:, None, None, :] if present is not None else None
        states = functional.layer_norm(
            self._words[ids] + self._positions[:count], (self._width,), *self._norm, self._epsilon
        ).to(self._dtype)
        split = (texts, count, 3, self._heads, self._width // self._heads)
        for joined, output, first_norm, inner, outer, last_norm in self._layers:
            query, key, value = (
                functional.linear(states, *joined).view(split).permute(2, 0, 3, 1, 4).unbind(0)
            )
            context = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
            context = functional.linear(context.transpose(1, 2).reshape(texts, count, self._width), *output)
            states = functional.layer_norm(states + context, (self._width,), *first_norm, self._epsilon)
            hidden = functional.linear(functional.gelu(functional.linear(states, *inner)), *outer)
            states = functional.layer_norm(states + hidden, (self._width,), *last_norm, self._epsilon)
        return states

    def _layer(self, prefix: str) -> tuple[tuple[Any, Any], ...]:
        """Return the six linear maps and norms of a layer; query, key and value are joined in one map."""
        parts = [self._pair(f"{prefix}attention.self.{name}") for name in ("query", "key", "value")]
        joined = tuple(self._torch.cat(tensors).to(self._dtype) for tensors in zip(*parts, strict=True))
        others = (
            "attention.output.dense",
            "attention.output.LayerNorm",
            "intermediate.dense",
            "output.dense",
            "output.LayerNorm",
        )
        pairs = [tuple(t.to(self._dtype) for t in self._pair(prefix + name)) for name in others]
        return ((joined[0], joined[1]), *((pair[0], pair[1]) for pair in pairs))

    def _pair(self, name: str) -> tuple[Any, Any]:
        return self._get(f"{name}.weight"), self._get(f"{name}.bias")

    def _get(self, name: str) -> Any:
        return self._weights[name].float()


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield batches of texts of similar length, to save padding; the longest first, so memory peaks once."""
    batch: list[int] = []
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if batch and lengths[batch[0]] * (len(batch) + 1) > EMBED_TOKENS:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def _dtype(torch: Any, precision: Precision) -> Any:
    """Choose bfloat16 if the processor multiplies it natively: twice as fast there, slower elsewhere.

    Its vectors have a cosine of 0.9999 to those of float32; the norms and pooling at both ends use float32.
    """
    if precision == "auto":
        native = any(
            getattr(torch.cpu, test, bool)()
            for test in ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
        )
        precision = "bfloat16" if native else "float32"
    return getattr(torch, precision)
