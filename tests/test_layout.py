"""The layout is the explanation: imports go one way, and each engine stands behind its one module."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "vaultseek"
ORDER = [
    ["__init__", "errors", "failpoints", "limits", "text"],
    ["model", "paths"],
    ["models"],
    ["settings"],
    ["query"],
    ["markdown"],
    ["vault"],
    ["index"],
    ["worker"],
    ["indexing"],
    ["search"],
    ["notes"],
    ["wire", "messages"],
    ["client", "client_async"],
    ["evaluate"],
    ["daemon"],
    ["doctor", "llama", "mcp"],
    ["cli"],
    ["__main__"],
]
"""A module imports from its own group or from groups further up."""

ENGINES = {
    "whoosh": {"index/keyword/commits.py", "index/keyword/analysis.py"},
    "chromadb": {"index/vectors/chroma.py"},
    "llama_index": {"index/vectors/chroma.py", "llama.py", "models/embed.py"},
    "huggingface_hub": {"models/fetch.py"},
    "mcp": {"mcp/server.py"},
    "networkx": {"index/graph.py"},
    "tree_sitter": {"markdown/blocks.py"},
    "tree_sitter_markdown": {"markdown/blocks.py"},
    "watchdog": {"vault/watch.py"},
    "yaml": {"markdown/yamlcore.py"},
    "sentence_transformers": {"models/embed.py", "models/rerank.py"},
    "tomlkit": {"settings/edit.py"},
    "torch": {"models/bert.py"},
    "tokenizers": {"models/bert.py", "models/tokens.py"},
}
HEAVY_FOR_THE_DAEMON = ("torch", "chromadb", "llama_index", "sentence_transformers", "transformers")


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def group_of(name: str) -> int:
    top = name.split(".")[0]
    return next(i for i, group in enumerate(ORDER) if top in group)


def imports_of(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            if node.module == "vaultseek":
                yield from (f"vaultseek.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("file", modules(), ids=lambda file: str(file.relative_to(SOURCE)))
def test_imports_go_one_way(file):
    own = group_of(file.relative_to(SOURCE).with_suffix("").as_posix().replace("/", "."))
    for imported in imports_of(file):
        if imported.startswith("vaultseek."):
            name = imported.removeprefix("vaultseek.")
            if not name.startswith("__"):
                assert group_of(name) <= own, f"imports {imported}, which stands further down"


@pytest.mark.parametrize("engine", ENGINES)
def test_each_engine_stands_behind_its_own_module(engine):
    users = {
        str(file.relative_to(SOURCE))
        for file in modules()
        if any(name == engine or name.startswith(engine + ".") for name in imports_of(file))
    }
    assert users == ENGINES[engine]


@pytest.mark.parametrize("start", ["vaultseek.daemon.main", "vaultseek.cli.main", "vaultseek.notes.inspect"])
def test_nothing_heavy_is_loaded_outside_the_worker(start):
    program = f"import sys, {start}; print([n for n in {HEAVY_FOR_THE_DAEMON!r} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("module", ["pydantic", "rich", "asyncio", "numpy", "yaml", "whoosh"])
def test_a_search_on_the_command_line_imports_little(module):
    program = f"import sys, vaultseek.client, vaultseek.cli.commands.search; print({module!r} in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
