"""Detect a renamed vault folder, so that the vault keeps its index.

Each index records the device and inode of its vault's folder. If a vault folder without an index has the
device and inode recorded for a folder that no longer exists, it is that folder, renamed. Nothing is written
into the vault.
"""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from vaultseek.base import paths
from vaultseek.base.model import JSON

FILE = "vault.json"
"""Name of the file in an index folder that records the vault to which the index belongs."""


def note_folder(directory: Path, root: Path) -> None:
    """Record in the index folder ``directory`` that it belongs to the vault at ``root``. Raises OSError."""
    # While the folder is missing, as on an unmounted disk, the previous record stays valid.
    identity = _identity(root) or _noted(directory).get("folder")
    paths.write_atomically(directory / FILE, json.dumps({"path": str(root), "folder": identity}))


def former_root(root: Path) -> Path | None:
    """Return the path that the vault at ``root`` had when it was last indexed; None if the vault was not
    renamed.
    """
    identity = _identity(root)
    if identity is None or paths.is_folder(paths.vault_data_directory(root)):
        return None
    for former, noted in _indexes():
        if noted == identity and not os.path.lexists(former):
            return former
    return None


def take_index(former: Path, root: Path) -> None:
    """Move the index and measurements of a renamed vault from its path ``former`` to its new path ``root``.

    Raises OSError, or AlreadyRunning if the index is open.
    """
    directory = paths.vault_data_directory(former)
    with paths.lock_directory(directory):
        directory.rename(paths.vault_data_directory(root))
    with suppress(OSError):
        paths.evaluation_directory(former).rename(paths.evaluation_directory(root))


def _identity(root: Path) -> list[int] | None:
    try:
        status = root.stat()
    except OSError:
        return None
    return [status.st_dev, status.st_ino]


def _indexes() -> Iterator[tuple[Path, object]]:
    for file in (paths.data_directory() / "vaults").glob(f"*/{FILE}"):
        noted = _noted(file.parent)
        path = Path(str(noted.get("path") or ""))
        if path.is_absolute() and paths.vault_data_directory(path) == file.parent:
            yield path, noted.get("folder")


def _noted(directory: Path) -> JSON:
    try:
        noted = paths.read_json(directory / FILE)
    except (OSError, ValueError):
        return {}
    return noted if isinstance(noted, dict) else {}
