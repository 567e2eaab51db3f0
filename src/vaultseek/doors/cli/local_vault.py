"""The vault used by commands that work without the daemon: ``inspect`` and ``evaluate``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.output import print_error
from vaultseek.errors import UsageError

if TYPE_CHECKING:
    from vaultseek.settings.model import VaultSettings

_MARK = ".obsidian"


def vault_of(invocation: Invocation, folder: Path) -> Path | None:
    """Return the root of the vault that a command refers to, or None.

    The option ``--vault`` determines the vault. Without this option, the vault is the nearest folder with
    ``.obsidian`` at or above ``folder``, or else the configured vault that contains ``folder``.
    """
    if invocation.vault is not None:
        return _vault_option(invocation, invocation.vault)
    marked = next((parent for parent in (folder, *folder.parents) if (parent / _MARK).is_dir()), None)
    return marked or _configured(invocation, folder)


def _vault_option(invocation: Invocation, vault: str) -> Path:
    path = Path(vault).expanduser()
    if path.name == vault:  # a single word is first tried as a name
        for known in _known_vaults(invocation):
            if known.name.casefold() == vault.casefold():
                return known.path
    if path.is_dir():
        return Path(os.path.abspath(path))
    if path.exists():
        raise UsageError(f"--vault {vault} is a file; use a folder or the name of a vault")
    similar = get_close_matches(
        vault.casefold(), [known.name.casefold() for known in _known_vaults(invocation)], 1
    )
    meant = f"did you mean {similar[0]}? " if similar else ""
    raise UsageError(
        f"--vault {vault}: no such folder or vault; {meant}list the vaults with `vaultseek vault list`"
    )


def _configured(invocation: Invocation, folder: Path) -> Path | None:
    from vaultseek.base import paths
    from vaultseek.errors import ConfigError
    from vaultseek.settings.watch import registry_file

    file = invocation.config or paths.config_file()
    if not (file.exists() or registry_file().exists() or "VAULTSEEK_VAULTS" in os.environ):
        return None
    try:
        vaults = _known_vaults(invocation)
    except ConfigError as error:
        # A note can be read without the configuration, which affects at most the targets of its links.
        print_error(f"{error}; using the note's own folder as the vault")
        return None
    real = folder.resolve()
    inside = [vault.path for vault in vaults if real.is_relative_to(vault.path)]
    return max(inside, key=lambda root: len(root.parts), default=None)


def _known_vaults(invocation: Invocation) -> Sequence[VaultSettings]:
    from vaultseek.settings.load import load
    from vaultseek.settings.watch import read_registry

    return (*load(invocation.config).vaults, *read_registry().vaults)
