"""Vaults and directories for tests, each made in one expression."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def write_files(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write ``files`` below ``root``, making folders as needed, and return ``root``."""
    root.mkdir(exist_ok=True)
    for path, content in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def own_directories(home: Path) -> dict[str, str]:
    """Make the directories of the program below ``home`` and return the environment that names them."""
    runtime = home / "runtime"
    runtime.mkdir(mode=0o700)
    homes = {f"XDG_{name}_HOME": str(home / name.lower()) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    return homes | {"XDG_RUNTIME_DIR": str(runtime)}
