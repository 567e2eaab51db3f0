"""A real Chromium, and a ``vaultseek ui`` for it to open."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NO_CHROMIUM = "needs Chromium: apt-get install chromium"
FOREIGN = "notes.example"
"""A foreign host name that the tests' browser resolves to this computer, as if a name server were hostile."""
WIDE, NARROW, PHONE = ({"width": width, "height": 800} for width in (1280, 360, 390))
_ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/#token=([\w-]+)")


class Served:
    """The command ``vaultseek ui``, as it runs in a terminal."""

    def __init__(self, environment: Mapping[str, str], *arguments: str, cwd: Path) -> None:
        command = [sys.executable, "-m", "vaultseek", "ui", "--no-browser", *arguments]
        self.process = subprocess.Popen(
            command, env=dict(environment), cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        first = self.process.stdout.readline()
        match = _ADDRESS.search(first)
        if match is None:
            raise AssertionError(f"no address: {first}{self.process.communicate(timeout=30)[1]}")
        self.address = match[0]
        self.port, self.token = int(match[1]), match[2]
        self.root = f"http://127.0.0.1:{self.port}"

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(number)
        self.process.communicate(timeout=60)
        return self.process.returncode


@contextmanager
def served(environment: Mapping[str, str], *arguments: str, cwd: Path) -> Iterator[Served]:
    """Run ``vaultseek ui`` while the context lasts."""
    page = Served(environment, *arguments, cwd=cwd)
    try:
        yield page
    finally:
        if page.process.poll() is None:
            page.end()


@contextmanager
def chromium(arguments: Sequence[str] = ()) -> Iterator[Any]:
    """Run a headless browser while the context lasts."""
    from playwright.sync_api import sync_playwright

    # Chromium's own sandbox refuses to run as root, as tests in a container do.
    flags = [f"--host-resolver-rules=MAP {FOREIGN} 127.0.0.1", *arguments]
    if os.geteuid() == 0:
        flags.append("--no-sandbox")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        try:
            yield browser
        finally:
            browser.close()
