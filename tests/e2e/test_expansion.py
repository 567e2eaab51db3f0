"""Query expansion with the vault's own terms, which a real daemon collects in the background."""

import json
from pathlib import Path
from typing import Any

import pytest

from vaultseek.base.paths import vault_data_directory

NOTES = {
    "Drain.md": "---\ntags: [work/pumps]\n---\n# Cellar drain\n\nvalve and float",
    "Salad.md": "---\ntags: [garden]\n---\n# Lettuce bed\n\nslugs eat it",
}
SWITCHED_ON = {"VAULTSEEK_SEARCH__EXPANSION__ENABLED": "true", "VAULTSEEK_SEARCH__EXPANSION__FLOOR": "0.3"}


def ask(daemon: Any, root: Path, *more: str) -> Any:
    return daemon.json("search", "lettuce", "--explain", *more, "--vault", str(root), env=SWITCHED_ON)


def terms(answer: Any) -> list[str]:
    return [concept["term"] for concept in answer["explain"]["expansion"]]


def file_of(daemon: Any) -> Path | None:
    data = Path(daemon.environment["XDG_DATA_HOME"])
    return next(data.glob("vaultseek/vaults/*/concept_vocabulary.json"), None)


def vocabulary(daemon: Any) -> set[str]:
    file = file_of(daemon)
    return {entry["term"] for entry in json.loads(file.read_text("utf-8"))["terms"]} if file else set()


def test_the_vocabulary_is_built_on_demand_and_survives_a_restart(daemon, vault, eventually):
    root = daemon.indexed(vault(NOTES))
    daemon.json("search", "lettuce", "--vault", str(root))
    data = Path(daemon.environment["XDG_DATA_HOME"], "vaultseek", "vaults")
    folder = data / vault_data_directory(root.resolve()).name
    assert folder.is_dir()
    assert not (folder / "concept_vocabulary.json").exists()
    first = ask(daemon, root)
    assert [part["lane"] for part in first["partial"]] == ["expansion"]
    assert "is being built; try again" in first["partial"][0]["reason"]
    assert (first["results"][0]["path"], terms(first)) == ("Salad.md", [])
    eventually(lambda: terms(ask(daemon, root)) == ["Lettuce bed"], "the vocabulary is made")
    (root / "Salad.md").write_text("---\ntags: [kitchen]\n---\n# Lettuce soup\n\nhot")
    eventually(lambda: "kitchen" in vocabulary(daemon), "the vocabulary follows the notes")
    assert not {"garden", "Lettuce bed"} & vocabulary(daemon)
    daemon.kill()
    eventually(lambda: terms(ask(daemon, root)) == ["Lettuce soup"], "it is there after a restart")


@pytest.mark.shared_daemon
def test_who_waits_for_the_index_need_not_ask_twice(daemon, vault):
    answer = ask(daemon, vault(NOTES), "--wait")
    assert (answer["partial"], terms(answer)) == ([], ["Lettuce bed"])
    text = daemon.run("search", "lettuce", "--explain", "--vault", answer["vault_path"], env=SWITCHED_ON)
    assert "expansion: term Lettuce bed, similarity 0.707" in text.stdout


def test_with_the_setting_on_it_is_built_before_the_first_query(daemon, vault, eventually):
    daemon.environment |= SWITCHED_ON
    daemon.run("index", "--wait", "--vault", str(vault(NOTES)))
    eventually(lambda: "Lettuce bed" in vocabulary(daemon), "the vocabulary is made")


@pytest.mark.shared_daemon
def test_a_paused_vault_makes_none(daemon, vault):
    root = vault(NOTES)
    daemon.run("vault", "add", str(root))
    daemon.run("index", "--wait", "--vault", str(root))
    daemon.run("vault", "pause", str(root))
    reason = ask(daemon, root)["partial"][0]["reason"]
    assert "is paused" in reason
    data = Path(daemon.environment["XDG_DATA_HOME"], "vaultseek", "vaults")
    folder = data / vault_data_directory(root.resolve()).name
    assert folder.is_dir()
    assert not (folder / "concept_vocabulary.json").exists()
