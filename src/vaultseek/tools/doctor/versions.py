"""The versions of Python and the dependencies, from package metadata, without importing them."""

from __future__ import annotations

import platform

ENGINES = (
    "chromadb",
    "llama-index-core",
    "sentence-transformers",
    "transformers",
    "torch",
    "tokenizers",
    "whoosh-reloaded",
    "tree-sitter",
    "tree-sitter-markdown",
    "watchdog",
    "pydantic",
    "numpy",
    "mcp",
)


def versions() -> dict[str, str | None]:
    """Return the versions of Python and of each dependency by name; None if it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    installed: dict[str, str | None] = {"Python": platform.python_version()}
    for name in ENGINES:
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            installed[name] = None
    return installed
