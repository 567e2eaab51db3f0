"""Terminal sessions in the docs: read, run, compare and record them.

A session is a ```` ```console ```` block. Lines with ``$`` are commands; the lines below are their output on
a screen of 80 columns in a copy of the sample vault. ``scripts/record`` rewrites the outputs.
"""

import json
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
from typing import Any

PROJECT = Path(__file__).parents[1]
SAMPLE = PROJECT / "tests" / "data" / "vault"
PAGES = (PROJECT / "README.md", PROJECT / "docs" / "tour.md")
COLUMNS, LINES = 80, 500
SECONDS = 280
DAYS_AGO = 40
"""Age of the notes, so that none of them counts as recent."""
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
    # The fastest way to compute in bulk is measured on each processor.
    (re.compile(r"(float32 in onnxruntime).*"), r"\1"),
    # Processors round products differently; only the order matters.
    (re.compile(r" [█▉▊▋▌▍▎▏·]{8} +\d+%$"), " <certainty>"),
    (
        re.compile(r"^ *(lane|keyword|semantic|graph|recency|best|score|confidence)\b +[-\d.x=/r].*"),
        r"\1 <figures>",
    ),
    # The age after the place may or may not leave room for the tags.
    (re.compile(r"^(    .*\.md:\d+) · .*"), r"\1"),
]


@dataclass(frozen=True)
class Exchange:
    """A command and its output."""

    command: str
    output: str


def sessions(text: str) -> list[list[Exchange]]:
    """Return the sessions of a page."""
    return [list(_exchanges(block)) for block in _BLOCK.findall(text)]


def stable(output: str) -> list[str]:
    """Return the lines without the parts that change each time: times, ages, sizes, process ids, scores."""
    lines = output.partition("\nmilliseconds: ")[0].splitlines()
    return [_stable(line) for line in lines]


class Home:
    """A home directory with the sample vault in ``~/notes``, for running commands as a user would."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(SAMPLE, folder / "notes")
        modified = time.time() - DAYS_AGO * 24 * 3600
        for note in (folder / "notes").rglob("*.md"):
            os.utime(note, (modified, modified))
        commands = folder / "bin"
        commands.mkdir()
        command = commands / "vaultseek"
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m vaultseek "$@"\n')
        command.chmod(0o755)
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith(("VAULTSEEK_", "XDG_"))
        }
        self.environment = inherited | {
            "HOME": str(folder),
            "PATH": f"{commands}{os.pathsep}{inherited['PATH']}",
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
            output = b"".join(_read_all(stream.fileno()))
        process.wait(SECONDS)
        text = _HYPERLINK.sub("", output.decode()).replace("\r\n", "\n")
        return text.replace(str(self.folder), "/home/ana")

    def index(self) -> None:
        """Index the vault with all of its models."""
        self.run("vaultseek index --wait")
        deadline = time.monotonic() + SECONDS
        while models := self._models_at_work():
            if time.monotonic() > deadline:
                raise TimeoutError(f"after {SECONDS} s still not embedded: {models}")
            time.sleep(0.2)

    def _models_at_work(self) -> list[dict[str, Any]]:
        vaults = json.loads(self.run("vaultseek status --json"))["vaults"]
        models = [vault["models"] for vault in vaults]
        return [it for it in models if it["second"] and it["second_notes_left"] != 0]

    def close(self) -> None:
        """Stop the daemon."""
        self.run("vaultseek stop")


@contextmanager
def opened_home() -> Iterator[Home]:
    """Yield a home directory at a path of constant length, because the length decides where lines wrap."""
    with tempfile.TemporaryDirectory(prefix="vaultseek-", dir="/tmp") as folder:
        home = Home(Path(folder))
        try:
            yield home
        finally:
            home.close()


def record() -> None:
    """Run every session of every page and write the outputs into the pages."""
    with opened_home() as home:
        home.index()
        for page in PAGES:
            text = page.read_text(encoding="utf-8")
            page.write_text(_BLOCK.sub(lambda match: _recorded(match[1], home), text), encoding="utf-8")


def _recorded(block: str, home: Home) -> str:
    exchanges = (PROMPT + it.command + "\n" + home.run(it.command).rstrip() for it in _exchanges(block))
    return "```console\n" + "\n".join(text.rstrip() for text in exchanges) + "\n```"


def _exchanges(block: str) -> Iterator[Exchange]:
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield Exchange(command, output.rstrip())


def _stable(line: str) -> str:
    for pattern, word in _UNSTABLE:
        line = pattern.sub(word, line)
    return line.rstrip()


def _read_all(descriptor: int) -> Iterator[bytes]:
    while True:
        try:
            part = os.read(descriptor, 65_536)
        except OSError:  # the last writer has closed the terminal
            return
        if not part:
            return
        yield part


if __name__ == "__main__":
    record()
