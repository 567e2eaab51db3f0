"""The engine of a vault, as its settings say, and the name by which the engine knows the vault."""

from __future__ import annotations

import re
import uuid
from dataclasses import replace
from pathlib import Path

from vaultseek.base import paths
from vaultseek.engines.milvus.backend import MilvusBackend
from vaultseek.engines.milvus.connection import check_installed
from vaultseek.settings.engine import MilvusOptions


def open_backend(options: MilvusOptions, name: str, folder: Path) -> MilvusBackend:
    """Return the engine, which connects when it is asked first.

    Raises ConfigError, one line, for settings that cannot work.
    """
    check_installed()
    options.check()
    options.token()
    return MilvusBackend(replace(options, shard=options.shard or _shard(name, folder)))


def _shard(name: str, folder: Path) -> str:
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
