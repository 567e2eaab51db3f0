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
"""A package in place of NetworkX whose import takes until it is allowed."""


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
