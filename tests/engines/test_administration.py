"""Collections that an older version left in an engine are listed, and deleted on request."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from engines import NEEDS_MILVUS
from vaultseek.engines.heartbeat import STOPPED, Heartbeat
from vaultseek.engines.milvus import schema
from vaultseek.engines.milvus.backend import MilvusBackend
from vaultseek.engines.milvus.client import MilvusClient
from vaultseek.settings.engine import EngineOptions

pytestmark = [NEEDS_MILVUS, pytest.mark.long]


def prune(file: Path, *arguments: str, code: int = 0) -> str:
    command = [sys.executable, "-m", "vaultseek", "backend", "prune", "--uri", str(file), *arguments]
    ours = {name: value for name, value in os.environ.items() if not name.startswith("VAULTSEEK_")}
    done = subprocess.run(command, env=ours, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout or done.stderr


def say(backend: MilvusBackend, at: float, state: str) -> None:
    word = Heartbeat(at, "far", state)
    backend.set_state(f"{backend.options.shard}/heartbeat", f"{at:.0f}", word.as_text())


def test_collections_of_an_older_format_are_listed_and_dropped_and_nothing_else(tmp_path, monkeypatch):
    file = tmp_path / "engine.db"
    options = EngineOptions(str(file), shard="wiki-1")
    old, new = schema.VERSION - 1, schema.VERSION
    with closing(MilvusBackend(options)) as backend, monkeypatch.context() as before:
        backend.set_state("wiki-1", "g:1:1")
        for prefix, versions in (("vaultseek", (old, new + 1)), (f"vaultseek_{old}", (new,))):
            for version in versions:
                client = MilvusClient(EngineOptions(str(file), prefix=prefix), version=version)
                with closing(client):
                    for name, fields in (("notes", schema.NOTES), ("state", schema.STATE)):
                        if not client.has(name):
                            client.create(name, fields)
        with closing(MilvusClient(options, version=old)) as client:
            client.create("diary", schema.NOTES)
            client.create("0123456789ab_notes", schema.vector_fields(4))
            before.setattr(backend._client, "_version", old)
            backend._client._known.clear()
            backend.set_state("wiki-0", "g:1:1")
            say(backend, time.time(), "ready")
    busy = prune(file)
    assert f"format {old}: 1 vault, 0 notes; an indexer on far still writes in it\n  wiki-0\n" in busy
    assert "update vaultseek there first" in prune(file, "--drop", code=3)

    with closing(MilvusClient(options, version=old)) as client, closing(MilvusBackend(options)) as backend:
        backend._client._version = old
        say(backend, time.time(), STOPPED)
    listed = json.loads(prune(file, "--json"))
    assert [each["collections"] for each in listed["formats"]] == [["0123456789ab_notes", "notes", "state"]]
    assert "nothing was deleted" in prune(file)
    assert prune(file, "--drop") == f"format {old}: 1 vault, 0 notes deleted\n  wiki-0\n"
    assert "nothing of older versions" in prune(file)

    with closing(MilvusBackend(options)) as backend:
        assert backend.position() == "g:1:1"
        names = set(backend._client._client.list_collections())
    assert {f"vaultseek_{old}_diary", f"vaultseek_{old}_{new}_state", f"vaultseek_{new + 1}_notes"} <= names
    assert f"vaultseek_{old}_notes" not in names
    assert "there is no file" in prune(tmp_path / "none.db", code=2)
