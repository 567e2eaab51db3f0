"""A change of model builds a new store while the old one answers, and survives an interruption."""

import json
from pathlib import Path

import pytest

from vaultseek.client import Client

NOTES = {f"n{i}.md": f"# Stone {i}\n\nA note about granite number {i}.\n" for i in range(60)}


@pytest.mark.fault("I3")
def test_the_old_store_answers_until_the_new_one_is_full(daemon, vault, eventually):
    root = daemon.indexed(vault(NOTES))
    daemon.stop()
    daemon.environment["VAULTSEEK_MODEL__NAME"] = "hashing-32"
    daemon.environment["VAULTSEEK_FAILPOINTS"] = "vectors.computed=kill@1"
    daemon.run("index", "--wait", "--vault", str(root))
    daemon.environment["VAULTSEEK_FAILPOINTS"] = "vectors.computed=raise:5"
    daemon.run("index", "--vault", str(root))

    def answers():
        done = daemon.run("search", "granite", "--mode", "semantic", "--json", "--vault", str(root))
        return done.returncode == 0 and not json.loads(done.stdout)["partial"]

    eventually(answers, "the old store answers with the old model")
    assert daemon.json("status")["vaults"][0]["pending"] > 0
    daemon.stop()
    del daemon.environment["VAULTSEEK_FAILPOINTS"]
    daemon.run("index", "--wait", "--vault", str(root))
    answer = daemon.json("search", "granite", "--mode", "semantic", "--vault", str(root))
    assert (len(answer["results"]), answer["partial"], answer["index"]["pending"]) == (10, [], 0)


def test_going_back_to_the_first_model_embeds_nothing(daemon, vault):
    root = daemon.indexed(vault(NOTES))
    computed = daemon.json("status")["vaults"][0]["embeddings_computed"]
    for model in ("hashing-32", "hashing"):
        daemon.stop()
        daemon.environment["VAULTSEEK_MODEL__NAME"] = model
        daemon.run("index", "--wait", "--vault", str(root))
    assert daemon.json("status")["vaults"][0]["embeddings_computed"] == 2 * computed


CLOCK = """
import pathlib, time
seconds = time.time
time.time = lambda: seconds() + 86400 * int(pathlib.Path(__file__).with_name("days").read_text())
"""


@pytest.mark.fault("B12", "C15")
def test_vectors_of_a_former_model_are_gone_after_weeks_but_not_by_a_jump_of_the_clock(
    daemon, vault, tmp_path
):
    clock: Path = tmp_path / "clock"
    clock.mkdir()
    (clock / "sitecustomize.py").write_text(CLOCK)
    (clock / "days").write_text("0")
    changed = {"PYTHONPATH": f"{clock}:{daemon.environment.get('PYTHONPATH', '')}"}
    daemon.run("start", env=changed)
    root = daemon.indexed(vault(NOTES))
    computed = daemon.json("status")["vaults"][0]["embeddings_computed"]

    def size_after(days: list[int]) -> int:
        with Client(daemon.socket) as client:
            for day in days:
                (clock / "days").write_text(str(day))
                size = client.compact(vault=str(root))["bytes"]
        return int(size)

    def has_no_damage() -> bool:
        findings = daemon.json("doctor", "--audit", "--no-worker")["findings"]
        found = [each for each in findings if each["check"].endswith(f" of {root.name}")]
        return len(found) > 2 and all(each["status"] == "ok" for each in found)

    def use(model: str) -> int:
        daemon.stop()
        daemon.environment["VAULTSEEK_MODEL__NAME"] = model
        daemon.run("start", env=changed)
        daemon.run("index", "--wait", "--vault", str(root))
        return int(daemon.json("status")["vaults"][0]["embeddings_computed"])

    assert use("hashing-32") == 2 * computed
    with_both = size_after([1, 2, 4000, 4001, 3, 4])
    assert has_no_damage()
    assert use("hashing") == 2 * computed, "going back embeds nothing"
    assert use("hashing-32") == 2 * computed
    assert size_after([*range(5, 34)]) < with_both - 30_000
    assert has_no_damage()
    assert use("hashing-32") == 2 * computed
    assert use("hashing") == 3 * computed


@pytest.mark.fault("I1")
def test_a_folder_that_is_no_model_is_said_and_costs_search_by_meaning_alone(daemon, vault, tmp_path):
    root = vault(NOTES)
    model = tmp_path / "model"
    model.mkdir()
    daemon.environment["VAULTSEEK_MODEL__NAME"] = str(model)
    for reason in (f"{model} is not a model folder: it has no config.json", "has no readable tokenizer.json"):
        daemon.run("index", "--vault", str(root))
        answer = daemon.json("search", "granite", "--vault", str(root))
        assert answer["results"]
        assert reason in answer["partial"][0]["reason"]
        assert "Traceback" not in daemon.log()
        daemon.stop()
        (model / "config.json").write_text("{}")
