"""Reading a note's bytes, whatever is at its path."""

import os
import threading

import pytest

from vaultseek.content.files.read import read_note
from vaultseek.content.files.scan import file_stat


def test_a_note_is_read_with_the_stat_that_a_scan_sees(vault):
    root = vault({"a.md": "# A\n"})
    found = read_note(root, "a.md")
    assert found is not None
    assert (found.data, found.stat) == (b"# A\n", file_stat(root, "a.md"))


def test_a_file_written_just_now_is_racy_and_an_old_one_is_not(vault):
    root = vault({"a.md": "x"})
    found = read_note(root, "a.md")
    assert found is not None
    assert found.racy


def test_missing_notes_are_none(vault):
    root = vault({"a.md": "x"})
    assert read_note(root, "b.md") is None
    assert read_note(root, "a.md/b.md") is None


@pytest.mark.fault("E2", "E4")
def test_links_pipes_and_folders_are_named_at_once(vault):
    root = vault({"a.md": "x"})
    (root / "link.md").symlink_to(root / "a.md")
    os.mkfifo(root / "pipe.md")
    (root / "folder.md").mkdir()
    for name in ("link.md", "pipe.md", "folder.md"):
        found = read_note(root, name)
        assert found is not None
        assert found.problem is not None
        assert (found.data, found.problem.code) == (b"", "not_a_file")


@pytest.mark.fault("D4")
def test_a_huge_note_is_not_read(vault):
    root = vault({})
    with (root / "huge.md").open("wb") as file:
        file.truncate(1 << 30)
    found = read_note(root, "huge.md")
    assert found is not None
    assert found.problem is not None
    assert (found.data, found.problem.code) == (b"", "too_large")
    assert "larger than 2 MiB" in found.problem.message


@pytest.mark.fault("C21")
def test_a_file_whose_content_is_elsewhere_is_not_opened_for_download(vault):
    root = vault({})
    with (root / "evicted.md").open("wb") as file:
        file.truncate(5000)
    found = read_note(root, "evicted.md")
    assert found is not None
    assert found.problem is not None
    assert found.problem.code == "not_local"


@pytest.mark.fault("C12")
def test_a_note_that_changes_while_it_is_read_is_taken_whole_or_marked_racy(vault):
    root = vault({"a.md": "x" * 10})
    stop = threading.Event()

    def write() -> None:
        size = 0
        while not stop.is_set():
            size = (size + 997) % 100_000
            (root / "a.md").write_bytes(b"y" * size)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(50):
            found = read_note(root, "a.md")
            assert found is not None
            assert found.racy or len(found.data) == found.stat.size
    finally:
        stop.set()
        thread.join()


def test_a_note_that_was_written_a_moment_ago_is_on_this_machine(tmp_path, monkeypatch):
    """While a file system allocates recently written data, it may look like a hole (ext4 does this)."""
    file = tmp_path / "a.md"
    with file.open("wb") as stream:
        stream.truncate(5)  # a hole until the data is flushed
    placed = []

    def fsync(descriptor: int) -> None:
        file.write_bytes(b"text\n")
        os_fsync(descriptor)
        placed.append(descriptor)

    os_fsync = os.fsync
    monkeypatch.setattr(os, "fsync", fsync)
    found = read_note(tmp_path, "a.md")
    assert placed
    assert (found.data, found.problem) == (b"text\n", None)
