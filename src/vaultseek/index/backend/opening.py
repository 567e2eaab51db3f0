"""The engine of a vault, as its settings say, and the name by which the engine knows the vault."""

from __future__ import annotations

import re
import uuid
from dataclasses import replace
from pathlib import Path

from vaultseek import paths
from vaultseek.index.backend.milvus import MilvusBackend
from vaultseek.index.backend.milvus_client import check_installed
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
        return file.read_text().strip()
    except OSError:
        plain = re.sub(r"[^A-Za-z0-9]+", "-", name)[:40].strip("-") or "vault"
        shard = f"{plain}-{uuid.uuid4().hex[:12]}"
        paths.write_atomically(file, shard)
        return shard
