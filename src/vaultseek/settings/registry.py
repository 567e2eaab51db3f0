"""The registry: vaults added with ``vault add``, and paused vaults, in a JSON file of the daemon."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from vaultseek.base import paths
from vaultseek.settings.model import VaultSettings


@dataclass(frozen=True, slots=True)
class RegisteredVaults:
    """The content of the registry. Paths are absolute and resolved."""

    vaults: tuple[VaultSettings, ...] = ()
    paused: frozenset[Path] = frozenset()

    def with_vault(self, vault: VaultSettings) -> RegisteredVaults:
        """Return the registry with ``vault`` added, or replaced if its path is there already."""
        others = tuple(other for other in self.vaults if other.path != vault.path)
        return replace(self, vaults=(*others, vault))

    def without(self, path: Path) -> RegisteredVaults:
        """Return the registry without the vault at ``path``, which is no longer paused either."""
        others = tuple(vault for vault in self.vaults if vault.path != path)
        return RegisteredVaults(others, self.paused - {path})

    def with_paused(self, path: Path, *, paused: bool) -> RegisteredVaults:
        """Return the registry with the vault at ``path`` paused or not."""
        return replace(self, paused=self.paused | {path} if paused else self.paused - {path})


def registry_file() -> Path:
    """Return the path of the registry, beside the indexes."""
    return paths.data_directory() / "vaults.json"


def read_registry(file: Path | None = None) -> RegisteredVaults:
    """Read the registry; an empty one if the file is missing or damaged."""
    try:
        data = paths.read_json(file or registry_file())
        paused = frozenset(Path(path) for path in data["paused"])
        return RegisteredVaults(tuple(_vaults(data["vaults"])), paused)
    except (OSError, ValueError, KeyError, TypeError):
        return RegisteredVaults()


def write_registry(registry: RegisteredVaults, file: Path | None = None) -> None:
    """Replace the file atomically. Raises OSError and leaves the old file unchanged."""
    file = file or registry_file()
    paths.private_directory(file.parent)
    data = {
        "vaults": [vault.model_dump(mode="json", exclude_defaults=True) for vault in registry.vaults],
        "paused": sorted(map(str, registry.paused)),
    }
    paths.write_atomically(file, json.dumps(data, ensure_ascii=False, indent=1))


def _vaults(entries: Sequence[Any]) -> list[VaultSettings]:
    vaults = []
    for entry in entries:
        with contextlib.suppress(ValidationError):
            vaults.append(VaultSettings.model_validate(entry))
    return vaults
