"""The history of opened results: recorded, shown, forgotten and turned off, with a real daemon."""

import pytest

NOTES = {f"{name}.md": f"# {name}\n\nAn invoice of June, {name}.\n" for name in ("Ash", "Birch", "Cedar")}


@pytest.mark.timeout(120)
def test_an_opened_note_is_in_the_history_until_it_is_forgotten(daemon, vault, monkeypatch):
    root = vault(NOTES)
    here = ["--vault", str(root)]
    daemon.environment |= {"EDITOR": "true", "VISUAL": ""}
    daemon.run("index", "--wait", *here)
    assert daemon.run("history", *here).returncode == 1
    (first, *_) = daemon.paths("invoice june", *here)
    daemon.run("search", "--open", "invoice june", *here)
    answer = daemon.json("history", "--json", *here)
    (row,) = answer["opened"]
    assert (row["query"], row["path"], row["position"]) == ("invoice june", first, 1)
    assert "invoice june" in daemon.run("history", *here).stdout
    explained = daemon.json("search", "June invoice", "--explain", "--json", *here)
    assert explained["results"][0]["arithmetic"]["opened"] > 0
    assert daemon.run("history", "--forget", "nothing of the kind", *here).returncode == 1
    assert daemon.json("history", "--forget", "JUNE invoice?", "--json", *here)["forgotten"] == 1
    daemon.run("search", "--open", "invoice june", *here)
    assert daemon.json("history", "--forget", first, "--json", *here)["forgotten"] == 1
    for both in (["--forget"], [first]):
        assert daemon.run("history", "--off", *both, *here).returncode == 2
    assert daemon.run("history", "--off", *here).returncode == 0
    daemon.run("search", "--open", "invoice june", *here)
    assert daemon.json("history", "--json", *here) == {
        **answer,
        "opened": [],
        "count": 0,
        "total": 0,
        "learn": False,
    }
    daemon.run("history", "--on", *here)
    daemon.run("search", "--open", "invoice june", *here)
    assert daemon.json("history", "--json", *here)["count"] == 1
