"""Libraries that models need leave no traces of their own."""

import os
import subprocess
import sys

import pytest

EMBED = "from vaultseek.semantic.inference.embed import load; load('bundled').encode(['a text'], query=True)"


@pytest.mark.model
def test_embedding_writes_no_telemetry_into_the_users_folders(tmp_path):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "ORT_"))}
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    subprocess.run([sys.executable, "-c", EMBED], env=kept | home, check=True)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
