"""Output longer than the screen, on a real terminal."""

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

Shown = Callable[..., str]
DEADLINE = 30.0


@pytest.fixture
def shown(tmp_path: Path, vault: Callable[..., Path]) -> Shown:
    """``shown(40, "--no-pager")`` returns the terminal's output of `inspect` for a note of 40 headings."""

    def on_a_terminal(headings: int, *arguments: str, **more: str) -> str:
        root = vault({"a.md": "".join(f"# Heading {n}\n" for n in range(headings))})
        pager = tmp_path / "pager"
        pager.write_text('#!/bin/sh\necho "paged $*"; cat\n')
        pager.chmod(0o755)
        environment = os.environ | {"PAGER": f"{pager} -q", "TERM": "xterm", "LINES": "30"}
        environment.pop("NO_COLOR", None)
        command = [sys.executable, "-m", "vaultseek", "inspect", *arguments, str(root / "a.md")]
        ours, theirs = pty.openpty()
        environment |= more
        with subprocess.Popen(command, stdin=theirs, stdout=theirs, env=environment, cwd=root) as process:
            os.close(theirs)
            text = read(ours)
            assert process.wait(DEADLINE) == 0
        os.close(ours)
        return text

    return on_a_terminal


def read(terminal: int) -> str:
    text, deadline = b"", time.monotonic() + DEADLINE
    while select.select([terminal], [], [], deadline - time.monotonic())[0]:
        try:
            text += os.read(terminal, 4096)
        except OSError:  # how a terminal reports that no other process has it open
            return text.decode()
    raise AssertionError(text)


def test_only_what_is_longer_than_the_screen_goes_through_the_pager(shown: Shown) -> None:
    long, short = shown(40, "--all"), shown(2)
    assert long.startswith("paged -q\r\n")
    assert "Heading 39" in long
    assert not short.startswith("paged")


def test_the_reader_decides(shown: Shown) -> None:
    assert shown(2, "--pager").startswith("paged")
    assert not shown(40, "--no-pager", "--all").startswith("paged")
    assert not shown(40, "--json").startswith("paged")
    assert not shown(40, "--all", TERM="dumb").startswith("paged")


def test_a_pager_that_is_not_less_gets_plain_text(shown: Shown) -> None:
    assert "\x1b" in shown(2)
    assert "\x1b" not in shown(2, "--pager")


@pytest.mark.parametrize("pager", ["no-such-pager", "'unclosed"])
def test_without_a_pager_that_works_the_text_is_printed(shown: Shown, pager: str) -> None:
    assert "Heading 39" in shown(40, "--all", PAGER=pager)


def test_less_leaves_its_page_on_the_screen(shown: Shown, tmp_path: Path) -> None:
    less = tmp_path / "less"
    less.write_text('#!/bin/sh\necho "LESS=$LESS"; cat\n')
    less.chmod(0o755)
    assert shown(40, "--all", PAGER=str(less)).startswith("LESS=-FRX\r\n")
    assert shown(40, "--all", PAGER=str(less), LESS="-R").startswith("LESS=-R\r\n"), "the user's own"
