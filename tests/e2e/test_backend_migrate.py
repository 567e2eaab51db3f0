"""Moving vaults to Milvus Lite and back by the command line: looked at first, interrupted, verified."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from daemons import Daemon, eventually
from engines import NEEDS_MILVUS
from worlds import write_files

pytestmark = [NEEDS_MILVUS, pytest.mark.long]
NOTES = {
    "Pumps.md": "---\ntags: [work/pumps]\n---\n# Pumps\n\nThe sump pump of the station, with a float switch.",
    "Brakes.md": "# Brakes\n\nThe brake pads of the tram. #work\n\n[[Pumps]]\n\n## Wear\n\nPads wear.",
    "Garden.md": "# Garden\n\nRoses and a pump for the pond. #home",
    "Tram.md": "# Tram\n\nA tram brakes by sand and magnets.",
    "Pond.md": "# Pond\n\nKoi need cold water. See [[Garden]].",
    "Straße.md": "# Straße\n\nDie Pumpen an der Straße sind alt.",
}
QUERIES = ("sump pump", "tag:work brake", '"float switch"', "cold water for fish", "links-to:[[Garden]]")
KINDS = ["notes", "passages", "vectors of passages", "vectors of notes"]


class Mover:
    """A daemon with two vaults, and its configuration."""

    def __init__(self, daemon: Daemon, place: Path) -> None:
        self.daemon = daemon
        self.config = Path(daemon.environment.get("XDG_CONFIG_HOME", os.environ["XDG_CONFIG_HOME"]))
        self.config = self.config / "vaultseek" / "config.toml"
        self.notes = write_files(place / "notes", NOTES)
        self.other = write_files(
            place / "other", {"One.md": "# One\n\nOf few.", "Two.md": "# Two\n\nOf few."}
        )
        for root in (self.notes, self.other):
            assert daemon.run("index", "--wait", "--vault", str(root)).returncode == 0
        self.computed = self.embedded()

    def embedded(self) -> dict[str, int]:
        """Return how many texts of each vault went through the model since its index was made."""
        vaults = self.daemon.json("status")["vaults"]
        return {vault["name"]: vault["embeddings_computed"] for vault in vaults}

    def answers(self) -> list[list[str]]:
        return [self.daemon.paths(query, "--vault", "notes") for query in QUERIES]

    def settings(self) -> str | None:
        return self.config.read_text() if self.config.exists() else None

    def migrate(self, *arguments: str, code: int = 0, **environment: str) -> Any:
        """Return what the command prints as JSON."""
        done = self.daemon.run("backend", "migrate", "--json", *arguments, env=environment)
        assert done.returncode == code, (done.stdout, done.stderr)
        return json.loads(done.stdout)

    def refused(self, *arguments: str, code: int) -> str:
        """Return the one line that says why nothing was changed."""
        before = self.settings()
        done = self.daemon.run("backend", "migrate", *arguments)
        assert (done.returncode, done.stdout, self.settings()) == (code, "", before), done.stderr
        assert done.stderr.count("\n") == 1, done.stderr
        return done.stderr


@contextmanager
def refusing_server() -> Iterator[str]:
    """Serve gRPC on a port, and refuse whoever asks."""
    import grpc

    class Refusing(grpc.GenericRpcHandler):
        def service(self, details):
            def refuse(request, context):
                context.abort(grpc.StatusCode.UNAUTHENTICATED, "auth check failure")

            return grpc.unary_unary_rpc_method_handler(refuse)

    server = grpc.server(ThreadPoolExecutor(1))
    server.add_generic_rpc_handlers((Refusing(),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"http://127.0.0.1:{port}"
    server.stop(0).wait()


def unused_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"http://127.0.0.1:{free.getsockname()[1]}"


def numbers(vault: Any) -> dict[str, tuple[int, int]]:
    return {number["of"]: (number["ledger"], number["engine"]) for number in vault["numbers"]}


@pytest.mark.timeout(400)
def test_vaults_move_to_milvus_and_back_without_embedding_anything_again(daemon, tmp_path):
    mover = Mover(daemon, tmp_path)
    before = mover.answers()
    file = tmp_path / "engine.db"

    # What cannot be used is said in one line, and nothing is changed.
    assert "index.uri is missing" in mover.refused("--to", "milvus", code=2)
    assert "does not answer" in mover.refused("--to", "milvus", "--uri", unused_address(), code=3)
    with refusing_server() as address:
        assert "refuses the token" in mover.refused("--to", "milvus", "--uri", address, code=3)
    inside = str(mover.notes / "engine.db")
    assert "inside the vault notes" in mover.refused("--to", "milvus", "--uri", inside, code=2)
    (tmp_path / "plain.db").write_text("a diary")
    plain = str(tmp_path / "plain.db")
    assert "cannot be opened" in mover.refused("--to", "milvus", "--uri", plain, code=3)
    assert (tmp_path / "plain.db").read_text() == "a diary"
    assert "leave it out" in mover.refused("--to", "embedded", "--uri", str(file), code=2)
    assert mover.answers() == before

    # Command and daemon are killed as soon as the move has begun, and another daemon while it copies vectors.
    command = [sys.executable, "-m", "vaultseek", "backend", "migrate", "--to", "milvus", "--uri", str(file)]
    moving = subprocess.Popen(command, env=daemon.environment, stderr=subprocess.DEVNULL)
    eventually(
        lambda: 'backend = "milvus"' in (mover.settings() or "") or moving.poll() is not None, "it begins", 90
    )
    moving.kill()
    moving.wait()
    daemon.kill()
    moved = mover.migrate("--to", "milvus", VAULTSEEK_FAILPOINTS="vectors.stored=kill@3")
    assert (moved["engine"], moved["place"], moved["was_there"], moved["same"]) == (
        "milvus",
        str(file),
        True,
        True,
    )
    vaults = {vault["vault"]: vault for vault in moved["vaults"]}
    assert {name: list(numbers(vault)) for name, vault in vaults.items()} == {"notes": KINDS, "other": KINDS}
    assert numbers(vaults["notes"])["notes"] == (len(NOTES), len(NOTES))
    assert all(each["again"] == each["notes"] for vault in vaults.values() for each in vault["searches"])
    assert len(vaults["notes"]["searches"]) == len(NOTES)
    assert mover.answers() == before
    assert mover.embedded() == mover.computed

    # An engine that has lost rows is found out, and filled again.
    lose_rows(daemon)
    broken = [each for each in daemon.json("doctor", "--no-worker")["findings"] if each["status"] == "broken"]
    assert [each["check"] for each in broken] == ["engine of notes"]
    assert "5 of 6 notes" in broken[0]["message"]
    assert mover.migrate("--to", "milvus")["same"]
    assert mover.answers() == before

    # Back, with a vault that is paused and one whose folder is missing.
    assert daemon.run("vault", "pause", "notes").returncode == 0
    mover.other.rename(tmp_path / "unplugged")
    back = daemon.run("backend", "migrate", "--to", "embedded")
    assert back.returncode == 0, back.stderr
    assert (
        "notes: 6 notes, 6 passages, 6 vectors of passages, 6 vectors of notes are in the embedded"
        in back.stdout
    )
    assert "other: 2 notes, 2 passages, 2 vectors of passages, 2 vectors of notes are in" in back.stdout
    assert f"Milvus at {file} keeps its copy" in back.stdout
    again = mover.migrate("--to", "embedded", "--vault", "notes")
    assert (again["was_there"], again["same"], len(again["vaults"])) == (True, True, 1)
    assert mover.answers() == before
    assert mover.embedded() == mover.computed


def lose_rows(daemon: Daemon) -> None:
    """Delete a note of the engine behind the daemon's back."""
    from pymilvus import MilvusClient

    children = psutil.Process(daemon.pid()).children(recursive=True)
    command = next(each.cmdline() for each in children if any("lite_main" in part for part in each.cmdline()))
    client = MilvusClient(uri=f"unix:{command[-1]}", dedicated=True)
    name = next(each for each in client.list_collections() if re.fullmatch(r"vaultseek_\d+_notes", each))
    rows = client.query(name, filter="note > 0", output_fields=["id", "shard"], consistency_level="Strong")
    shards = [row["shard"] for row in rows]
    larger = max(shards, key=shards.count)
    client.delete(name, ids=[next(row["id"] for row in rows if row["shard"] == larger)])
    client.close()


def test_a_file_inside_a_vault_that_was_written_into_the_settings_is_refused_and_not_made(daemon, tmp_path):
    """By the daemon, by its checks, for a vault of the settings and for one that was added."""
    config = Path(daemon.environment.get("XDG_CONFIG_HOME", os.environ["XDG_CONFIG_HOME"]))
    file = config / "vaultseek" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    for name in ("notes", "other"):
        write_files(tmp_path / name, NOTES)
    engine = tmp_path / "notes" / "deep" / "engine.db"
    index = f'[index]\nbackend = "milvus"\nuri = "{engine}"\n'
    file.write_text(f'{index}[[vaults]]\nname = "notes"\npath = "{tmp_path / "notes"}"\n')
    said = f"index.uri: {engine} is inside the vault notes, where nothing is written; choose another folder"

    checked = daemon.run("config", "check")
    assert checked.returncode == 2
    assert checked.stderr == f"vaultseek: {file}: line 3: {said}\n"
    for vault in ("notes", str(tmp_path / "other")):
        searched = daemon.run("search", "pump", "--vault", vault)
        assert (searched.returncode, searched.stderr) == (2, f"vaultseek: {said}\n")
    [status] = daemon.json("status")["vaults"]
    assert (status["state"], status["reason"]) == ("failing", said)
    doctor = daemon.run("doctor", "--no-worker")
    assert f"{engine} is inside the vault notes" in " ".join(doctor.stdout.split())

    file.write_text(index)
    daemon.run("vault", "add", str(tmp_path / "notes"))
    eventually(lambda: [each["reason"] for each in daemon.json("status")["vaults"]] == [said], "it is said")
    checked = daemon.run("config", "check")
    assert (checked.returncode, checked.stderr) == (2, f"vaultseek: {file}: line 3: {said}\n")
    assert not engine.parent.exists()
