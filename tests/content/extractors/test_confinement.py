"""A file reader that a hostile file has taken over cannot reach anything, tested in its real process."""

import ctypes
import json
import platform
import socket
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import made_files as made
from vaultseek.base.child_process import HANDED_ON
from vaultseek.base.extras import has_extra
from vaultseek.content.extractors import process as module
from vaultseek.content.extractors.process import ExtractionProcess

CHILD = Path(__file__).parents[2] / "hostile_child.py"
FILES = {
    "read a note",
    "read the passwords",
    "list a folder",
    "write a file",
    "write to a temporary folder",
    "delete a file",
    "read the parent's environment",
}
ELSEWHERE = {"connect by TCP", "send a datagram", "connect to the daemon", "run a program"}
_HAS_LANDLOCK = ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), ctypes.c_uint32(1)) > 0


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The surroundings of a hostile reader: a note, a daemon's socket, a port, and a secret key."""
    monkeypatch.setenv("EMBEDDING_KEY", "secret")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(module, "COMMAND", (sys.executable, "-P", str(CHILD)))
    (tmp_path / "note.md").write_text("of another vault")
    local, remote = socket.socket(socket.AF_UNIX), socket.socket()
    with closing(local), closing(remote), closing(ExtractionProcess()) as process:
        local.bind(str(tmp_path / "daemon.sock"))
        local.listen()
        remote.bind(("127.0.0.1", 0))
        remote.listen()
        places = {
            "note": str(tmp_path / "note.md"),
            "folder": str(tmp_path),
            "socket": str(tmp_path / "daemon.sock"),
            "port": str(remote.getsockname()[1]),
        }
        note = process.extract("text", "a.txt", json.dumps(places).encode())
    assert note.problems == ()
    return json.loads(note.lines[0])


def test_a_hostile_file_finds_no_keys_and_no_home(found):
    assert set(found["environment"]) <= {"OMP_NUM_THREADS", "LC_CTYPE", *HANDED_ON}
    assert found["folder"] == "/"


@pytest.mark.skipif(not _HAS_LANDLOCK, reason=f"the kernel {platform.release()} has no Landlock")
def test_a_hostile_file_reaches_no_other_file(found):
    assert FILES.isdisjoint(found["possible"])


@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="system calls are not filtered")
def test_a_hostile_file_reaches_neither_network_nor_daemon_nor_programs(found):
    assert ELSEWHERE.isdisjoint(found["possible"])


def test_files_of_every_kind_are_read_in_the_confined_process():
    with closing(ExtractionProcess()) as process:
        files: dict[Any, tuple[bytes, str]] = {
            "pdf": (made.pdf("A page."), "A page."),
            "html": (b"<p>A paragraph.</p>", "A paragraph."),
            "canvas": (made.canvas(made.card("a", "A card.")).encode(), "A card."),
            "org": (b"A line.", "A line."),
        }
        for kind, (data, text) in files.items():
            note = process.extract(kind, f"a.{kind}", data)
            assert (note.problems, text in "\n".join(note.lines)) == ((), True), kind


@pytest.mark.slow
@pytest.mark.skipif(not has_extra("ocr"), reason="needs the extra ocr")
def test_pictures_are_read_in_the_confined_process():
    with closing(ExtractionProcess()) as process:
        note = process.extract("image", "a.png", made.picture("valve seal"), ocr=True)
        assert note.problems == ()
        assert "valve seal" in "\n".join(note.lines).lower()
