"""A folder configured as a model that tries to run code, or is not a model at all."""

import json
import os
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from daemons import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200)]

BERT = {"model_type": "bert", "hidden_size": 8, "max_position_embeddings": 64, "num_attention_heads": 2}


class Command:
    """An object whose pickle runs a command when it is loaded."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, (f"touch {self.mark}",)


def code(mark: Path) -> str:
    return f"open({str(mark)!r}, 'w').close()\nraise SystemExit('code of the model was run')\n"


def own_code(mark: Path) -> Mapping[str, bytes]:
    """Return a model with its own Python module."""
    config = {**BERT, "auto_map": {"AutoModel": "modeling_evil.Evil"}}
    return {"config.json": json.dumps(config).encode(), "modeling_evil.py": code(mark).encode()}


def own_module(mark: Path) -> Mapping[str, bytes]:
    """Return a model whose list of modules names a module beside it."""
    modules = json.dumps([{"idx": 0, "name": "0", "path": "", "type": "evil.Evil"}])
    return {"modules.json": modules.encode(), "evil/__init__.txt": code(mark).encode()}


def pickled_weights(mark: Path) -> Mapping[str, bytes]:
    """Return a model whose weights are a pickle, also under the name of a harmless file."""
    weights = pickle.dumps(Command(mark))
    return {"pytorch_model.bin": weights, "model.safetensors": weights}


def disguised_weights(mark: Path) -> Mapping[str, bytes]:
    """Return a model whose safetensors file is a pickle."""
    return {"model.safetensors": pickle.dumps(Command(mark))}


@pytest.mark.fault("I8", "Invariant 9")
@pytest.mark.parametrize("hostile", [own_code, own_module, pickled_weights, disguised_weights])
def test_i8_nothing_of_a_hostile_model_is_run_and_words_are_searched(running, tmp_path, hostile):
    mark, folder = tmp_path / "was run", tmp_path / "model"
    files = {
        "config.json": json.dumps(BERT).encode(),
        "tokenizer.json": b"{}",
        "model.safetensors": b"no weights",
        "sitecustomize.py.txt": code(mark).encode(),
    }
    for name, content in {**files, **hostile(mark)}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    each = running({"note.md": "granite"}, VAULTSEEK_MODEL__NAME=str(folder))
    each.serve()
    with each.client() as client:
        client.refresh(vault=str(each.root))
    assert each.paths("granite") == ["note.md"]
    lane = eventually(lambda: not_starting(each.status()["lanes"]["semantic"]), "the model is refused", 60)
    assert lane["up"] is False
    assert lane["reason"]
    assert not mark.exists()
    with each.client() as client:
        answer = client.search("granite", vault=str(each.root))
    assert [found["path"] for found in answer["results"]] == ["note.md"]
    assert [entry["lane"] for entry in answer["partial"]] == ["semantic"]


def not_starting(lane):
    """Return the state of the lane once it reports why there is no model."""
    return lane if lane.get("code") == "model_unusable" else None
