"""A file that crashes, hangs or fills the memory of its reader affects only itself."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import hostile
import made_files as made
from vaultseek.content.extractors.process import ExtractionProcess, ReaderEnded
from vaultseek.content.extractors.reader import FileReader
from vaultseek.content.extractors.table import EXTRACTORS
from vaultseek.content.kinds import turn
from vaultseek.errors import Cancelled


@pytest.fixture
def process() -> Iterator[ExtractionProcess]:
    running = ExtractionProcess()
    yield running
    running.close()


def child_of(process: ExtractionProcess) -> int:
    assert process._process is not None
    return process._process.pid


def test_one_process_reads_one_file_after_the_other_and_starts_again(process):
    assert process.extract("text", "a.txt", b"one").lines == ("one",)
    first = child_of(process)
    assert (
        process.extract("canvas", "a.canvas", made.canvas(made.card("a", "two")).encode()).lines[0] == "two"
    )
    assert child_of(process) == first
    os.kill(first, signal.SIGKILL)
    os.waitpid(first, os.WNOHANG)
    with contextlib.suppress(ReaderEnded):  # a process known to be dead is replaced at once
        process.extract("text", "b.txt", b"three")
    assert process.extract("text", "b.txt", b"three").lines == ("three",)


def test_a_page_is_drawn_or_there_is_none(process):
    document = made.pdf("One.", "Two.")
    assert process.page(document, 2).startswith(b"\x89PNG\r\n")
    assert process.page(document, 3) is None
    assert process.page(b"no PDF", 1) is None


@pytest.mark.parametrize(
    ("kind", "data", "codes"),
    [
        ("html", b"<div>" * 1_000_000 + b"x", {"too_complex", "ends_reader", "too_slow"}),
        ("canvas", b'{"nodes":' + b"[" * 5_000_000, {"damaged", "too_complex", "ends_reader"}),
        ("base", b"a: &a [x]\n" + b"b: [" + b"*a, " * 100_000 + b"]", {"damaged", "not_indexed"}),
        ("org", b"*" * 1_000_000 + b" x", set()),
        # The PDF library takes quadratic memory for nested marked content: 2 GB for this file.
        pytest.param(
            "pdf",
            hostile.pdf("content " + "/P <</MCID 1>> BDC " * 30_000),
            {"too_complex", "ends_reader", "too_slow"},
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_bomb_has_a_problem_and_the_next_file_has_none(kind, data, codes):
    reader = FileReader()
    found = {problem.code for problem in reader.read(f"a.{kind}", data, b"a").problems}
    assert found <= codes
    assert reader.read("b.txt", b"fine", b"b").lines == ("fine",)
    reader.process.close()


def page_tree(*, endless: bool) -> bytes:
    """Return a PDF whose page tree is its own child, or claims to have a billion pages."""
    kids, count = ("[2 0 R]", 1) if endless else ("[3 0 R]", 1_000_000_000)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids {kids} /Count {count} >>".encode(),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>",
    ]
    data, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(data))
        data += f"{number} 0 obj\n".encode() + each + b"\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"{table}trailer << /Size 4 /Root 1 0 R >>\nstartxref\n{len(data)}\n%%EOF"
    return data + b"xref\n0 4\n0000000000 65535 f \n" + end.encode()


@pytest.mark.parametrize("endless", [True, False])
def test_an_endless_tree_of_pages_ends(process, endless):
    note = process.extract("pdf", "a.pdf", page_tree(endless=endless))
    assert note.problems
    assert process.extract("text", "b.txt", b"fine").lines == ("fine",)


def test_stopping_ends_the_file_that_is_read(process):
    process.extract("text", "a.txt", b"one")
    failures: list[Exception] = []

    def read() -> None:
        try:
            while True:
                process.extract("text", "a.txt", b"one")
        except Cancelled as error:
            failures.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    process.stop()
    thread.join(30)
    assert not thread.is_alive()
    assert len(failures) == 1


def test_a_text_that_was_prepared_is_not_extracted_again(process, tmp_path):
    reader = FileReader(cache=tmp_path / "texts")
    files = {"a.txt": b"one", "b.pdf": made.pdf("page"), "c.pdf": b"no PDF"}
    for path, data in files.items():
        reader.prepare(path, data, path.encode())
    reader.process.close()
    lines = {path: reader.read(path, data, path.encode()).lines for path, data in files.items()}
    assert lines == {"a.txt": ("one",), "b.pdf": ("page", ""), "c.pdf": ()}
    assert reader.ahead == {}


def test_notes_come_first_and_pictures_last():
    paths = ["a.png", "b.pdf", "c.canvas", "d.md", "e.excalidraw.md", "f.txt"]
    assert sorted(paths, key=turn) == ["d.md", "c.canvas", "e.excalidraw.md", "f.txt", "b.pdf", "a.png"]


def test_the_text_of_a_pdf_is_kept_by_its_content(tmp_path: Path, monkeypatch):
    data, digest = made.pdf("The float switch."), b"\1" * 16
    reader = FileReader(cache=tmp_path / "texts")
    first = reader.read("a.pdf", data, digest)
    reader.process.close()
    (kept,) = (tmp_path / "texts").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    moved = FileReader(cache=tmp_path / "texts")
    assert moved.read("b/c.pdf", data, digest).lines == first.lines
    assert moved.read("b/c.pdf", data, digest).title == "c"
    assert moved.process._process is None
    monkeypatch.setitem(EXTRACTORS, "pdf", replace(EXTRACTORS["pdf"], version=EXTRACTORS["pdf"].version + 1))
    newer = FileReader(cache=tmp_path / "texts")
    assert newer.read("b/c.pdf", data, digest).lines == first.lines
    assert newer.process._process is not None  # the new version of the file is read
    newer.process.close()
    monkeypatch.undo()
    kept.write_bytes(kept.read_bytes()[:-9] + b"damaged..")
    assert moved.read("a.pdf", data, digest).lines == first.lines
    moved.cache.prune([b"\2" * 16])
    moved.process.close()
    assert list((tmp_path / "texts").iterdir()) == []
