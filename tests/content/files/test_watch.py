"""Events that a watcher passes on, and the reasons why it may be unreliable."""

import ast
import itertools
import logging
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from vaultseek.content.files import watch
from vaultseek.content.files.watch import EventHandler, Watcher, _remote_reason, remote_file_system


class Watched:
    """A watcher on a folder, with the events it has passed on."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.hints: list[str] = []
        self.reasons: list[str] = []
        self.arrived = threading.Event()
        self.numbers = itertools.count()
        self.watcher = Watcher(root, self._hint, self.reasons.append)

    def _hint(self, path: str) -> None:
        self.hints.append(path)
        self.arrived.set()

    def see(self, folder: Path) -> None:
        """Return once a change in ``folder`` is noticed."""
        file = folder / f"seen-{next(self.numbers)}.md"
        file.touch()
        path = file.relative_to(self.root).as_posix()
        while path not in self.hints:
            self.arrived.clear()
            assert path in self.hints or self.arrived.wait(30), f"{path} is not noticed"
        file.unlink()


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
    logging.getLogger("watchdog.observers").error("a thread of another vault is stopped")
    assert len(watched.reasons) == 1
    watched.watcher.stop()
    logging.getLogger("watchdog.observers").warning("queue overflow")
    assert len(watched.reasons) == 1


def test_a_stopped_watcher_is_not_alive(watched):
    watched.watcher.start()
    watched.watcher.stop()
    assert not watched.watcher.alive()


linux = pytest.mark.skipif(sys.platform != "linux", reason="only inotify keeps a folder that is in use")


def standing_in(folder: Path) -> int:
    """Keep ``folder`` open, like a process with it as its working directory; return the descriptor."""
    return os.open(folder, os.O_RDONLY)


def replaced_and_removed(watched: Watched, name: str) -> None:
    """Remove a new folder that a process is using, create it again, and remove that one as well."""
    (watched.root / name).rmdir()
    (watched.root / name).mkdir()
    watched.see(watched.root / name)
    (watched.root / name).rmdir()
    watched.see(watched.root)


@linux
@pytest.mark.fault("C3")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_watcher_that_no_longer_reads_is_not_alive(watched, eventually):
    watched.watcher.start()
    (watched.root / "a").mkdir()
    watched.see(watched.root / "a")
    process = standing_in(watched.root / "a")
    replaced_and_removed(watched, "a")
    os.close(process)
    eventually(lambda: not watched.watcher.alive(), "its thread has ended")
    watched.watcher.start()
    watched.see(watched.root)
    assert watched.watcher.alive()


@pytest.mark.fault("C3", "L3")
def test_a_watcher_is_not_alive_without_any_of_its_threads(watched):
    others = set(threading.enumerate())
    watched.watcher.start()
    for number in range(len(set(threading.enumerate()) - others)):
        thread = sorted(set(threading.enumerate()) - others, key=lambda thread: thread.name)[number]
        thread.stop()
        thread.join()
        assert not watched.watcher.alive(), thread
        watched.watcher.stop()
        watched.watcher.start()
        assert watched.watcher.alive()


@linux
@pytest.mark.fault("C3")
def test_a_watcher_stops_while_a_process_stands_in_removed_folders(watched):
    threads, descriptors = set(threading.enumerate()), set(os.listdir("/proc/self/fd"))  # noqa: PTH208
    watched.watcher.start()
    names = ["a", "b", "c"]
    for name in names:
        (watched.root / name).mkdir()
        watched.see(watched.root / name)
    processes = [standing_in(watched.root / name) for name in names]
    for name in names:
        replaced_and_removed(watched, name)
    watched.watcher.stop()
    for process in processes:
        os.close(process)
    assert set(threading.enumerate()) == threads
    assert set(os.listdir("/proc/self/fd")) == descriptors  # noqa: PTH208


@pytest.mark.fault("C3")
def test_a_failed_start_leaves_no_thread(watched):
    threads = set(threading.enumerate())
    shutil.rmtree(watched.root)
    for _ in range(3):
        watched.watcher.start()
    assert watched.watcher.poll_reason is not None
    assert set(threading.enumerate()) == threads


@pytest.mark.fault("C3")
def test_a_moved_folder_is_a_reason_to_begin_anew(watched, eventually):
    (watched.root / "a").mkdir()
    watched.watcher.start()
    (watched.root / "a.md").touch()
    (watched.root / "a.md").rename(watched.root / "b.md")
    watched.see(watched.root)
    assert not watched.watcher.may_have_lost_folders
    (watched.root / "a").rename(watched.root / "b")
    eventually(lambda: watched.watcher.may_have_lost_folders)
    watched.watcher.stop()
    watched.watcher.start()
    assert not watched.watcher.may_have_lost_folders


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
    "host /home/me/a\\011tab\\012and\\134040\\043 prl_fs rw 0 0",
    "disk /home/me/with\x0cfeed vmhgfs rw 0 0",
    "/dev/sdb1 /home/me/stick fuseblk rw 0 0",
]


@pytest.mark.fault("B10")
@pytest.mark.parametrize(
    ("root", "place"),
    [
        ("/home", "/home/me/notes is a file system of type nfs4,"),
        ("/home/me/note", None),
        ("/home/me/notes", "/home/me/notes is a file system of type nfs4,"),
        ("/home/me/notes/work", "/home/me/notes is a file system of type nfs4,"),
        ("/home/me/notes/local/drafts", None),
        ("/home/me/notes-2", None),
        ("/home/me/far away/work", "/home/me/far away is a file system of type fuse.sshfs,"),
        ("/home/me/a\ttab\nand\\040#/work", "/home/me/a\\ttab\\nand\\040# is a file system of type prl_fs,"),
        ("/home/me/a", None),
        ("/home/me/with\x0cfeed", "/home/me/with\\x0cfeed is a file system of type vmhgfs,"),
        ("/home/me/stick/notes", None),
    ],
)
def test_a_remote_file_system_is_polled(root, place):
    told = _remote_reason(Path(root), MOUNTS)
    assert told is None if place is None else (told or "").startswith(place)


@pytest.mark.fault("B10", "L7")
@pytest.mark.parametrize(
    "kind",
    [
        *(
            "9p",
            "afs",
            "beegfs",
            "ceph",
            "cifs",
            "drvfs",
            "fakeowner",
            "fuse",
            "fuse.davfs2",
            "fuse.glusterfs",
        ),
        *("fuse.osxfs", "fuse.rclone", "fuse.vmhgfs-fuse", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2"),
        *("orangefs", "osxfs", "prl_fs", "smb2", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs", "not-yet"),
    ],
)
def test_whatever_is_not_known_to_be_local_is_polled(kind):
    told = _remote_reason(Path("/mnt/notes"), ["/dev/sda1 / ext4 rw 0 0", f"x /mnt {kind} rw 0 0"])
    assert (told or "").startswith(f"/mnt is a file system of type {kind},")


@pytest.mark.fault("B10")
def test_without_a_table_of_mounts_nothing_is_polled_for_it():
    assert _remote_reason(Path("/mnt/notes"), []) is None
    told = _remote_reason(Path("/mnt/notes"), ["proc /proc proc rw 0 0"])
    assert (told or "").startswith("/ is a file system of type unknown,")


@linux
@pytest.mark.fault("B10")
def test_mount_points_are_read_as_the_kernel_writes_them(tmp_path):
    names = ["a space", "a\ttab", "two\nlines", "back\\slash", "#", "\\040", "\xe9", "\udcff", "\u2028"]
    places = [str(tmp_path / name) for name in names]
    mount = (
        'for place; do mkdir "$place" && mount -t devpts x "$place" || exit 9; done; "$PYTHON" -c "$SCRIPT"'
    )
    script = (
        "from vaultseek.content.files.watch import mounts; import os; os.write(1, repr(mounts()).encode())"
    )
    told = subprocess.run(
        ["unshare", "-Urm", "sh", "-c", mount, "sh", *places],
        env={**os.environ, "PYTHON": sys.executable, "SCRIPT": script},
        capture_output=True,
        check=False,
    )
    if told.returncode:
        pytest.skip(f"nothing can be mounted here: {told.stderr.decode()}")
    table = ast.literal_eval(told.stdout.decode())
    assert [remote_file_system(Path(place) / "notes", table) for place in places] == [
        (place, "devpts") for place in places
    ]


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
