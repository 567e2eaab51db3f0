"""The configuration file while the daemon runs: read again when it has changed."""

from __future__ import annotations

import os
from pathlib import Path

from vaultseek import config, paths
from vaultseek.config import Settings


class SettingsFile:
    """Knows the settings that were read last and notices another version of the file."""

    def __init__(self, path: Path | None) -> None:
        self.path = Path(os.path.abspath(path or paths.config_file()))  # noqa: PTH100 - absolute, links kept
        self._required = path is not None
        self._stamp: tuple[int, int, int] | None = None

    def read(self) -> Settings:
        """Read the file now. Raises ConfigError."""
        self._stamp = self._now()
        return config.load(self.path if self._required else None)

    def changed(self) -> Settings | None:
        """The settings if the file is another than when it was read last, else None. Raises ConfigError."""
        before = self._stamp
        if self._now() == before:
            return None
        try:
            return self.read()
        except BaseException:
            # Until the file is mended, every request shall say what is wrong with it.
            self._stamp = before
            raise

    def exists(self) -> bool:
        """Whether there is a file; without one the defaults hold."""
        return self.path.exists()

    def _now(self) -> tuple[int, int, int] | None:
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns
