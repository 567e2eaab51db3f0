"""A real daemon, asked through the real command line, in directories of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

DEADLINE = 30.0


class Daemon:
    """Runs ``vaultseek`` as a user does. ``model`` "hashing" needs no torch and starts at once."""

    def __init__(self, home: Path, model: str = "hashing") -> None:
        self.home = home
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("VAULTSEEK_")}
        self.environment["VAULTSEEK_MODEL__NAME"] = model
        self.environment["HOME"] = str(home)

    def run(self, *arguments: str, cwd: Path | None = None, **more: Any) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        environment = self.environment | more.pop("env", {})
        command = [sys.executable, "-m", "vaultseek", *arguments]
        return subprocess.run(
            command, cwd=cwd or self.home, env=environment, capture_output=True, text=True, timeout=90, **more
        )

    def json(self, *arguments: str, **more: Any) -> Any:
        """What a command prints with ``--json``; its exit code has to be 0 or 1."""
        done = self.run(*arguments, "--json", **more)
        assert done.returncode in (0, 1), done.stderr
        return json.loads(done.stdout)

    def paths(self, *arguments: str, **more: Any) -> list[str]:
        """The paths that a search finds, best first."""
        return [result["path"] for result in self.json("search", *arguments, **more)["results"]]

    def pid(self) -> int:
        """The process id of the running daemon."""
        return int(self.json("status")["daemon"]["pid"])

    def kill(self) -> None:
        """End the daemon the hard way and wait until it is gone."""
        process = psutil.Process(self.pid())
        os.kill(process.pid, signal.SIGKILL)
        psutil.wait_procs([process], timeout=DEADLINE)

    def stop(self) -> None:
        """End the daemon; it does not matter whether one runs."""
        self.run("stop")

    def log(self) -> str:
        """What the daemon wrote into its log."""
        file = Path(self.environment["XDG_STATE_HOME"]) / "vaultseek" / "daemon.log"
        return file.read_text() if file.exists() else ""


def eventually(condition: Callable[[], Any], what: str = "", seconds: float = DEADLINE) -> Any:
    """Ask until the answer is true, and return it."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < deadline, f"did not happen in {seconds} s: {what}"
        time.sleep(0.02)


@pytest.fixture(name="eventually")
def _eventually() -> Callable[..., Any]:
    return eventually


@pytest.fixture
def daemon(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Daemon]:
    """A daemon that is started by the first command and stopped at the end."""
    home = tmp_path / "home"
    home.mkdir()
    started = Daemon(home)
    yield started
    started.stop()
