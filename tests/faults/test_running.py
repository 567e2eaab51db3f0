"""Changes to a vault while a daemon follows it."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from daemons import eventually
from running import Running
from vaultseek.errors import Unavailable

pytestmark = pytest.mark.slow

NOTES = {
    "pump.md": "# Pump\n\nThe pump needs a seal, see [[valve]].\n",
    "valve.md": "---\ntags: [boat]\n---\n# Valve\n\nA valve seal wears out.\n",
    "deck/anchor.md": "# Anchor\n\nRust on the anchor chain.\n",
}


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A vault followed by a daemon, for all tests of this file; each uses different names."""
    running = Running(tmp_path_factory.mktemp("followed"), NOTES)
    running.serve()
    running.settle()
    yield running
    running.end()


@pytest.mark.fault("C5")
def test_c5_a_note_renamed_a_thousand_times_has_its_last_name(followed):
    note = followed.root / "storm0.md"
    note.write_text("limestone")
    for number in range(1, 1001):
        note = note.rename(followed.root / f"storm{number}.md")
    followed.settle()
    assert followed.paths("limestone") == ["storm1000.md"]


def rename_over(file: Path, text: str) -> None:
    temporary = file.with_name(f".{file.name}.tmp")
    temporary.write_text(text)
    temporary.replace(file)


def as_vim_does(file: Path, text: str) -> None:
    probe = file.with_name("4913")
    probe.touch()
    probe.unlink()
    backup = file.rename(file.with_name(file.name + "~"))
    (file.parent / f".{file.name}.swp").write_bytes(b"b0VIM")
    file.write_text(text)
    backup.unlink()
    (file.parent / f".{file.name}.swp").unlink()


def as_emacs_does(file: Path, text: str) -> None:
    lock = file.with_name(f".#{file.name}")
    lock.symlink_to("someone@somewhere.1234")
    file.with_name(f"#{file.name}#").write_text(text)
    file.rename(file.with_name(f"{file.name}~"))
    file.write_text(text)
    file.with_name(f"#{file.name}#").unlink()
    lock.unlink()


@pytest.mark.fault("C6")
@pytest.mark.parametrize("save", [rename_over, as_vim_does, as_emacs_does])
def test_c6_a_save_in_any_manner_changes_one_note(followed, save: Callable[[Path, str], None]):
    file = followed.root / f"saved-{save.__name__}.md"
    word = save.__name__.replace("_", "")
    file.write_text("schist zero")
    followed.settle()
    for number in range(5):
        save(file, f"schist {word}{number}")
    followed.settle()
    assert followed.paths(f"schist {word}4")[0] == file.name
    assert [path for path in followed.paths("schist") if save.__name__ in path] == [file.name]
    assert followed.paths(f"{word}0") == []


@pytest.mark.fault("C8")
def test_c8_a_folder_that_was_moved_away_is_gone_whatever_happens_there(followed, tmp_path):
    folder = followed.root / "leaving"
    folder.mkdir()
    for number in range(5):
        (folder / f"{number}.md").write_text(f"gneiss {number}")
    followed.settle()
    assert len(followed.paths("gneiss")) == 5
    away = folder.rename(followed.place / "away")
    (away / "0.md").write_text("gneiss and phyllite")
    eventually(lambda: followed.paths("gneiss") == [], "the notes are gone")
    (away / "1.md").write_text("gneiss and phyllite")
    (followed.root / "after.md").write_text("after the phyllite")
    eventually(lambda: followed.paths("phyllite") == ["after.md"])
    followed.settle()
    assert followed.paths("gneiss") == []


@pytest.mark.fault("C9")
def test_c9_a_folder_that_was_moved_in_is_followed(followed):
    outside = followed.place / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "deep" / "a.md").write_text("marble")
    folder = outside.rename(followed.root / "inside")
    eventually(lambda: followed.paths("marble") == ["inside/deep/a.md"], "it is found")
    (folder / "deep" / "a.md").write_text("dolomite")
    (folder / "deep" / "b.md").write_text("dolomite")
    eventually(lambda: len(followed.paths("dolomite")) == 2, "later edits are seen")
    assert followed.paths("marble") == []


@pytest.mark.fault("J2")
def test_j2_requests_and_exchanged_indexes_leave_no_file_open(followed):
    followed.settle()
    for number in range(5):
        (followed.root / "j2.md").write_text(f"warm {number}")
        followed.settle()
    before = followed.descriptors()
    for number in range(40):
        (followed.root / "j2.md").write_text(f"tuff {number}")
        followed.settle()
        for _ in range(5):
            followed.paths("tuff")
    assert followed.descriptors() <= before + 5


def tree(root: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return everything in a folder that a write would change."""
    return {
        str(path): (
            path.stat().st_mode,
            path.stat().st_mtime_ns,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in (root, *root.rglob("*"))
    }


@pytest.mark.fault("Invariant 1")
def test_invariant_1_nothing_is_written_into_the_vault(followed):
    followed.settle()
    before = tree(followed.root)
    followed.answers()
    with followed.client() as client:
        client.refresh(vault=str(followed.root))
        client.note("pump", vault=str(followed.root))
        client.compact(vault=str(followed.root))
    assert tree(followed.root) == before


@pytest.mark.fault("Invariant 8")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_invariant_8_another_user_reads_nothing_and_gets_no_answer(followed):
    files = [path for path in followed.place.rglob("*") if "home" not in path.parts]
    own = [path for path in files if "vaultseek" in path.relative_to(followed.place).parts]
    assert [path for path in own if path.lstat().st_mode & 0o077 and not path.is_symlink()] == []
    child = os.fork()
    if child == 0:  # the process of the other user
        os.setgid(65534)
        os.setuid(65534)
        try:
            followed.client()
        except Exception:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


@pytest.mark.fault("J3")
def test_j3_a_note_that_cannot_be_read_for_ever_is_logged_once(running):
    here = running({"bad.md": "never read"}, VAULTSEEK_FAILPOINTS="note.read bad.md=raise:5")
    here.serve()
    for _ in range(10):
        with here.client() as client, pytest.raises(Unavailable):
            client.refresh(vault=str(here.root), timeout=60)
    assert here.status()["state"] == "failing"
    assert here.daemon.log().count("failed; trying again") == 1


@pytest.mark.fault("Invariant 10")
def test_invariant_10_a_deleted_note_is_gone_at_once_and_from_the_disk_after_compacting(followed):
    note = followed.root / "secret.md"
    note.write_text("# Secret\n\nthe word is xylophanequartzite\n")
    followed.settle()
    assert followed.paths("xylophanequartzite") == ["secret.md"]
    note.unlink()
    eventually(lambda: followed.paths("xylophanequartzite") == [], "it is not found any more")
    with followed.client() as client:
        client.compact(vault=str(followed.root))
    held = [path for path in followed.index.rglob("*") if path.is_file()]
    assert [path for path in held if b"xylophanequartzite" in path.read_bytes()] == []


@pytest.mark.skipif(sys.platform != "linux", reason="only inotify keeps a folder that is in use")
@pytest.mark.fault("L3")
def test_l3_a_watcher_that_dies_is_replaced_and_the_log_says_so_in_one_line(daemon, vault):
    root = daemon.indexed(vault({"Pump.md": "# Pump\n"}))

    def finds(word: str, path: str) -> None:
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(f"# {word}\n")
        eventually(lambda: daemon.paths(word, "--vault", str(root)) == [path], f"{word} is found")

    finds("first", "a/First.md")
    process = os.open(root / "a", os.O_RDONLY)  # like a process whose working directory it is
    shutil.rmtree(root / "a")
    finds("second", "a/Second.md")
    shutil.rmtree(root / "a")
    eventually(lambda: not daemon.paths("second", "--vault", str(root)), "it is gone")
    os.close(process)
    eventually(lambda: "watching again" in daemon.log(), "the thread has ended")
    finds("third", "Third.md")
    assert "Traceback" not in daemon.log()
    (line,) = [line for line in daemon.log().splitlines() if "KeyError" in line]
    assert "WARNING" in line
