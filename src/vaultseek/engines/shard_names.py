"""The names of shards, each kept in the folder of the index that is written to it."""

from __future__ import annotations

import re
import uuid
from pathlib import Path

from vaultseek.base import paths


def shard_name(name: str, folder: Path) -> str:
    """Return the name of a vault in an engine that others use as well; it stays when the vault is renamed."""
    file = paths.private_directory(folder) / "shard"
    try:
        _given[file] = file.read_text().strip()
        return _given[file]
    except OSError:
        if file in _given:  # the folder was deleted while its vault was open
            paths.write_atomically(file, _given[file])
            return _given[file]
        plain = re.sub(r"[^A-Za-z0-9]+", "-", name)[:40].strip("-") or "vault"
        shard = f"{plain}-{uuid.uuid4().hex[:12]}"
        paths.write_atomically(file, shard)
        _given[file] = shard
        return shard


def forget_name(folder: Path) -> None:
    """Forget the shard's name that is kept in a folder, which is to be deleted: another vault has it."""
    _given.pop(folder / "shard", None)


_given: dict[Path, str] = {}
"""Names of shards by their files, of this process."""
