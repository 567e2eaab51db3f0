"""The folders of bundled, fetched and other models."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from vaultseek.errors import ConfigError, advise
from vaultseek.semantic.models.directories import fetched_directory, model_directory

MakeModel = Callable[..., Path]


def test_names_and_folders(model_folder: MakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = model_folder()
    assert model_directory(str(folder)) == folder
    with pytest.raises(ConfigError, match=r"BAAI/bge-small-en.* fetch it") as caught:
        model_directory("BAAI/bge-small-en")
    assert caught.value.advice == advise("fetch", "BAAI/bge-small-en")
    fetched = fetched_directory("BAAI/bge-small-en")
    fetched.parent.mkdir(parents=True)
    folder.rename(fetched)
    assert model_directory("BAAI/bge-small-en") == fetched


def test_nothing_heavy_is_imported_for_it() -> None:
    script = (
        "import sys\n"
        "import vaultseek.semantic.worker\n"
        "from vaultseek.semantic.inference import embed\n"
        "from vaultseek.semantic.models import directories, safety\n"
        "from vaultseek.semantic.vectors import index\n"
        "directories.bundled_directory()\n"
        "heavy = 'torch chromadb llama_index sentence_transformers transformers tokenizers'.split()\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
