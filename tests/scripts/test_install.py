"""The installation with ``scripts/setup``: it shows its progress, and pip's output if it fails."""

import io
import threading
from pathlib import Path

import demo
import install
import pytest

LOOKING = "Collecting numpy==2.4.6 (from -c constraints.txt (line 95))"
DOWNLOADING = "  Downloading torch-2.13.0-cp311-cp311-manylinux_2_28_x86_64.whl.metadata (29 kB)"


def test_progress_follows_what_pip_says_and_does(tmp_path: Path) -> None:
    progress = install.Progress(tmp_path)
    assert str(progress) == "starting"
    progress.hear(LOOKING)
    assert str(progress) == "1 packages so far, looking up numpy"
    progress.hear(DOWNLOADING)
    assert str(progress) == "1 packages so far, downloading torch (29 kB)"
    (tmp_path / "pip-26.0.dist-info").mkdir()
    progress.hear("Installing collected packages: numpy, torch, vaultseek")
    (tmp_path / "numpy-2.4.6.dist-info").mkdir()
    assert str(progress) == "1 of 3 packages installed"


def test_it_is_shown_while_pip_works(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(install, "FILE_SECONDS", 0.001)
    out, done, progress = io.StringIO(), threading.Event(), install.Progress(tmp_path)
    progress.hear(LOOKING)
    showing = threading.Thread(target=install.show, args=(progress, done, out))
    showing.start()
    while "looking up numpy" not in out.getvalue():
        assert showing.is_alive()
    done.set()
    showing.join()


def test_a_failure_shows_what_pip_said(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code = install.main(["--no-index", "--find-links", str(tmp_path), "vaultseek-there-is-none"])
    said = capfd.readouterr().err
    assert code != 0
    assert "vaultseek-there-is-none" in said
    assert "pip could not install" in said


def test_the_demonstration_ends_with_the_next_commands() -> None:
    commands = [line.split(" ", 3)[-1].strip() for line in demo.NEXT.splitlines() if demo.PROGRAM in line]
    assert [command.split()[0] for command in commands] == ["index", "search"]
