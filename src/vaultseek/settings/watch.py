"""The settings while the daemon runs: of the configuration file, with the vaults that were added."""

from __future__ import annotations

from pathlib import Path

from vaultseek import paths
from vaultseek.settings import model as config
from vaultseek.settings.model import Settings
from vaultseek.settings.registry import Added, added_file, read_added, write_added

_Stamp = tuple[int, int, int] | None


class SettingsFile:
    """Knows the settings that were read last and notices another version of the file.

    The vaults of the settings are those of the file and those that were added by a command. One that was
    added and is in the file as well is the file's.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = (path or paths.config_file()).absolute()
        self.added = Added()
        self._required = path is not None
        self._stamps: tuple[_Stamp, _Stamp] = (None, None)

    def read(self) -> Settings:
        """Read the file now. Raises ConfigError."""
        self._stamps = self._now()
        settings = config.load(self.path if self._required else None)
        self.added = read_added()
        return _with_added(settings, self.added)

    def changed(self) -> Settings | None:
        """The settings if the file is another than when it was read last, else None. Raises ConfigError."""
        before = self._stamps
        if self._now() == before:
            return None
        try:
            return self.read()
        except BaseException:
            # Until the file is mended, every request shall say what is wrong with it.
            self._stamps = before
            raise

    def exists(self) -> bool:
        """Whether there is a file; without one the defaults hold."""
        return self.path.exists()

    def change_added(self, added: Added) -> None:
        """Remember the added vaults and which are paused; ``changed`` sees it. Raises OSError."""
        write_added(added)

    def _now(self) -> tuple[_Stamp, _Stamp]:
        return _stamp(self.path), _stamp(added_file())


def _stamp(file: Path) -> _Stamp:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _with_added(settings: Settings, added: Added) -> Settings:
    names = {vault.name.casefold() for vault in settings.vaults}
    roots = {vault.path for vault in settings.vaults}
    more = tuple(
        vault
        for vault in added.vaults
        if vault.name.casefold() not in names and vault.path not in roots and vault.path.is_dir()
    )
    return settings.model_copy(update={"vaults": (*settings.vaults, *more)})
