"""`vaultseek compact`: nothing of the deleted text remains in any file of the index."""

import contextlib
import json
import sqlite3
from pathlib import Path

import pytest

from vaultseek.base import paths

SECRET = "zanzibarquux9"


def files_with(text: str) -> list[str]:
    folders = (paths.data_directory(), paths.state_directory())
    names = []
    for file in [file for folder in folders for file in folder.rglob("*") if file.is_file()]:
        with contextlib.suppress(FileNotFoundError):  # replaced just now
            names += [file.name] if text.encode() in file.read_bytes() else []
    return names


def in_ledger(statement: str) -> list[tuple[object, ...]]:
    """Return the rows of a statement on the only ledger."""
    (file,) = paths.data_directory().rglob("ledger.sqlite")
    file.with_name("ledger.sqlite.closed").unlink(missing_ok=True)  # or the change would be damage
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as ledger:
        return ledger.execute(statement).fetchall()


@pytest.mark.fault("B13")
@pytest.mark.shared_daemon
def test_nothing_of_a_deleted_note_or_a_former_text_is_left(daemon, vault):
    root = vault(
        {
            "Gate.md": "# Gate\n\nOpens by a code.",
            "Secret.md": f"# Secret\n\nThe code of the gate is {SECRET}.",
            "Keys.md": f"# Keys\n\nThe key is under the pot, {SECRET}2 opens the box.",
        }
    )
    daemon.run("index", "--wait", "--vault", str(root))
    assert files_with(SECRET)
    (root / "Secret.md").unlink()
    (root / "Keys.md").write_text("# Keys\n\nThe key is under the pot.")

    done = json.loads(daemon.run("compact", "--json", "--vault", str(root)).stdout)

    assert not files_with(SECRET)
    assert not files_with(SECRET[:-1])
    assert done["bytes"] > 0
    assert done["freed_bytes"] >= 0
    found = json.loads(daemon.run("search", "--json", "key pot", "--vault", str(root)).stdout)
    assert found["results"][0]["path"] == "Keys.md"
    assert "No deleted text is left" in daemon.run("compact", "--vault", str(root)).stdout


def test_the_daemon_compacts_by_itself_a_day_later(daemon, vault, eventually):
    root: Path = vault({"Gate.md": "# Gate", "Secret.md": f"# Secret\n\n{SECRET}"})
    daemon.run("index", "--wait", "--vault", str(root))
    eventually(lambda: in_ledger("SELECT value FROM meta WHERE name = 'compacted'"), "compacted when new")
    (root / "Secret.md").unlink()
    daemon.run("index", "--wait", "--vault", str(root))
    assert files_with(SECRET)
    daemon.stop()
    assert in_ledger("DELETE FROM meta WHERE name = 'compacted' RETURNING value")
    daemon.run("start")
    daemon.run("status", "--vault", str(root))
    eventually(lambda: not files_with(SECRET), "removed without being asked")
