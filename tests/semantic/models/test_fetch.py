"""Fetching models from a hub on the loopback, through the hub's real library and the real commands."""

import json
import os
import shutil
import subprocess
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from vaultseek.base.paths import lock_directory
from vaultseek.errors import AlreadyRunning, ConfigError, Unavailable, UsageError
from vaultseek.semantic.inference import embed, rerank
from vaultseek.semantic.models.directories import BUNDLED_NAME, fetched_directory, model_directory
from vaultseek.semantic.models.fetch import FetchedModel, fetch, recorded_digests
from vaultseek.semantic.models.metadata import MODEL_SUFFIXES, digest, dimension_of, kind_of
from vaultseek.settings.load import load
from worlds import run_alone

pytestmark = pytest.mark.model
NAME = "owner/tiny"


def download(
    name: str = NAME, *, pinned: dict[str, str] | None = None, accept_change: bool = False
) -> FetchedModel:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the libraries' own
        return fetch(name, pinned=pinned or {}, accept_change=accept_change)


def left() -> list[str]:
    """The folders beside the fetched models."""
    return sorted(path.name for path in (fetched_directory(NAME).parent).iterdir() if path.is_dir())


@pytest.fixture
def model(tiny_embedding: Path, tmp_path: Path) -> Path:
    """A copy of the tiny model that a test may change."""
    return Path(shutil.copytree(tiny_embedding, tmp_path / "served"))


def test_a_model_that_was_fetched_is_found_by_its_name_and_embeds(hub, model):
    (model / "onnx").mkdir()
    (model / "onnx" / "model.json").write_text("{}")
    (model / "pytorch_model.bin").write_bytes(b"pickle")
    (model / "README.md").write_text("# tiny")
    hub.models[NAME] = model
    seen: list[tuple[int, int]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fetched = fetch(NAME, lambda here, total: seen.append((here, total)), pinned={})
        loaded = embed.load(NAME, model_directory(NAME))
    assert (fetched.directory, fetched.known) == (fetched_directory(NAME), False)
    suffixes = {path.suffix for path in fetched.directory.rglob("*") if path.is_file()}
    assert suffixes <= MODEL_SUFFIXES | {".md"}  # the card states the licence
    assert not (fetched.directory / "onnx").exists()
    assert (loaded.dimension, dimension_of(fetched.directory), kind_of(fetched.directory)) == (
        32,
        32,
        "embedding",
    )
    assert np.isfinite(loaded.encode(["a text"])).all()
    assert seen[-1] == (fetched.size, fetched.size)
    assert [here for here, _ in seen] == sorted(here for here, _ in seen)
    assert left() == ["owner--tiny"]
    assert recorded_digests() == {NAME: fetched.digest}


@pytest.mark.fault("I2", "I10")
def test_nothing_goes_out_but_requests_for_the_model(hub, model):
    hub.models[NAME] = model
    download()
    assert all(path == f"/api/models/{NAME}" or path.startswith(f"/{NAME}/resolve/") for path in hub.asked)
    for headers in hub.headers:
        assert "Authorization" not in headers
        assert "torch" not in headers.get("User-Agent", "")


def test_a_reranker_is_fetched_to_where_it_is_looked_for(hub, tiny_reranker):
    hub.models["cross-encoder/tiny"] = tiny_reranker
    fetched = download("cross-encoder/tiny")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = rerank.TimedReranker(rerank.load("cross-encoder/tiny")).score("what?", ["this", "that"])
    assert (kind_of(fetched.directory), scores.shape) == ("reranker", (2,))


def test_another_model_under_a_known_name_is_refused(hub, model):
    hub.models[NAME] = model
    first = download()
    assert download().known
    (model / "vocab.txt").write_text("other words\n")
    with pytest.raises(ConfigError, match=rf"differs from .* before {first.digest[:16]}.*accept_change"):
        download()
    assert digest(fetched_directory(NAME)) == first.digest
    assert download(accept_change=True).digest == recorded_digests()[NAME] != first.digest
    with pytest.raises(ConfigError, match="not the model that vaultseek expects"):
        download(pinned={NAME: "0" * 64})
    assert left() == ["owner--tiny"]


def test_what_came_of_an_interrupted_download_is_not_asked_for_again(hub, model, monkeypatch):
    hub.models[NAME] = model
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    hub.break_off_after = 300
    with pytest.raises(Unavailable, match="cannot be reached"):
        download()
    assert left() == [".owner--tiny"]
    hub.break_off_after = None
    hub.sent.clear()
    assert download().digest == digest(fetched_directory(NAME))
    assert left() == ["owner--tiny"]
    assert hub.sent == ["tiny", "model.safetensors"]


def damage_config(model: Path) -> None:
    settings = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps({**settings, "auto_map": {"AutoModel": "evil.Model"}}))


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "code of its own": (damage_config, "requires running its own code"),
    "pickles only": (lambda model: (model / "model.safetensors").unlink(), "has no safetensors weights"),
    "no tokenizer": (lambda model: (model / "tokenizer.json").unlink(), r"has no tokenizer\.json"),
    "no configuration": (lambda model: (model / "config.json").unlink(), r"has no config\.json"),
}


@pytest.mark.parametrize(("change", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_used_is_refused_and_leaves_nothing(hub, model, change, message):
    hub.models[NAME] = model
    change(model)
    with pytest.raises(ConfigError, match=message):
        download()
    assert left() == []
    assert recorded_digests() == {}
    if "code" in message:
        assert not any(path.endswith(".safetensors") for path in hub.asked)


@pytest.mark.parametrize(
    ("status", "message"),
    [(500, "answered 500 for owner/tiny; try again later"), (404, "has no model called")],
)
def test_what_the_hub_refuses_is_said(hub, status, message):
    hub.status = status
    with pytest.raises(Unavailable, match=message):
        download()


def test_names_that_are_none_and_two_at_once(hub, tmp_path):
    for name in ("tiny", "../../etc/passwd", "a/b/c", "owner/", "-x/y z", "a/" + "b" * 300):
        with pytest.raises(UsageError, match="is not the name of a model"):
            download(name)
    assert hub.asked == []
    folder = fetched_directory(NAME).parent
    folder.mkdir(parents=True)
    with lock_directory(folder), pytest.raises(AlreadyRunning):
        download()


@pytest.fixture
def run(hub, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """``run("models", "list")`` in a separate process, in an empty home, with the hub on the loopback."""
    return partial(run_alone, tmp_path)


def test_fetch_then_use_then_list(run, hub, model, monkeypatch):
    hub.models[NAME] = model
    done = run("models", "fetch", NAME)
    assert (done.returncode, done.stderr) == (0, "")
    assert "stored, to check later downloads" in done.stdout
    file = Path(os.environ["XDG_CONFIG_HOME"], "vaultseek", "config.toml")
    file.parent.mkdir(parents=True)
    file.write_text("# mine\n[search]\nlimit = 3 # few\n")
    used = run("models", "use", NAME)
    assert used.stdout.splitlines() == [
        f'set model.name = "{NAME}" in {file}',
        "restart the daemon to use it: `vaultseek stop`, then `vaultseek start`",
        "the daemon then embeds every vault again, and uses the old vectors until that is done",
    ]
    assert file.read_text().startswith("# mine\n[search]\nlimit = 3 # few\n")
    assert load().model.name == str(fetched_directory(NAME))
    listed = {entry["name"]: entry for entry in json.loads(run("models", "list", "--json").stdout)["models"]}
    assert (listed[NAME]["in_use"], listed["bundled"]["in_use"]) == (True, False)
    assert (listed[NAME]["dimension"], listed["bundled"]["dimension"]) == (32, 384)
    assert f"{NAME}" in run("models", "list").stdout
    looked = json.loads(run("doctor", "--json").stdout)
    found = {finding["check"]: finding["message"] for finding in looked["findings"]}
    assert looked["ok"]
    assert "32 numbers per vector" in found["worker"]
    (fetched_directory(NAME) / "vocab.txt").write_text("other words\n")
    assert "differs from what was fetched" in run("doctor", "--no-worker").stdout
    overruled = run("models", "use", "bundled", VAULTSEEK_MODEL__NAME="hashing")
    assert "VAULTSEEK_MODEL__NAME overrides the file" in overruled.stderr
    assert load().model.name == "bundled"


def test_a_reranker_is_written_as_one_and_switched_on(run, hub, tiny_reranker):
    hub.models["cross-encoder/tiny"] = tiny_reranker
    assert run("models", "fetch", "cross-encoder/tiny").returncode == 0
    assert "the first results are reranked from now on" in run("models", "use", "cross-encoder/tiny").stdout
    search = load().search
    assert (search.rerank_enabled, search.rerank_model) == (True, "cross-encoder/tiny")
    assert load().model.name == "auto"
    listed = {entry["name"]: entry for entry in json.loads(run("models", "list", "--json").stdout)["models"]}
    assert {name: entry["in_use"] for name, entry in listed.items()} == {
        "bundled": True,
        "multilingual-e5-small": True,  # for questions in a language other than the notes'
        "cross-encoder/tiny": True,
    }
    assert listed["multilingual-e5-small"]["use"] == "in use for other languages"


@pytest.mark.model
def test_the_multilingual_model_is_listed_used_and_examined(run):
    name = "multilingual-e5-small"
    assert "nothing to fetch" in run("models", "fetch", name).stdout
    assert run("models", "use", name).returncode == 0
    assert load().model.name == name
    listed = {entry["name"]: entry for entry in json.loads(run("models", "list", "--json").stdout)["models"]}
    assert (listed[name]["in_use"], listed["bundled"]["in_use"]) == (True, False)
    assert (listed[name]["dimension"], listed[name]["kind"]) == (384, "embedding")
    looked = json.loads(run("doctor", "--json").stdout)
    messages = {finding["check"]: finding["message"] for finding in looked["findings"]}
    assert messages["model"].startswith(f"{name}, digest 1571fc98")
    assert "384 numbers per vector" in messages["worker"]


def test_a_folder_can_be_used_and_what_is_none_is_refused_before_anything_is_written(run, model, tmp_path):
    file = Path(os.environ["XDG_CONFIG_HOME"], "vaultseek", "config.toml")
    (tmp_path / "empty").mkdir()
    for name_or_folder, message in (
        ("owner/none", "is not on this machine; fetch it with `vaultseek models fetch owner/none`"),
        ("empty", "has no config.json"),
    ):
        result = run("models", "use", name_or_folder)
        assert (result.returncode, result.stdout) == (2, "")
        assert message in result.stderr
    assert not file.exists()
    assert run("models", "use", "served").returncode == 0
    assert load().model.name == str(model)
    rows = run("models", "list").stdout.splitlines()
    assert any(row.startswith(str(model)) and row.endswith("in use") for row in rows)


def test_without_a_network_it_says_so_and_what_to_do(run):
    result = run("models", "fetch", NAME, HF_ENDPOINT="http://127.0.0.1:9")
    assert (result.returncode, result.stdout) == (3, "")
    assert result.stderr.startswith("vaultseek: http://127.0.0.1:9 cannot be reached (")
    assert "set model.name to it" in result.stderr
    assert result.stderr.count("\n") == 1
    forbidden = run("models", "fetch", NAME, HF_HUB_OFFLINE="1")
    assert "HF_HUB_OFFLINE is set" in forbidden.stderr


def test_the_bundled_model_need_not_be_fetched(run, hub):
    result = run("models", "fetch", BUNDLED_NAME)
    assert (result.returncode, hub.asked) == (0, [])
    assert "came with the installation" in result.stdout
