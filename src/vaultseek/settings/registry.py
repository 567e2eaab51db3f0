"""The vaults that were added by a command, and which vaults are paused: a small file of the daemon's own."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from vaultseek import limits, paths
from vaultseek.settings.model import VaultSettings


@dataclass(frozen=True, slots=True)
class Added:
    """What the file says. Paths are real and absolute."""

    vaults: tuple[VaultSettings, ...] = ()
    paused: frozenset[Path] = frozenset()

    def with_vault(self, vault: VaultSettings) -> Added:
        """With one more vault, in the place of another at the same path."""
        others = tuple(other for other in self.vaults if other.path != vault.path)
        return replace(self, vaults=(*others, vault))

    def without(self, path: Path) -> Added:
        """Without the vault at ``path``; that it is paused is forgotten, too."""
        kept = tuple(vault for vault in self.vaults if vault.path != path)
        return Added(kept, self.paused - {path})

    def with_paused(self, path: Path, *, paused: bool) -> Added:
        """With the vault at ``path`` paused or not."""
        return replace(self, paused=self.paused | {path} if paused else self.paused - {path})


def added_file() -> Path:
    """Where it is kept: beside the indexes."""
    return paths.data_directory() / "vaults.json"


def read_added(file: Path | None = None) -> Added:
    """What was added; nothing if there is no such file or it is damaged."""
    try:
        with (file or added_file()).open("rb") as stream:
            told = json.loads(stream.read(limits.CONFIG_BYTES))
        paused = frozenset(Path(path) for path in told["paused"])
        return Added(tuple(_vaults(told["vaults"])), paused)
    except (OSError, ValueError, KeyError, TypeError):
        return Added()


def write_added(added: Added, file: Path | None = None) -> None:
    """Replace the file at once. Raises OSError and leaves the old one as it was."""
    file = file or added_file()
    paths.private_directory(file.parent)
    told = {
        "vaults": [vault.model_dump(mode="json", exclude_defaults=True) for vault in added.vaults],
        "paused": sorted(map(str, added.paused)),
    }
    paths.replace_file(file, json.dumps(told, ensure_ascii=False, indent=1))


def _vaults(entries: Sequence[Any]) -> list[VaultSettings]:
    found = []
    for entry in entries:
        with contextlib.suppress(ValidationError):
            found.append(VaultSettings.model_validate(entry))
    return found
