"""Folders and links in place of index files are removed, and nothing beyond them changes."""

import shutil
from pathlib import Path

import pytest

from daemons import eventually
from running import Running
from vaultseek.errors import VaultseekError

pytestmark = [pytest.mark.fault("B5", "Invariant 5"), pytest.mark.timeout(300)]

NOTES = {f"n{number}.md": f"# Granite {number}\n\nAbout granite and [[n1]].\n" for number in range(8)}
LEDGER = ("ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm")
FILES = (
    *LEDGER,
    "lock",
    "vault.json",
    "reading",
    "reading.json",
    "foreign-share.json",
    "ledger.sqlite.closed",
)


def indexed(each: Running) -> Path:
    each.serve()
    each.settle()
    return each.index


def make_a_folder(file: Path) -> None:
    if file.is_file():
        file.unlink()
    file.mkdir()
    (file / "inner").write_text("something")


def found(each: Running, query: str) -> list[str]:
    """Return the results; none while the vault is reopened."""
    try:
        return each.paths(query)
    except (VaultseekError, OSError):
        return []


def settles(each: Running) -> bool:
    """True once everything is indexed; false if the vault is reopened meanwhile."""
    try:
        each.settle()
    except (VaultseekError, OSError):
        return False
    return bool(each.status()["state"] == "ready")


def assert_healed(each: Running) -> None:
    """Assert that all notes are found, and that changes are indexed."""

    def is_whole() -> bool:
        if not each.is_alive():
            each.serve()
        return len(found(each, "granite")) == len(NOTES) and each.status()["state"] == "ready"

    eventually(is_whole, "all is there", 60)
    (each.root / "new.md").write_text("basalt")
    eventually(lambda: found(each, "basalt") == ["new.md"], "a change is seen", 60)
    eventually(lambda: settles(each), "all is indexed", 60)


@pytest.mark.parametrize("name", ["ledger.sqlite-shm", "ledger.sqlite-wal"])
def test_b5_a_folder_beside_the_open_ledger_is_removed(running, name):
    each = running(NOTES)
    index = indexed(each)
    make_a_folder(index / name)
    assert_healed(each)
    eventually(lambda: not (index / name).is_dir(), "it is noticed", 60)
    (each.root / "new.md").unlink()
    assert_healed(each)


def test_b5_folders_where_files_should_be_are_removed(running):
    each = running(NOTES)
    index = indexed(each)
    for names in (LEDGER[1:2], LEDGER[2:], FILES):
        each.kill()
        for name in names:
            make_a_folder(index / name)
        each.serve()
        assert_healed(each)
        assert not [name for name in names if (index / name).is_dir()]
        (each.root / "new.md").unlink()
        each.settle()


def test_b5_links_among_the_files_of_an_index_are_not_followed(running, tmp_path):
    each = running(NOTES)
    index = indexed(each)
    each.end()
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in FILES:
        (outside / name).write_text("mine")
        (index / name).unlink(missing_ok=True)
        (index / name).symlink_to(outside / name)
    for name in ("semantic", "keyword"):
        (outside / name).mkdir()
        shutil.rmtree(index / name)
        (index / name).symlink_to(outside / name)
    (index / "dangling").symlink_to(outside / "nowhere")
    each.serve()
    assert_healed(each)
    assert {file.name: file.read_text() for file in outside.iterdir() if file.is_file()} == dict.fromkeys(
        FILES, "mine"
    )
    assert not [*(outside / "semantic").iterdir(), *(outside / "keyword").iterdir()]
    assert not [path for path in index.rglob("*") if path.is_symlink()]
