"""The process that reads files of other kinds is killed while reading one."""

import psutil
import pytest

import made_files as made
from daemons import eventually

pytestmark = pytest.mark.slow
TEXT = "alarm of the float switch"


def readers(running) -> list[psutil.Process]:
    """Return the processes of the daemon that read files."""
    found = []
    for child in running.process.children():
        try:
            if "vaultseek.content.extractors.process" in child.cmdline():
                found.append(child)
        except psutil.Error:
            continue  # it has just ended
    return found


@pytest.mark.fault("K9")
def test_k9_a_pdf_whose_reader_is_killed_by_somebody_else_is_read_later(running):
    here = running({"A.md": "[[manual.pdf]]"})
    here.serve()
    here.settle()
    (here.root / "manual.pdf").write_bytes(made.pdf(*["A page about pumps. " * 100] * 20, TEXT))
    (reader,) = eventually(lambda: readers(here), "a process reads the file")
    reader.kill()
    here.settle()
    assert here.paths(f'"{TEXT}"') == ["manual.pdf"]
    assert here.status()["problems"] == []


@pytest.mark.fault("K9")
def test_k9_a_file_that_ends_its_reader_each_time_is_left_out_and_no_other(running):
    files = {"bad.pdf": made.pdf(TEXT), "good.pdf": made.pdf("Another page.", TEXT), "A.md": "A note."}
    here = running(files, VAULTSEEK_FAILPOINTS="extract bad.pdf=kill")
    here.serve()
    for _ in range(2):
        here.settle()
        assert here.paths(f'"{TEXT}"') == ["good.pdf"]
        assert here.paths("bad") == ["bad.pdf"], "its name is searched"
        assert [(each["path"], each["code"]) for each in here.status()["problems"]] == [
            ("bad.pdf", "ends_reader")
        ]
        here.kill()
        here.serve()
