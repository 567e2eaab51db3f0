"""Small untrained models, identical every time, saved as their libraries save them."""

import warnings
from pathlib import Path

from vaultseek.semantic.models.directories import bundled_directory


def save_cross_encoder(directory: Path) -> Path:
    """Save a cross-encoder of 32 dimensions in ``directory``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the libraries' own
        import torch
        from sentence_transformers import CrossEncoder
        from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

        torch.manual_seed(7)
        base = directory.with_name("base")
        config = BertConfig(
            hidden_size=32, intermediate_size=64, num_attention_heads=2, num_hidden_layers=1, num_labels=1
        )
        BertForSequenceClassification(config).save_pretrained(base)
        BertTokenizerFast(str(bundled_directory() / "vocab.txt")).save_pretrained(base)
        CrossEncoder(str(base), device="cpu").save_pretrained(str(directory))
    return directory
