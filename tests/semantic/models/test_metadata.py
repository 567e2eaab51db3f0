"""Metadata from the files of a model: its window and its fingerprint."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from vaultseek.semantic.models.metadata import fingerprint, window_of

MakeModel = Callable[..., Path]


@pytest.mark.parametrize(
    "files",
    [
        {"model.safetensors": "others"},
        {"tokenizer.json": '{"a": 1}'},
        {"sentence_bert_config.json": json.dumps({"max_seq_length": 128})},
        {"1_Pooling/config.json": json.dumps({"pooling_mode_cls_token": True})},
        {"config_sentence_transformers.json": json.dumps({"prompts": {"query": "q: "}})},
    ],
)
def test_whatever_decides_the_vectors_decides_the_fingerprint(
    model_folder: MakeModel, files: dict[str, str], tmp_path: Path
) -> None:
    plain = fingerprint(model_folder())
    assert plain.startswith("model-folder-")
    assert plain == fingerprint(model_folder(), hashlib.sha256(b"weights").hexdigest())
    assert fingerprint(model_folder({"README.md": "words"})) == plain
    changed = model_folder(files, name="other/model-folder")
    assert fingerprint(changed) != plain


def test_the_window_is_the_smaller_of_the_two(model_folder: MakeModel) -> None:
    assert window_of(model_folder()) == 254
    assert window_of(model_folder({"sentence_bert_config.json": json.dumps({"max_seq_length": None})})) == 510
