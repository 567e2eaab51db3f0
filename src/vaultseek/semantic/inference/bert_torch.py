"""The network of a BERT encoder in bfloat16, computed with torch.

Compared with float32, it takes half the time on processors with native bfloat16 multiplication, and more time
on other processors. Importing torch takes seconds and 200 MB, so only a process for embedding in bulk imports
it.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaultseek.base.child_process import processor_flags
from vaultseek.base.extras import has_extra
from vaultseek.semantic.inference.bert_graph import Matrix, Tensors
from vaultseek.semantic.models.metadata import BertShape

_NATIVE = frozenset({"avx512_bf16", "amx_bf16", "bf16"})


def has_bfloat16() -> bool:
    """Return True if torch is installed and the processor reports native bfloat16; False if this is
    unknown."""
    return has_extra("torch") and not _NATIVE.isdisjoint(processor_flags())


class TorchNetwork:
    """A network with layers in bfloat16; the first norm and the final pooling use float32.

    Computes in the caller's thread; several threads may use the network at the same time. Raises KeyError or
    ValueError if the weights do not fit the shape.
    """

    def __init__(self, shape: BertShape, weights: Tensors) -> None:
        import torch

        torch.set_num_threads(1)
        self._torch: Any = torch
        self._shape = shape
        self._weights = weights
        self._norm = self._pair("embeddings.LayerNorm", (shape.width,), torch.float32)
        self._layers = [self._layer(f"encoder.layer.{number}.") for number in range(shape.layers)]
        del self._weights

    def __call__(self, embeddings: Matrix, lengths: NDArray[np.int32], shares: Matrix) -> Matrix:
        """Return the pooled vectors, ``(texts, width)``; see `EncoderGraph` for the arguments."""
        torch = self._torch
        with torch.inference_mode():
            longest, mask = embeddings.shape[1], None
            if lengths.min() < longest:  # some tokens are padding
                mask = torch.from_numpy(np.arange(longest) < lengths[:, None])[:, None, None, :]
            states = self._states(torch.from_numpy(embeddings), mask)
            pooled: Matrix = torch.matmul(torch.from_numpy(shares), states.float())[:, 0].numpy()
            return pooled

    def _states(self, embeddings: Any, mask: Any) -> Any:
        """Return the hidden states of the last layer, ``(texts, tokens, width)``."""
        functional, shape = self._torch.nn.functional, self._shape
        texts, count, width = embeddings.shape
        states = functional.layer_norm(embeddings, (width,), *self._norm, shape.epsilon).bfloat16()
        split = (texts, count, 3, shape.heads, width // shape.heads)
        for joined, output, first_norm, inner, outer, last_norm in self._layers:
            query, key, value = (
                functional.linear(states, *joined).view(split).permute(2, 0, 3, 1, 4).unbind(0)
            )
            context = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
            context = functional.linear(context.transpose(1, 2).reshape(texts, count, width), *output)
            states = functional.layer_norm(states + context, (width,), *first_norm, shape.epsilon)
            hidden = functional.linear(functional.gelu(functional.linear(states, *inner)), *outer)
            states = functional.layer_norm(states + hidden, (width,), *last_norm, shape.epsilon)
        return states

    def _layer(self, prefix: str) -> tuple[tuple[Any, Any], ...]:
        """Return the linear maps and norms of a layer; query, key and value are joined in one map."""
        width, inner = self._shape.width, self._shape.inner
        half = self._torch.bfloat16
        square = (width, width)
        parts = [
            self._pair(f"{prefix}attention.self.{name}", square, half) for name in ("query", "key", "value")
        ]
        weight, bias = (self._torch.cat(tensors) for tensors in zip(*parts, strict=True))
        return (
            (weight, bias),
            self._pair(f"{prefix}attention.output.dense", square, half),
            self._pair(f"{prefix}attention.output.LayerNorm", (width,), half),
            self._pair(f"{prefix}intermediate.dense", (inner, width), half),
            self._pair(f"{prefix}output.dense", (width, inner), half),
            self._pair(f"{prefix}output.LayerNorm", (width,), half),
        )

    def _pair(self, name: str, shape: tuple[int, ...], kind: Any) -> tuple[Any, Any]:
        weight = self._weights.get(f"{name}.weight", *shape)
        bias = self._weights.get(f"{name}.bias", shape[0])
        return self._torch.tensor(weight).to(kind), self._torch.tensor(bias).to(kind)
