"""The versions of what vaultseek is built on, read from what pip installed; nothing is imported for it."""

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
    "networkx",
    "tree-sitter",
    "tree-sitter-markdown",
    "watchdog",
    "pydantic",
    "numpy",
    "mcp",
)


def versions() -> dict[str, str | None]:
    """Python's and each engine's version by name; None for what is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    found: dict[str, str | None] = {"Python": platform.python_version()}
    for name in ENGINES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found
