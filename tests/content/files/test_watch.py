"""Events that a watcher passes on, and the reasons for which it cannot be relied on."""

import logging
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from vaultseek.content.files import watch
from vaultseek.content.files.watch import EventHandler, Watcher, _remote_reason


class Watched:
    """A watcher on a folder, with what it has passed on."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.hints: list[str] = []
        self.reasons: list[str] = []
        self.arrived = threading.Event()
        self.watcher = Watcher(root, self._hint, self.reasons.append)

    def _hint(self, path: str) -> None:
        self.hints.append(path)
        self.arrived.set()


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    root = tmp_path / "vault"
    root.mkdir()
    watched = Watched(root)
    yield watched
    watched.watcher.stop()


def test_paths_are_relative_to_the_vault(watched):
    for path in (f"{watched.root}/a.md", bytes(watched.root / "b" / "ü.md"), f"{watched.root}/b/"):
        watched.watcher.hint(path)
    assert watched.hints == ["a.md", "b/ü.md", "b"]
    assert watched.reasons == []


def test_a_path_outside_is_ignored_and_the_folder_itself_is_a_rescan(watched):
    for path in (f"{watched.root}/../other.md", f"{watched.root}-2/a.md", "", str(watched.root)):
        watched.watcher.hint(path)
    assert watched.hints == []
    assert watched.reasons == ["the vault's folder itself changed"]


@pytest.mark.parametrize(
    ("event", "paths"),
    [
        ({"event_type": "created", "src_path": "a.md"}, ["a.md"]),
        ({"event_type": "moved", "src_path": "a.md", "dest_path": "b.md"}, ["a.md", "b.md"]),
        ({"event_type": "moved", "src_path": "", "dest_path": "b.md"}, ["b.md"]),
        ({"event_type": "modified", "src_path": "a", "is_directory": True}, []),
        ({"event_type": "deleted", "src_path": "a", "is_directory": True}, ["a"]),
        ({"event_type": "unheard of", "src_path": "a.md", "dest_path": ""}, ["a.md"]),
    ],
)
def test_both_ends_of_an_event_are_hints(event, paths):
    passed_on: list[str | bytes] = []
    EventHandler(passed_on.append).dispatch(SimpleNamespace(**{"is_directory": False, **event}))
    assert passed_on == paths


def test_a_write_is_noticed(watched):
    watched.watcher.start()
    assert watched.watcher.alive()
    (watched.root / "a.md").write_text("# A")
    assert watched.arrived.wait(30)
    assert watched.hints[0] == "a.md"


def test_a_lost_queue_is_a_rescan(watched):
    watched.watcher.start()
    logging.getLogger("watchdog.observers").warning("queue overflow")
    assert watched.reasons == ["queue overflow"]
    watched.watcher.stop()
    logging.getLogger("watchdog.observers").warning("queue overflow")
    assert len(watched.reasons) == 1


def test_a_stopped_watcher_is_not_alive(watched):
    watched.watcher.start()
    watched.watcher.stop()
    assert not watched.watcher.alive()


@pytest.mark.fault("C3")
def test_a_watcher_of_a_replaced_folder_is_not_alive(watched):
    watched.watcher.start()
    watched.root.rename(watched.root.with_name("old"))
    assert not watched.watcher.alive()
    watched.root.mkdir()
    assert not watched.watcher.alive()


def test_a_folder_that_cannot_be_watched_is_polled(watched):
    shutil.rmtree(watched.root)
    watched.watcher.start()
    assert watched.watcher.poll_reason is not None
    assert watched.watcher.poll_reason.startswith("cannot watch for changes: ")
    assert watched.watcher.alive(), "there is nothing to restart"


MOUNTS = [
    "/dev/sda1 / ext4 rw 0 0",
    "server:/notes /home/me/notes nfs4 rw 0 0",
    "tmpfs /home/me/notes/local tmpfs rw 0 0",
    "sshfs /home/me/far\\040away fuse.sshfs rw 0 0",
]


@pytest.mark.fault("B10")
@pytest.mark.parametrize(
    ("root", "reason"),
    [
        ("/home", "/home/me/notes is a nfs4 file system"),
        ("/home/me/note", None),
        ("/home/me/notes", "/home/me/notes is a nfs4 file system"),
        ("/home/me/notes/work", "/home/me/notes is a nfs4 file system"),
        ("/home/me/notes/local/drafts", None),
        ("/home/me/notes-2", None),
        ("/home/me/far away/work", "/home/me/far away is a fuse.sshfs file system"),
    ],
)
def test_a_remote_file_system_is_polled(root, reason):
    told = _remote_reason(Path(root), MOUNTS)
    assert told is None if reason is None else told is not None and told.startswith(reason)


def test_a_file_system_mounted_below_is_another_folder(watched, monkeypatch):
    root = watched.root.with_name("with space")
    watched.root.rename(root)
    watcher = Watcher(root, watched.hints.append, watched.reasons.append)
    table = ["/dev/sda1 / ext4 rw 0 0"]
    monkeypatch.setattr(watch, "mounts", lambda: table)
    place = str(root).replace(" ", "\\040")
    try:
        watcher.start()
        table.append(f"/dev/sdb1 {place}-2 ext4 rw 0 0")
        assert watcher.alive()
        table.append(f"/dev/sdc1 {place}/private ext4 rw 0 0")
        assert not watcher.alive()
        watcher.stop()
        watcher.start()
        assert watcher.alive()
        del table[-1]
        assert not watcher.alive()
    finally:
        watcher.stop()


def test_a_folder_that_vanishes_is_no_lack_of_watches(watched):
    watched.watcher.start()
    shutil.rmtree(watched.root)
    watched.watcher.look()
    assert watched.watcher.poll_reason is None
