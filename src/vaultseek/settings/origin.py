"""Where a setting comes from, file or environment variable, and the problem found there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vaultseek.base import limits
from vaultseek.base.text import printable
from vaultseek.settings.describe import Location, dotted_key
from vaultseek.settings.model import ENV_DELIMITER, ENV_PREFIX, EnvironmentSource, Settings


@dataclass(frozen=True, slots=True)
class SettingProblem:
    """A setting that cannot be used: its source, its key, and the expected and the actual value."""

    source: str
    """The file, or ``environment variable NAME``."""
    location: Location
    message: str
    fatal: bool = True
    """False if the daemon can run all the same, with a part of it disabled."""

    def __str__(self) -> str:
        key = f"{dotted_key(self.location)}: " if self.location else ""
        return f"{printable(self.source, limits.PATH_BYTES)}: {key}{self.message}"


class Origin:
    """The sources of the settings: the file and the environment variables that override it."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._environment = EnvironmentSource(Settings)()

    def problem(self, location: Location, message: str) -> SettingProblem:
        """Return a problem of the setting at ``location`` with the source that set it."""
        variable = self.variable(location)
        source = f"environment variable {variable}" if variable else str(self.file)
        return SettingProblem(source, location, message)

    def variable(self, location: Location) -> str | None:
        """Return the environment variable that sets ``location``, if there is one."""
        values: Any = self._environment
        for part in location:
            if not isinstance(values, dict):
                break
            if part not in values:
                return None
            values = values[part]
        names = {name.upper(): name for name in os.environ}
        for end in range(len(location), 0, -1):
            name = ENV_PREFIX + ENV_DELIMITER.join(str(part).upper() for part in location[:end])
            if name in names:
                return names[name]
        return None
