"""Terminal sessions in the pages: read them, run them on the sample vault, compare them, record them anew.

A session is a ```` ```console ```` block. What follows a line with ``$`` is what the command printed, on a
screen of 80 columns, in a copy of the sample vault. ``scripts/record`` writes the outputs anew.
"""

from __future__ import annotations

import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fcntl import ioctl
from pathlib import Path

PROJECT = Path(__file__).parents[1]
SAMPLE = PROJECT / "tests" / "data" / "vault"
PAGES = (PROJECT / "README.md", PROJECT / "docs" / "tour.md")
COLUMNS, LINES = 80, 500
SECONDS = 280
DAYS_AGO = 40
"""When the notes were last changed: long enough ago that none of them counts as recent."""
PROMPT = "$ "
_BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
_HYPERLINK = re.compile(r"\x1b\]8;;.*?\x1b\\")
_UNSTABLE = [
    (re.compile(r"\d+(\.\d+)? ms\b"), "<time>"),
    (re.compile(r"up (\d+ (s|min|h|days?)\b ?)+"), "up <time>"),
    (re.compile(r"just now|\d+ (s|min|hours?|days?|weeks?|months?|years?) ago"), "<age>"),
    (re.compile(r"(pid )\d+"), r"\1<number>"),
    (re.compile(r"\d+ MB"), "<size>"),
    (re.compile(r"\b[0-9a-f]{16}\b"), "<digest>"),
    (re.compile(r"^vaultseek \d\S+"), "vaultseek <version>"),
    # Two processors round a product differently; the order is what counts.
    (re.compile(r" [█▉▊▋▌▍▎▏·]{8} \d\.\d\d$"), " <score>"),
    (re.compile(r"^ *(lane|keyword|semantic|graph|recency|confidence)\b.*"), r"\1 <figures>"),
    # Behind the place stands an age, which may or may not leave room for the tags.
    (re.compile(r"^(    .*\.md:\d+) · .*"), r"\1"),
]


@dataclass(frozen=True)
class Exchange:
    """A command and what it printed."""

    command: str
    output: str


def sessions(text: str) -> list[list[Exchange]]:
    """The sessions of a page."""
    return [list(_exchanges(block)) for block in _BLOCK.findall(text)]


def stable(output: str) -> list[str]:
    """The lines without what is different each time: times, ages, sizes, numbers of processes, scores."""
    kept = output.partition("\nmilliseconds: ")[0]
    return [_stable(line) for line in kept.splitlines()]


class Home:
    """A home directory with the sample vault in ``~/notes``, in which commands are run as a user would."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(SAMPLE, folder / "notes")
        then = time.time() - DAYS_AGO * 24 * 3600
        for note in (folder / "notes").rglob("*.md"):
            os.utime(note, (then, then))
        commands = folder / "bin"
        commands.mkdir()
        command = commands / "vaultseek"
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m vaultseek "$@"\n')
        command.chmod(0o755)
        runtime = folder / "run"
        runtime.mkdir(mode=0o700)
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("VAULTSEEK_", "XDG_"))
        }
        self.environment = kept | {
            "HOME": str(folder),
            "XDG_RUNTIME_DIR": str(runtime),
            "PATH": f"{commands}{os.pathsep}{kept['PATH']}",
            "NO_COLOR": "1",
            "TERM": "xterm",
            "COLUMNS": str(COLUMNS),
            "PAGER": "cat",
        }

    def run(self, command: str) -> str:
        """Return the screen after ``command``, with the home directory as ``/home/ana``."""
        ours, screen = pty.openpty()
        ioctl(screen, termios.TIOCSWINSZ, struct.pack("4H", LINES, COLUMNS, 0, 0))
        process = subprocess.Popen(
            ["bash", "-c", command],
            cwd=self.folder / "notes",
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=screen,
            stderr=subprocess.DEVNULL,
        )
        os.close(screen)
        with os.fdopen(ours, "rb") as stream:
            printed = b"".join(_until_the_end(stream.fileno()))
        process.wait(SECONDS)
        text = _HYPERLINK.sub("", printed.decode()).replace("\r\n", "\n")
        return text.replace(str(self.folder), "/home/ana")

    def close(self) -> None:
        """End the daemon."""
        self.run("vaultseek stop")


@contextmanager
def opened_home() -> Iterator[Home]:
    """A home directory at a path of always the same length: lines that hold it are wrapped by their width."""
    with tempfile.TemporaryDirectory(prefix="vaultseek-", dir="/tmp") as folder:
        home = Home(Path(folder))
        try:
            yield home
        finally:
            home.close()


def record() -> None:
    """Run every session of every page and write down what was printed."""
    with opened_home() as home:
        home.run("vaultseek index --wait")
        for page in PAGES:
            text = page.read_text(encoding="utf-8")
            page.write_text(_BLOCK.sub(lambda found: _recorded(found[1], home), text), encoding="utf-8")


def _recorded(block: str, home: Home) -> str:
    printed = (PROMPT + it.command + "\n" + home.run(it.command).rstrip() for it in _exchanges(block))
    return "```console\n" + "\n".join(text.rstrip() for text in printed) + "\n```"


def _exchanges(block: str) -> Iterator[Exchange]:
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield Exchange(command, output.rstrip())


def _stable(line: str) -> str:
    for pattern, word in _UNSTABLE:
        line = pattern.sub(word, line)
    return line.rstrip()


def _until_the_end(descriptor: int) -> Iterator[bytes]:
    while True:
        try:
            part = os.read(descriptor, 65_536)
        except OSError:  # a terminal whose last writer has gone
            return
        if not part:
            return
        yield part


if __name__ == "__main__":
    record()
