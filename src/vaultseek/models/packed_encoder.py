"""The encoder of a packed model: its tensors in the BERT graph, its vectors of tokens left in four bits."""

from __future__ import annotations

from vaultseek.errors import ConfigError
from vaultseek.models.bert import BertEncoder, BertParts
from vaultseek.models.bert_graph import position_embeddings
from vaultseek.models.packed import PackedModel, read_packed
from vaultseek.models.unigram import UnigramTokenizer


def load_packed(model: PackedModel, *, half: bool = False) -> BertEncoder:
    """Load the model; ``half`` computes with bfloat16, for bulk.

    Raises `ConfigError`, one line, if the file is missing, damaged or not the one that is known.
    """
    file = read_packed(model)
    try:
        tokenizer = UnigramTokenizer(file.vocabulary)
        positions = position_embeddings(file.shape, file)
        parts = BertParts(
            model.fingerprint,
            file.shape,
            file,
            file.words(),
            positions,
            lambda texts: [tokenizer.encode(text, len(positions)) for text in texts],
            model.prompts,
            model.window,
        )
        return BertEncoder(parts, half=half)
    except (KeyError, ValueError) as error:
        raise ConfigError(
            f"{model.file()} is damaged: no tensor {error}; install {model.package} again"
            if isinstance(error, KeyError)
            else f"{model.file()} is damaged: {error}; install {model.package} again"
        ) from None
