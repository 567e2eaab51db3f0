"""BERT encoders without the layers of Python that usually stand around them.

Most small embedding models, the bundled one among them, are this one network. Run directly over the
weights it needs neither transformers nor sentence-transformers, which saves three seconds of start, 200 MB
and more than half of the time that a short query takes; the vectors are the same to six digits. Models that
are anything else go the general way, see `embed`.

Source of the computation: Devlin et al., *BERT* (2019), encoder with post-layer normalisation; mean pooling
and scaling to unit length as in Reimers and Gurevych, *Sentence-BERT* (2019).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from vaultseek.models.bundled import WEIGHTS, max_length, read_json, window_of

EMBED_TOKENS = 2048
"""Texts are put through the model together up to this many tokens, padding included."""

Precision = Literal["auto", "float32", "bfloat16"]
_POOLING = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}


def pooling_of(directory: Path) -> str | None:
    """``"mean"`` or ``"cls"`` if the model in ``directory`` is one that `BertEncoder` computes, else None."""
    config = read_json(directory / "config.json")
    plain = (
        config.get("model_type") == "bert"
        and config.get("position_embedding_type", "absolute") == "absolute"
        and config.get("hidden_act") == "gelu"
        and not config.get("is_decoder")
    )
    modules = read_json(directory / "modules.json")
    kinds = [str(module.get("type", "")).rpartition(".")[2] for module in modules if isinstance(module, dict)]
    if not plain or kinds not in (["Transformer", "Pooling", "Normalize"], ["Transformer", "Pooling"]):
        return None
    if not all((directory / name).is_file() for name in (WEIGHTS, "tokenizer.json")):
        return None
    pooling = read_json(directory / modules[1].get("path", "1_Pooling") / "config.json")
    modes = [key for key, value in pooling.items() if key.startswith("pooling_mode_") and value is True]
    return _POOLING.get(modes[0]) if len(modes) == 1 else None


class BertEncoder:
    """The model in ``directory`` on the CPU. ``weights`` are the bytes of its safetensors file."""

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
        """``"float32"`` or ``"bfloat16"``, what the matrices are multiplied in."""
        return str(self._dtype).removeprefix("torch.")

    def encode(
        self,
        texts: Sequence[str],
        *,
        query: bool = False,
        pause: Callable[[], None] | None = None,
    ) -> NDArray[np.float32]:
        """Unit vectors, one a text: ``(len(texts), dimension)``. ``pause`` is called between batches."""
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
        held = np.zeros((len(tokens), longest), dtype=bool)
        for row, one in enumerate(tokens):
            ids[row, : len(one)] = one
            held[row, : len(one)] = True
        return self._network.vectors(ids, held, mean=self._pooling == "mean")


class _Network:
    """The weights in the form that the computation wants and the computation itself."""

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

    def vectors(self, ids: NDArray[np.int64], held: NDArray[np.bool_], *, mean: bool) -> NDArray[np.float32]:
        """Unit vectors of a padded batch: token ids and which of them are there, both ``(texts, tokens)``."""
        torch = self._torch
        with torch.inference_mode():
            there = torch.from_numpy(held)
            states = self._states(torch.from_numpy(ids), None if held.all() else there).float()
            if mean:
                weight = there.unsqueeze(-1).float()
                pooled = (states * weight).sum(1) / weight.sum(1)
            else:
                pooled = states[:, 0]
            vectors: NDArray[np.float32] = torch.nn.functional.normalize(pooled, dim=1).numpy()
            return vectors

    def _states(self, ids: Any, there: Any) -> Any:
        """Hidden states of the last layer, ``(texts, tokens, width)``."""
        functional = self._torch.nn.functional
        texts, count = ids.shape
        mask = there[:, None, None, :] if there is not None else None
        states = functional.layer_norm(
            self._words[ids] + self._positions[:count], (self._width,), *self._norm, self._epsilon
        ).to(self._dtype)
        split = (texts, count, 3, self._heads, self._width // self._heads)
        for joined, output, first_norm, inner, outer, last_norm in self._layers:
            query, key, value = (
                functional.linear(states, *joined).view(split).permute(2, 0, 3, 1, 4).unbind(0)
            )
            seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
            seen = functional.linear(seen.transpose(1, 2).reshape(texts, count, self._width), *output)
            states = functional.layer_norm(states + seen, (self._width,), *first_norm, self._epsilon)
            hidden = functional.linear(functional.gelu(functional.linear(states, *inner)), *outer)
            states = functional.layer_norm(states + hidden, (self._width,), *last_norm, self._epsilon)
        return states

    def _layer(self, at: str) -> tuple[tuple[Any, Any], ...]:
        """The six linear maps and norms of a layer; query, key and value are one map."""
        parts = [self._pair(f"{at}attention.self.{name}") for name in ("query", "key", "value")]
        joined = tuple(self._torch.cat(tensors).to(self._dtype) for tensors in zip(*parts, strict=True))
        others = (
            "attention.output.dense",
            "attention.output.LayerNorm",
            "intermediate.dense",
            "output.dense",
            "output.LayerNorm",
        )
        pairs = [tuple(t.to(self._dtype) for t in self._pair(at + name)) for name in others]
        return ((joined[0], joined[1]), *((pair[0], pair[1]) for pair in pairs))

    def _pair(self, name: str) -> tuple[Any, Any]:
        return self._get(f"{name}.weight"), self._get(f"{name}.bias")

    def _get(self, name: str) -> Any:
        return self._weights[name].float()


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Texts of like length together, so that little is padding; the longest first, memory peaks once."""
    batch: list[int] = []
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if batch and lengths[batch[0]] * (len(batch) + 1) > EMBED_TOKENS:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def _dtype(torch: Any, precision: Precision) -> Any:
    """bfloat16 only where the processor multiplies it natively: twice as fast there, slower elsewhere.

    Its vectors have a cosine of 0.9999 to those of float32; norms and pooling stay in float32 at both ends.
    """
    if precision == "auto":
        native = any(
            getattr(torch.cpu, test, bool)()
            for test in ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
        )
        precision = "bfloat16" if native else "float32"
    return getattr(torch, precision)
