"""Install with pip and show the progress: on a terminal as one line that is rewritten, elsewhere as a line
now and then.

Run by ``scripts/setup`` with the arguments of ``pip install``; it needs only Python. pip's output is shown
only if it fails.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
import time
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

PIP = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off"]
SAID_LINES = 40
"""Number of lines of pip's output that are shown if it fails."""
TERMINAL_SECONDS, FILE_SECONDS = 0.5, 15.0
"""Seconds between two progress lines, on a terminal and elsewhere."""
_LOOKING = re.compile(r"Collecting ([\w.-]+)")
_DOWNLOADING = re.compile(r"Downloading (\S*/)?([A-Za-z0-9_.]+?)-\d\S* \((.+)\)")


class Progress:
    """Progress of pip, from its output and from the contents of the package folder."""

    def __init__(self, packages: Path) -> None:
        self._packages = packages
        self._names: set[str] = set()
        self._doing = "starting"
        self._wanted = 0
        self._before = 0

    def hear(self, line: str) -> None:
        """Read a line of pip's output."""
        if match := _LOOKING.search(line):
            self._names.add(match[1])
            self._doing = f"looking up {match[1]}"
        elif match := _DOWNLOADING.search(line):
            self._doing = f"downloading {match[2]} ({match[3]})"
        elif line.startswith("Installing collected packages:"):
            self._wanted = line.count(",") + 1
            self._before = self._installed()

    def __str__(self) -> str:
        if self._wanted:
            done = min(self._wanted, max(0, self._installed() - self._before))
            return f"{done} of {self._wanted} packages installed"
        return f"{len(self._names)} packages so far, {self._doing}" if self._names else self._doing

    def _installed(self) -> int:
        return sum(1 for _ in self._packages.glob("*.dist-info"))


def main(arguments: list[str]) -> int:
    """Install, show the progress on standard error, and return pip's exit code."""
    progress = Progress(Path(sysconfig.get_path("purelib")))
    print("Installing into .venv (once; it takes a few minutes)", file=sys.stderr)
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    done = threading.Event()
    showing = threading.Thread(target=show, args=(progress, done, sys.stderr))
    showing.start()
    said: deque[str] = deque(maxlen=SAID_LINES)
    try:
        with subprocess.Popen(
            [*PIP, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=environment,
        ) as pip:
            listen(pip.stdout or (), progress, said)
        code = pip.returncode
    finally:
        done.set()
        showing.join()
    if code:
        print("".join(said), end="", file=sys.stderr)
        print("pip could not install vaultseek; its last lines are above", file=sys.stderr)
    return code


def listen(lines: Iterable[str], progress: Progress, said: deque[str]) -> None:
    """Pass pip's lines to ``progress`` and keep the last ones."""
    for line in lines:
        said.append(line)
        progress.hear(line.strip())


def show(progress: Progress, done: threading.Event, out: TextIO) -> None:
    """Print the progress until ``done``."""
    began = time.monotonic()
    on_terminal = out.isatty()
    while not done.wait(TERMINAL_SECONDS if on_terminal else FILE_SECONDS):
        line = f"  {time.monotonic() - began:.0f} s: {progress}"
        if on_terminal:
            print("\r\x1b[K" + line[: shutil.get_terminal_size().columns - 1], end="", file=out, flush=True)
        else:
            print(line, file=out, flush=True)
    if on_terminal:
        print("\r\x1b[K", end="", file=out, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
