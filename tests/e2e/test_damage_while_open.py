"""A ledger that is damaged while a daemon uses it is replaced, and the answers equal those of a fresh
index."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from vaultseek.base.paths import vault_data_directory

NOTES = {f"n{number}.md": f"# Granite {number}\n\nAbout granite and [[n1]].\n" for number in range(30)}


def cut_off(file: Path) -> None:
    os.truncate(file, 0)


def halve(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def overwrite(file: Path) -> None:
    with file.open("r+b") as stream:
        stream.write(os.urandom(file.stat().st_size))


def replace(file: Path) -> None:
    other = file.with_name("other")
    other.write_text("something else")
    other.replace(file)


DAMAGES = [cut_off, halve, overwrite, replace, Path.unlink]


@pytest.mark.fault("B5")
@pytest.mark.shared_daemon
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("suffix", ["", "-wal"])
def test_a_damaged_ledger_is_replaced(
    daemon, vault, eventually, suffix: str, damage: Callable[[Path], None]
) -> None:
    root = daemon.indexed(vault(NOTES))
    pid = daemon.pid()
    ledger = vault_data_directory(root) / "ledger.sqlite"
    damage(ledger.with_name(ledger.name + suffix))
    for number in range(5):
        asked = daemon.run("search", "granite", "--vault", str(root), "-n", "50", "--json")
        assert asked.returncode in (0, 1), asked.stderr
        (root / f"new{number}.md").write_text("About basalt.")
    eventually(
        lambda: len(daemon.paths("basalt", "--vault", str(root), "--mode", "keyword")) == 5,
        "changes are seen",
        60,  # longer than the pauses between two attempts
    )
    eventually(
        lambda: len(daemon.paths("granite", "--vault", str(root), "-n", "50", "--mode", "keyword")) == 30,
        "all is there",
    )
    # It may be closed and reopened once more; a waiting command then continues.
    waited = daemon.run("index", "--wait", "--vault", str(root))
    assert waited.returncode == 0, waited.stderr

    def states() -> list[tuple[str, int, int]]:
        vaults = daemon.json("status")["vaults"]  # none while it is being reopened
        ours = [vault for vault in vaults if vault["path"] == str(root)]
        return [(vault["state"], vault["notes"], vault["pending"]) for vault in ours]

    eventually(lambda: states() == [("ready", 35, 0)], "the state after the last comparison")
    assert daemon.pid() == pid


@pytest.mark.fault("B5")
def test_a_ledger_that_is_a_folder_is_replaced(daemon, vault, tmp_path):
    root = daemon.indexed(vault(NOTES))
    daemon.stop()
    (ledger,) = (tmp_path / "data" / "vaultseek" / "vaults").glob("*/ledger.sqlite")
    for name in ("ledger.sqlite", "vault.json", "reading"):
        (ledger.parent / name).unlink(missing_ok=True)
        (ledger.parent / name / "inner").mkdir(parents=True)
    for _ in range(2):
        daemon.run("index", "--wait", "--vault", str(root))
        assert len(daemon.paths("granite", "--vault", str(root), "-n", "50", "--mode", "keyword")) == 30
        daemon.stop()
