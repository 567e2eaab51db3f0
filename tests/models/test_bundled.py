"""Which model folders are trusted, and what tells models apart."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from vaultseek.errors import ConfigError
from vaultseek.models import bundled

MODULES = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]
GOOD = {
    "config.json": json.dumps({"model_type": "bert", "max_position_embeddings": 512}),
    "modules.json": json.dumps(MODULES),
    "sentence_bert_config.json": json.dumps({"max_seq_length": 256}),
    "model.safetensors": "weights",
    "tokenizer.json": "{}",
}
MakeModel = Callable[..., Path]


@pytest.fixture
def model(tmp_path: Path) -> MakeModel:
    """``model({"config.json": "..."})`` makes a harmless model folder but for these files."""

    def make(files: Mapping[str, str | None] = {}, name: str = "model-folder") -> Path:
        root = tmp_path / name
        for path, content in {**GOOD, **files}.items():
            if content is not None:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(content)
        return root

    return make


def test_the_bundled_model_is_there_and_is_the_right_one() -> None:
    directory = bundled.model_directory()
    bundled.refuse_code(directory)
    assert len(bundled.verify(directory)) > 80_000_000
    assert bundled.window_of(directory) == 254
    for name in ("bundled", "all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"):
        assert bundled.locate(name) == directory


def test_a_changed_byte_in_the_weights_is_refused(tmp_path: Path) -> None:
    source = bundled.model_directory() / bundled.WEIGHTS
    copy = tmp_path / bundled.WEIGHTS
    shutil.copyfile(source, copy)
    with copy.open("r+b") as file:
        file.seek(50_000_000)
        byte = file.read(1)
        file.seek(50_000_000)
        file.write(bytes([byte[0] ^ 1]))
    with pytest.raises(ConfigError, match="trusts"):
        bundled.verify(tmp_path)
    copy.unlink()
    with pytest.raises(ConfigError, match="install it again"):
        bundled.verify(tmp_path)


def test_a_harmless_folder_is_let_through(model: MakeModel) -> None:
    bundled.refuse_code(model())
    bundled.refuse_code(model({"README.md": "trust_remote_code", "1_Pooling/config.json": "{}"}))


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
def test_what_could_run_code_or_is_broken_is_refused(model: MakeModel, files: dict[str, str | None]) -> None:
    with pytest.raises(ConfigError) as caught:
        bundled.refuse_code(model(files))
    assert "\n" not in str(caught.value)


def test_a_folder_without_end_is_refused(model: MakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vaultseek.limits.MODEL_FILES", 3)
    with pytest.raises(ConfigError, match="too many files"):
        bundled.refuse_code(model())


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
    model: MakeModel, files: dict[str, str], tmp_path: Path
) -> None:
    plain = bundled.fingerprint(model())
    assert plain.startswith("model-folder-")
    assert plain == bundled.fingerprint(model(), b"weights")
    assert bundled.fingerprint(model({"README.md": "words"})) == plain
    changed = model(files, name="other/model-folder")
    assert bundled.fingerprint(changed) != plain


def test_the_window_is_the_smaller_of_the_two(model: MakeModel) -> None:
    assert bundled.window_of(model()) == 254
    assert (
        bundled.window_of(model({"sentence_bert_config.json": json.dumps({"max_seq_length": None})})) == 510
    )


def test_names_and_folders(model: MakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = model()
    assert bundled.locate(str(folder)) == folder
    with pytest.raises(ConfigError, match="vaultseek models fetch BAAI/bge-small-en"):
        bundled.locate("BAAI/bge-small-en")
    fetched = bundled.fetched_directory("BAAI/bge-small-en")
    fetched.parent.mkdir(parents=True)
    folder.rename(fetched)
    assert bundled.locate("BAAI/bge-small-en") == fetched


def test_nothing_heavy_is_imported_for_it() -> None:
    script = (
        "import sys\n"
        "import vaultseek.worker\n"
        "from vaultseek.models import bundled, embed, hashing\n"
        "from vaultseek.index.vectors import index\n"
        "bundled.model_directory()\n"
        "heavy = 'torch chromadb llama_index sentence_transformers transformers tokenizers'.split()\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
