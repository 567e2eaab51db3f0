"""Trusted and untrusted model folders."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from vaultseek.errors import ConfigError
from vaultseek.semantic.models.directories import bundled_directory, model_directory
from vaultseek.semantic.models.metadata import WEIGHTS, window_of
from vaultseek.semantic.models.safety import refuse_code, verify_bundled

MakeModel = Callable[..., Path]


def test_the_bundled_model_is_there_and_is_the_right_one() -> None:
    directory = bundled_directory()
    refuse_code(directory)
    assert len(verify_bundled(directory)) > 80_000_000
    assert window_of(directory) == 254
    for name in ("bundled", "all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"):
        assert model_directory(name) == directory


def test_a_changed_byte_in_the_weights_is_refused(tmp_path: Path) -> None:
    source = bundled_directory() / WEIGHTS
    copy = tmp_path / WEIGHTS
    shutil.copyfile(source, copy)
    with copy.open("r+b") as file:
        file.seek(50_000_000)
        byte = file.read(1)
        file.seek(50_000_000)
        file.write(bytes([byte[0] ^ 1]))
    with pytest.raises(ConfigError, match="trusts"):
        verify_bundled(tmp_path)
    copy.unlink()
    with pytest.raises(ConfigError, match="install it again"):
        verify_bundled(tmp_path)


def test_a_harmless_folder_is_let_through(model_folder: MakeModel) -> None:
    refuse_code(model_folder())
    refuse_code(model_folder({"README.md": "trust_remote_code", "1_Pooling/config.json": "{}"}))


@pytest.mark.fault("I8")
@pytest.mark.parametrize(
    "files",
    [
        {"pytorch_model.bin": "x"},
        {"sub/deeper/model.PT": "x"},
        {"weights.pkl": "x"},
        {"modeling_evil.py": "x"},
        {"config.json": json.dumps({"auto_map": {"AutoModel": "evil.Model"}})},
        {"config.json": json.dumps({"nested": [{"trust_remote_code": True}]})},
        {"tokenizer_config.json": json.dumps({"auto_map": {}})},
        {"modules.json": json.dumps([{"type": "os.system"}])},
        {"modules.json": json.dumps(["os.system"])},
        {"modules.json": json.dumps({"type": "sentence_transformers.models.Transformer"})},
        {"config.json": "{ not json"},
        {"config.json": "[" * 100_000},
        {"model.safetensors": None},
    ],
)
def test_what_could_run_code_or_is_broken_is_refused(
    model_folder: MakeModel, files: dict[str, str | None]
) -> None:
    with pytest.raises(ConfigError) as error:
        refuse_code(model_folder(files))
    assert "\n" not in str(error.value)


def test_a_folder_without_end_is_refused(model_folder: MakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vaultseek.base.limits.MODEL_FILES", 3)
    with pytest.raises(ConfigError, match="too many files"):
        refuse_code(model_folder())
