"""Without its model, vaultseek loses only semantic search."""

import pytest

NOTES = {"Pump.md": "The float switch of the sump pump.", "Soup.md": "Tomatoes, [[Pump]]."}


@pytest.mark.fault("I1")
@pytest.mark.parametrize("kind", ["nothing", "file", "empty folder", "no tokenizer"])
def test_keyword_search_works_and_the_answer_gives_the_reason(daemon, vault, tmp_path, kind):
    root, model = vault(NOTES), tmp_path / "model"
    if kind == "file":
        model.write_text("x")
    elif kind != "nothing":
        model.mkdir()
    if kind == "no tokenizer":
        (model / "tokenizer.json").write_text("[1, 2")
    daemon.environment["VAULTSEEK_MODEL__NAME"] = str(model)

    daemon.run("index", "--vault", str(root))
    answer = daemon.json("search", "float switch", "--vault", str(root))
    assert answer["results"][0]["path"] == "Pump.md"
    assert [part["lane"] for part in answer["partial"]] == ["semantic"]
    assert str(model) in answer["partial"][0]["reason"]
    printed = daemon.run("search", "float switch", "--vault", str(root))
    assert "Pump.md" in printed.stdout
    assert str(model) in printed.stdout + printed.stderr
    status = daemon.json("status")
    assert status["daemon"]["worker"]["status"] == "broken"
    assert status["daemon"]["worker"]["pid"] is None
    waiting = daemon.run("index", "--wait", "--vault", str(root))
    assert waiting.returncode == 3
    assert str(model) in waiting.stderr
    assert "Traceback" not in daemon.log()


def test_embeddings_survive_the_absence_of_the_model(daemon, vault, tmp_path):
    root = daemon.indexed(vault(NOTES))
    before = daemon.json("status")["vaults"][0]
    daemon.stop()
    daemon.environment["VAULTSEEK_MODEL__NAME"] = str(tmp_path / "gone")
    daemon.run("index", "--vault", str(root))
    assert daemon.paths("switch", "--vault", str(root))[0] == "Pump.md"
    daemon.stop()
    daemon.environment["VAULTSEEK_MODEL__NAME"] = "hashing"
    assert daemon.run("index", "--wait", "--vault", str(root)).returncode == 0
    after = daemon.json("status")["vaults"][0]
    assert after["embeddings_computed"] == before["embeddings_computed"]
    assert not daemon.json("search", "switch", "--vault", str(root))["partial"]
