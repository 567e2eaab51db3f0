"""The first answer of a new vault."""

from pathlib import Path

import pytest

from daemons import eventually
from running import Running

NETWORKX = """
import importlib, pathlib, sys, time
while not pathlib.Path({allowed!r}).exists():
    time.sleep(0.01)
sys.path.remove({folder!r})
del sys.modules["networkx"]
sys.modules["networkx"] = importlib.import_module("networkx")
"""
"""A stand-in for NetworkX whose import blocks until it is allowed to finish."""


@pytest.mark.slow
def test_a_note_that_was_written_while_no_daemon_ran_is_not_denied(tmp_path: Path) -> None:
    running = Running(tmp_path / "place", {"a.md": "granite"})
    running.serve()
    try:
        with running.client() as client:
            client.call("index/wait", {"vault": str(running.root)})
        running.end()
        (running.root / "b.md").write_text("quollword")
        running.serve()
        with running.client() as client:
            answer = client.search("quollword", vault=str(running.root), mode="keyword")
        assert [result["path"] for result in answer["results"]] == ["b.md"]
    finally:
        running.end()


@pytest.mark.slow
def test_a_new_vault_is_searched_by_word_before_networkx_is_imported(tmp_path: Path) -> None:
    allowed, folder = tmp_path / "allowed", tmp_path / "packages"
    (folder / "networkx").mkdir(parents=True)
    text = NETWORKX.format(allowed=str(allowed), folder=str(folder))
    (folder / "networkx" / "__init__.py").write_text(text)
    running = Running(tmp_path / "place", {"a.md": "granite [[b]]", "b.md": "slate"}, PYTHONPATH=str(folder))
    running.serve()
    try:
        with running.client() as client:
            client.search("granite", vault=str(running.root), mode="keyword")
            eventually(lambda: client.status()["vaults"][0]["state"] == "ready")
            answer = client.search("granite", vault=str(running.root), mode="keyword")
            assert [result["path"] for result in answer["results"]] == ["a.md"]
            assert answer["partial"] == []
            assert not running.status()["lanes"]["graph"]["up"]
            allowed.touch()
            eventually(lambda: running.status()["lanes"]["graph"]["up"])
            near = client.call("graph/neighbors", {"note": "b.md", "vault": str(running.root)})
            assert "a.md" in str(near)
    finally:
        running.end()
