"""The encoder of a packed model: its tensors in the BERT graph, its vectors of tokens left in four bits."""

from __future__ import annotations

from vaultseek.semantic.inference.bert import BertEncoder, BertParts
from vaultseek.semantic.inference.bert_graph import position_embeddings
from vaultseek.semantic.models.packed import PackedModel, read_packed
from vaultseek.semantic.models.unigram import UnigramTokenizer


def load_packed(model: PackedModel, *, half: bool = False) -> BertEncoder:
    """Load the model; ``half`` computes with bfloat16, for bulk. Raises as `read_parts` does."""
    return BertEncoder(read_parts(model), half=half)


def read_parts(model: PackedModel) -> BertParts:
    """Return the parts of the model.

    Raises:
        ConfigError: the file is missing, damaged or not the one that is known.
        KeyError: a tensor is missing.
        ValueError: a tensor is damaged.
    """
    file = read_packed(model)
    tokenizer = UnigramTokenizer(file.vocabulary)
    positions = position_embeddings(file.shape, file)
    return BertParts(
        model.fingerprint,
        file.shape,
        file,
        file.words(),
        positions,
        lambda texts: [tokenizer.encode(text, len(positions)) for text in texts],
        model.prompts,
        model.window,
    )
