"""A wheel with a fetched model is found wherever it is installed, embeds alike, and states its digest."""

import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pack_model
import pytest

from vaultseek.errors import ConfigError
from vaultseek.semantic.inference import embed
from vaultseek.semantic.models.catalogue import find_model
from vaultseek.semantic.models.directories import bundled_directory, fetched_directory, packaged_digest
from vaultseek.semantic.models.installed import InstalledModel, installed_models
from vaultseek.semantic.models.metadata import WEIGHTS, digest
from vaultseek.settings.load import load

pytestmark = pytest.mark.slow

NAME = "somebody/tiny-model"
TEXTS = ["the pump", "how do I restart the pump?", "a long text about water " * 20]
CARD = "---\nlanguage: en\nlicense: apache-2.0\n---\n# A tiny model\n"


@pytest.fixture(scope="module")
def fetched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained model of two layers, as it is after ``vaultseek models fetch``."""
    folder = tmp_path_factory.mktemp("models")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the libraries' own
        from sentence_transformers import SentenceTransformer
        from transformers import BertConfig, BertModel, BertTokenizerFast

        sizes = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 2, "num_hidden_layers": 2}
        BertModel(BertConfig(**sizes)).save_pretrained(folder / "base")
        BertTokenizerFast(str(bundled_directory() / "vocab.txt")).save_pretrained(folder / "base")
        SentenceTransformer(str(folder / "base"), device="cpu").save_pretrained(str(folder / "tiny"))
    (folder / "tiny" / "README.md").write_text(CARD)
    return folder / "tiny"


@pytest.fixture
def installed(fetched: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The wheel of the model, installed without a network and without the fetched folder."""
    shutil.copytree(fetched, fetched_directory(NAME))
    wheel = pack_model.main(NAME, tmp_path)
    shutil.rmtree(fetched_directory(NAME))
    with pytest.raises(ConfigError, match="fetch it"):
        find_model(NAME)
    target = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--quiet"]
    subprocess.run([*pip, "--target", str(target), str(wheel)], check=True)
    monkeypatch.syspath_prepend(str(target))
    yield target
    sys.modules.pop("vaultseek_models", None)


def test_an_installed_model_embeds_like_the_folder_that_it_comes_from(fetched: Path, installed: Path) -> None:
    model = find_model(NAME)
    assert model.directory is not None
    assert model.directory.is_relative_to(installed)
    ours, theirs = (
        embed.load(name, directory).encode(TEXTS)
        for name, directory in ((NAME, model.directory), (str(fetched), fetched))
    )
    assert (ours * theirs).sum(axis=1).min() > 0.9999
    assert (model.directory / WEIGHTS).stat().st_size < 0.51 * (fetched / WEIGHTS).stat().st_size
    assert (model.directory / "README.md").read_text() == CARD
    assert packaged_digest(model.directory) == digest(model.directory)
    listed = [each for each in installed_models() if isinstance(each, InstalledModel) and each.name == NAME]
    assert [each.dimension for each in listed] == [32]
    assert any("License: apache-2.0" in file.read_text() for file in installed.rglob("METADATA"))


def test_the_same_model_makes_the_same_wheel(fetched: Path, tmp_path: Path) -> None:
    first = pack_model.main(str(fetched), tmp_path).read_bytes()
    assert pack_model.main(str(fetched), tmp_path).read_bytes() == first


def test_a_model_needs_a_licence(fetched: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(fetched, tmp_path / "model"))
    for card in ("# No frontmatter\nlicense: mit\n", "---\nlanguage: en\n---\nlicense: mit\n"):
        (folder / "README.md").write_text(card)
        with pytest.raises(ConfigError, match="states no licence; pass --licence"):
            pack_model.main(str(folder), tmp_path)
    assert pack_model.main(str(folder), tmp_path, "mit").is_file()


def test_numbers_that_half_precision_cannot_hold_are_refused(fetched: Path, tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    folder = Path(shutil.copytree(fetched, tmp_path / "model"))
    tensors = load_file(folder / WEIGHTS)
    name = next(iter(tensors))
    tensors[name] = np.full_like(tensors[name], 1e6)
    save_file(tensors, folder / WEIGHTS)
    with pytest.raises(ConfigError, match="too large for half precision"):
        pack_model.main(str(folder), tmp_path)


def test_commands_and_settings_know_an_installed_model_by_its_name(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = find_model(NAME).directory
    assert directory is not None

    def run(*arguments: str) -> str:
        command = [sys.executable, "-P", "-m", "vaultseek", *arguments]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(installed), *sys.path])}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    assert f'set model.name = "{NAME}"' in run("models", "use", NAME)
    assert load().model.name == str(directory)
    assert "BROKEN" not in run("doctor", "--no-worker")
    (directory / "vocab.txt").write_text("other words\n")
    assert "differs from what its package states" in run("doctor", "--no-worker")
