"""A real daemon in temporary directories, stopped by its process id."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil

from vaultseek.client import Client
from vaultseek.errors import VaultseekError

START_SECONDS = 60.0
STOP_SECONDS = 30.0
DIRECTORIES = ("CONFIG_HOME", "DATA_HOME", "STATE_HOME", "CACHE_HOME")


class Home:
    """The directories of one user: settings, indexes and socket, below ``folder``."""

    def __init__(self, folder: Path, model: str | None = None) -> None:
        self.folder = folder
        # Bytecode is kept, as in normal use: a program is compiled once, not at each start.
        others = ("VAULTSEEK_", "XDG_", "PYTHONDONTWRITEBYTECODE")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(others)}
        # Everything is measured with one model, regardless of the notes' languages.
        models = {"VAULTSEEK_MODEL__NAME": model or "bundled", "VAULTSEEK_MODEL__OTHER_LANGUAGES": "off"}
        self.variables = kept | models
        for name in DIRECTORIES:
            place = folder / name.lower()
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.variables[f"XDG_{name}"] = str(place)

    @property
    def socket(self) -> Path:
        """The path of the daemon's socket."""
        return self.folder / "data_home" / "vaultseek" / "run" / "daemon.sock"

    def run(self, *command: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a vaultseek command and wait for it to end."""
        words = [sys.executable, "-m", "vaultseek", *command]
        return subprocess.run(
            words, env=self.variables, text=True, capture_output=True, check=False, **options
        )


class Daemon:
    """A daemon as a child of this script; it is stopped at the end of the ``with`` block."""

    def __init__(self, home: Home, role: str = "all") -> None:
        self.home = home
        self.began = time.perf_counter()
        words = [sys.executable, "-m", "vaultseek", "serve", "--role", role]
        self._log = (home.folder / "daemon.err").open("ab")
        self._process = subprocess.Popen(
            words, env=home.variables, stderr=self._log, stdin=subprocess.DEVNULL
        )

    def __enter__(self) -> Daemon:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def client(self, timeout: float = 900) -> Client:
        """Connect as soon as the daemon answers."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                return Client(self.home.socket, timeout=timeout)
            except (VaultseekError, OSError):
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.005)

    def processes(self) -> list[psutil.Process]:
        """Return the daemon and the processes it started."""
        with contextlib.suppress(psutil.NoSuchProcess):
            daemon = psutil.Process(self._process.pid)
            return [daemon, *daemon.children(recursive=True)]
        return []

    def stop(self) -> None:
        """Stop the daemon, then its remaining child processes by id."""
        processes = self.processes()
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_SECONDS)
        for process in processes:
            with contextlib.suppress(psutil.Error):
                process.kill()
        self._process.wait()
        self._log.close()
