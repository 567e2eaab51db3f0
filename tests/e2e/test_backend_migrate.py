"""Moving vaults to PostgreSQL and back on the command line: dry run, interruption, verification."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from daemons import Daemon, eventually
from postgres_server import PostgresServer, postgres_server
from worlds import write_files

pytestmark = pytest.mark.long
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
        """Return how many texts of each vault the model has embedded since its index was created."""
        vaults = self.daemon.json("status")["vaults"]
        return {vault["name"]: vault["embeddings_computed"] for vault in vaults}

    def answers(self) -> list[list[str]]:
        return [self.daemon.paths(query, "--vault", "notes") for query in QUERIES]

    def settings(self) -> str | None:
        return self.config.read_text() if self.config.exists() else None

    def migrate(self, *arguments: str, code: int = 0, **environment: str) -> Any:
        """Return the command's JSON output."""
        done = self.daemon.run("backend", "migrate", "--json", *arguments, env=environment)
        assert done.returncode == code, (done.stdout, done.stderr)
        return json.loads(done.stdout)

    def refused(self, *arguments: str, code: int) -> str:
        """Return the one-line reason why nothing was changed."""
        before = self.settings()
        done = self.daemon.run("backend", "migrate", *arguments)
        assert (done.returncode, done.stdout, self.settings()) == (code, "", before), done.stderr
        assert done.stderr.count("\n") == 1, done.stderr
        return done.stderr


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


def unused_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"postgresql://127.0.0.1:{free.getsockname()[1]}/notes"


def numbers(vault: Any) -> dict[str, tuple[int, int]]:
    return {number["of"]: (number["ledger"], number["engine"]) for number in vault["numbers"]}


@pytest.mark.timeout(400)
def test_vaults_move_to_postgres_and_back_without_embedding_anything_again(daemon, server, tmp_path):
    mover = Mover(daemon, tmp_path)
    before = mover.answers()

    # A setting that cannot be used is reported in one line, and nothing is changed.
    assert "index.uri is missing" in mover.refused("--to", "postgres", code=2)
    assert "does not answer" in mover.refused("--to", "postgres", "--uri", unused_address(), code=3)
    nobody = server.uri.replace("vaultseek@", "nobody@")
    assert "refuses the connection" in mover.refused("--to", "postgres", "--uri", nobody, code=3)
    assert "leave out the address" in mover.refused("--to", "embedded", "--uri", server.uri, code=2)
    assert mover.answers() == before

    # Once the move has begun, the command and the daemon are killed, and then the next daemon while it copies
    # vectors. The move continues.
    daemon.stop()
    command = [
        sys.executable,
        "-m",
        "vaultseek",
        "backend",
        "migrate",
        "--to",
        "postgres",
        "--uri",
        server.uri,
    ]
    environment = {**daemon.environment, "VAULTSEEK_FAILPOINTS": "vectors.stored=raise:5"}
    moving = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    eventually(
        lambda: 'backend = "postgres"' in (mover.settings() or "") or moving.poll() is not None,
        "it begins",
        90,
    )
    moving.kill()
    moving.wait()
    daemon.kill()
    moved = mover.migrate("--to", "postgres", VAULTSEEK_FAILPOINTS="vectors.stored=kill@3")
    assert (moved["engine"], moved["place"], moved["was_there"], moved["same"]) == (
        "postgres",
        server.uri.replace("vaultseek@", ""),
        False,
        True,
    )
    vaults = {vault["vault"]: vault for vault in moved["vaults"]}
    assert {name: list(numbers(vault)) for name, vault in vaults.items()} == {"notes": KINDS, "other": KINDS}
    assert numbers(vaults["notes"])["notes"] == (len(NOTES), len(NOTES))
    assert all(each["again"] == each["notes"] for vault in vaults.values() for each in vault["searches"])
    assert len(vaults["notes"]["searches"]) == len(NOTES)
    assert mover.answers() == before
    assert mover.embedded() == mover.computed

    # An engine that has lost rows is detected and refilled.
    lose_rows(server)
    broken = [each for each in daemon.json("doctor", "--no-worker")["findings"] if each["status"] == "broken"]
    assert [each["check"] for each in broken] == ["engine of notes"]
    assert "5 of 6 notes" in broken[0]["message"]
    assert mover.migrate("--to", "postgres")["same"]
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
    assert "keeps its copy" in back.stdout
    again = mover.migrate("--to", "embedded", "--vault", "notes")
    assert (again["was_there"], again["same"], len(again["vaults"])) == (True, True, 1)
    assert mover.answers() == before
    assert mover.embedded() == mover.computed


def lose_rows(server: PostgresServer) -> None:
    """Delete a note of the larger vault without the daemon's knowledge."""
    import psycopg

    listed = "SELECT schemaname FROM pg_tables WHERE tablename = 'word_notes'"
    with psycopg.connect(server.uri, autocommit=True) as connection:
        for (name,) in connection.execute(listed).fetchall():
            table = f"{name}.word_notes"
            connection.execute(
                f"DELETE FROM {table} WHERE note = (SELECT min(note) FROM {table} HAVING count(*) > 2)"
            )
