"""The registry of vaults, and detection of changes to it and to the configuration file while the daemon
runs."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from vaultseek.base import paths
from vaultseek.errors import ConfigError
from vaultseek.settings.load import load
from vaultseek.settings.model import Settings, VaultSettings, vault_name

_Version = tuple[int, int, int] | None


class SettingsFile:
    """The configuration file and the registry. Detects whether either file has changed since it was read.

    The vaults in the settings come from the file and the registry; the file takes precedence.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = (path or paths.config_file()).absolute()
        self.registry = RegisteredVaults()
        self._required = path is not None
        self._set: frozenset[Path] = frozenset()
        """Folders of the vaults in the configuration file."""
        self._versions: tuple[_Version, _Version] = (None, None)

    def read(self) -> Settings:
        """Read the configuration file and the registry. Raises ConfigError."""
        self._versions = self._on_disk()
        settings = load(self.path if self._required else None)
        self.registry = read_registry()
        names = {vault.name.casefold() for vault in settings.vaults}
        roots = {vault.path for vault in settings.vaults}
        self._set = frozenset(roots)
        registered = tuple(
            vault
            for vault in self.registry.vaults
            if vault.name.casefold() not in names
            and vault.path not in roots
            # The vault exists, or its index does, which answers while the vault is not mounted.
            and any(map(paths.is_folder, (vault.path, paths.vault_data_directory(vault.path))))
        )
        return settings.model_copy(update={"vaults": (*settings.vaults, *registered)})

    def follow_rename(self, former: Path, path: Path, name: str) -> bool:
        """Change the path of a registered vault; return False if its path is set in the configuration file.

        Raises ConfigError or OSError.
        """
        registry = read_registry()
        if former in self._set:
            return False
        write_registry(registry.renamed(former, path, name))
        return True

    def has_changed(self) -> bool:
        """Return true if a file has changed since the last read. The check takes microseconds."""
        return self._on_disk() != self._versions

    def changed(self) -> Settings | None:
        """Return newly read settings if a file has changed since the last read, otherwise None. Raises
        ConfigError."""
        before = self._versions
        if not self.has_changed():
            return None
        try:
            return self.read()
        except BaseException:
            # Every request must report the error until the file is corrected.
            self._versions = before
            raise

    def _on_disk(self) -> tuple[_Version, _Version]:
        return _version(self.path), _version(registry_file())


def _version(file: Path) -> _Version:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


@dataclass(frozen=True, slots=True)
class RegisteredVaults:
    """The vaults in the registry, and the paths of paused vaults. Paths are absolute and resolved."""

    vaults: tuple[VaultSettings, ...] = ()
    paused: frozenset[Path] = frozenset()

    def with_vault(self, vault: VaultSettings) -> RegisteredVaults:
        """Return the registry with ``vault`` added, replacing a vault with the same path."""
        others = tuple(other for other in self.vaults if other.path != vault.path)
        return replace(self, vaults=(*others, vault))

    def without(self, path: Path) -> RegisteredVaults:
        """Return the registry without the vault at ``path``, which is also removed from the paused vaults."""
        others = tuple(vault for vault in self.vaults if vault.path != path)
        return RegisteredVaults(others, self.paused - {path})

    def renamed(self, former: Path, path: Path, name: str) -> RegisteredVaults:
        """Return the registry with the vault at ``former`` moved to ``path``.

        The vault gets the new ``name`` if it was named after its folder.
        """
        known = {vault.path: vault for vault in self.vaults}
        vault = known.get(former)
        if vault is None or path in known:
            return replace(self, vaults=self.without(former).vaults)
        name = name if vault.name == vault_name(former) else vault.name
        vaults = tuple(
            vault.model_copy(update={"path": path, "name": name}) if each is vault else each
            for each in self.vaults
        )
        paused = frozenset(path if each == former else each for each in self.paused)
        return RegisteredVaults(vaults, paused)

    def with_paused(self, path: Path, *, paused: bool) -> RegisteredVaults:
        """Return the registry with the vault at ``path`` paused or resumed."""
        return replace(self, paused=self.paused | {path} if paused else self.paused - {path})


def registry_file() -> Path:
    """Return the path of the registry, next to the indexes."""
    return paths.data_directory() / "vaults.json"


def read_registry() -> RegisteredVaults:
    """Read the registry; return an empty registry if the file is missing or damaged.

    Raises ConfigError if the file is unreadable, because an empty registry would later overwrite it.
    """
    try:
        data = paths.read_json(registry_file())
        paused = frozenset(Path(path) for path in data["paused"])
        vaults = []
        for entry in data["vaults"]:
            with contextlib.suppress(ValidationError):
                vaults.append(VaultSettings.model_validate(entry))
        return RegisteredVaults(tuple(vaults), paused)
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return RegisteredVaults()
    except OSError as error:
        raise ConfigError(f"{registry_file()} cannot be read: {error.strerror or error}") from None


def write_registry(registry: RegisteredVaults) -> None:
    """Replace the registry file atomically. On failure, raises OSError and leaves the old file unchanged."""
    file = registry_file()
    paths.private_directory(file.parent)
    data = {
        "vaults": [vault.model_dump(mode="json", exclude_defaults=True) for vault in registry.vaults],
        "paused": sorted(map(str, registry.paused)),
    }
    paths.write_atomically(file, json.dumps(data, ensure_ascii=False, indent=1))
