"""An index created by version 0.1.0 is rebuilt, and none of its texts is embedded again."""

import shutil
import subprocess
import sys
from pathlib import Path

from daemons import eventually
from vaultseek.base import paths

FORMATS = Path(__file__).parents[1] / "data" / "formats"


def test_an_index_of_0_1_0_is_read_again_and_keeps_its_vectors(daemon, tmp_path, monkeypatch):
    root = shutil.copytree(FORMATS / "notes", tmp_path / "notes").resolve()
    monkeypatch.setenv("XDG_DATA_HOME", daemon.environment["XDG_DATA_HOME"])
    shutil.copytree(FORMATS / "index-0.1.0", paths.vault_data_directory(root))
    daemon.run("index", "--wait", "--vault", str(root))
    (state,) = daemon.json("status")["vaults"]
    # The schema has changed since, so the ledger is rebuilt, and has computed none of its vectors.
    assert (state["notes"], state["embedded"], state["embeddings_computed"]) == (3, 3, 0)
    for mode in ("keyword", "semantic"):
        answer = daemon.json("search", "ferry quay harbour", "--mode", mode, "--vault", str(root))
        assert answer["results"][0]["path"] == "Harbour.md", mode


FORMER = """
import sys
from vaultseek.base import paths
paths.socket_name = lambda: sys.argv[1]
from vaultseek.daemon.main import serve
serve()
"""


def test_a_daemon_of_0_1_0_gives_way_to_one_that_listens_beside_the_indexes(daemon, vault):
    root = daemon.indexed(vault({"A.md": "# A\n"}))
    daemon.stop()
    place = Path(daemon.environment["XDG_RUNTIME_DIR"], "vaultseek", "daemon.sock")
    command = [sys.executable, "-c", FORMER, str(place)]
    with subprocess.Popen(command, env=daemon.environment, stderr=subprocess.DEVNULL) as former:
        eventually(place.exists, "the daemon of 0.1.0 listens")
        started = daemon.run("start", "--restart")
        assert started.stdout.startswith(f"started: pid {daemon.pid()}, "), started.stderr
        assert former.wait(30) == 0
    assert daemon.paths("A", "--vault", str(root)) == ["A.md"]
    assert daemon.run("stop").stdout == "stopped\n"
