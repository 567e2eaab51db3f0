"""The structure of the source: each engine has one adapter, nothing is too large, commands import little.

Imports run in one direction by the contracts in pyproject.toml, which scripts/check checks.
"""

import ast
import os
import re
import socket
import subprocess
import sys
import threading
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from vaultseek.protocol.wire.frame import encode
from vaultseek.protocol.wire.protocol import answer

SOURCE = Path(__file__).parent.parent / "src" / "vaultseek"
SERVER = SOURCE.parent / "vaultseek_server"
ENGINES = {
    "whoosh": {"store/keyword/commits.py", "content/languages/stems.py"},
    "chromadb": {"semantic/vectors/chroma.py"},
    "httpx": {"semantic/inference/served.py"},
    "llama_index": {"llama.py"},
    "huggingface_hub": {"semantic/models/fetch.py"},
    "psycopg": {"vaultseek_server/engines/postgres/server.py"},
    "mcp": {"doors/mcp/http.py", "doors/mcp/server.py"},
    "uvicorn": {"doors/ui/application.py", "protocol/wire/http.py"},
    "starlette": {"doors/mcp/http.py", "doors/ui/application.py", "doors/ui/gate.py"},
    "networkx": {"store/graph.py", "core/graph/structure.py", "core/graph/files.py"},
    "markdown_it": {"doors/ui/notation.py", "doors/ui/rendering.py"},
    "nh3": {"content/extractors/page.py", "doors/ui/rendering.py"},
    "pygls": {
        "doors/lsp/documents.py",
        "doors/lsp/server.py",
        "doors/lsp/session.py",
    },
    "tree_sitter": {"content/markdown/blocks.py"},
    "tree_sitter_markdown": {"content/markdown/blocks.py"},
    "watchdog": {"content/files/watch.py"},
    "yaml": {"content/markdown/yamlcore.py"},
    "sentence_transformers": {"semantic/inference/embed.py", "semantic/inference/rerank.py"},
    "tomlkit": {"settings/toml.py"},
    "prometheus_client": {"vaultseek_server/team/metrics.py"},
    "prompt_toolkit": {"doors/cli/live/screen.py"},
    "simsimd": {"semantic/vectors/matrix.py"},
    "torch": {"semantic/inference/bert_torch.py"},
    "onnxruntime": {"semantic/inference/bert_graph.py"},
    "markdownify": {"content/extractors/page.py"},
    "orgparse": {"content/extractors/org.py"},
    "pypdfium2": {"content/extractors/pdf.py"},
    "ray": {"tools/cluster.py"},
    "rapidocr": {"content/extractors/picture.py"},
    "tokenizers": {"semantic/inference/bert.py", "semantic/models/tokens.py"},
}
SLOW_TO_IMPORT = {
    "click",
    "dataclasses",
    "hashlib",
    "inspect",
    "logging",
    "pathlib",
    "platformdirs",
    "typing",
}
"""Modules that a command-line search must not import; each takes milliseconds."""
NEEDED_TO_SEARCH = {
    *(
        "errors",
        "base.limits",
        "base.paths",
        "base.text",
        "base.zone",
        "client.caller",
        "client.conversation",
    ),
    *("protocol.wire.reach", "protocol.wire.frame", "protocol.wire.protocol"),
    *("doors.cli.main", "doors.cli.exit_codes", "doors.cli.garbage", "doors.cli.output", "doors.cli.connect"),
    *("doors.cli.invocation", "doors.cli.arguments", "doors.cli.search_call", "doors.cli.terminal"),
}
HEAVY_FOR_THE_DAEMON = (
    "torch",
    "onnxruntime",
    "simsimd",
    "chromadb",
    "llama_index",
    "sentence_transformers",
    "transformers",
    "psycopg",
)


TESTS = Path(__file__).parent
TESTS_OF_NO_FOLDER = {"faults", "conformance", "data", "docs", "e2e", "scripts"}
MAX_PUBLIC_MEMBERS = 20
TRANSLATED = re.compile(r"(What|That|Who|Whether|Why|So many|How)\b")
"""First words of docstrings that begin with neither a verb nor a noun."""


def modules() -> list[Path]:
    return sorted((*SOURCE.rglob("*.py"), *SERVER.rglob("*.py")))


def relative(file: Path) -> str:
    """Return the path within ``vaultseek``, or within ``src`` for the other package."""
    return file.relative_to(SOURCE if file.is_relative_to(SOURCE) else SOURCE.parent).as_posix()


def name_of(file: Path) -> str:
    """Return the module's name below ``vaultseek``, or ``__init__`` for the package itself."""
    return relative(file).removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


@cache
def imports_of(file: Path) -> frozenset[str]:
    """Return every name that a file imports, including inside functions: modules and names taken from
    them."""
    names: set[str] = set()
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(names)


def test_no_folder_has_a_single_module():
    files = (*SOURCE.rglob("*"), *SERVER.rglob("*"))
    parts = Counter(part.parent for part in files if part.suffix == ".py" or is_package(part))
    assert [relative(folder) for folder, count in parts.items() if count <= 2] == []


def is_package(folder: Path) -> bool:
    return (folder / "__init__.py").exists()


def test_classes_have_few_public_members():
    large = {}
    for file in modules():
        for node in ast.walk(tree_of(file)):
            if isinstance(node, ast.ClassDef) and (count := len(public_members(node))) > MAX_PUBLIC_MEMBERS:
                large[f"{relative(file)}: {node.name}"] = count
    assert large == {}


def public_members(node: ast.ClassDef) -> set[str]:
    """Return the public methods and properties of a class, not its fields."""
    functions = (it for it in node.body if isinstance(it, ast.FunctionDef | ast.AsyncFunctionDef))
    return {function.name for function in functions if not function.name.startswith("_")}


def test_docstrings_begin_with_a_verb_or_a_noun():
    assert [
        f"{relative(file)}:{node.lineno}: {node.value.value.splitlines()[0]}"
        for file in modules()
        for node in ast.walk(tree_of(file))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        and TRANSLATED.match(node.value.value)
    ] == []


def test_tests_mirror_the_source():
    folders = {file.parent.relative_to(TESTS) for file in TESTS.rglob("test_*.py")}
    unknown = {
        str(folder)
        for folder in folders
        if folder.parts and folder.parts[0] not in TESTS_OF_NO_FOLDER and not source_of(folder).is_dir()
    }
    assert unknown == set()


def source_of(folder: Path) -> Path:
    """Return the folder of the source that the tests in a folder are about."""
    return SERVER.joinpath(*folder.parts[1:]) if folder.parts[0] == "server" else SOURCE / folder


def test_each_engine_stands_behind_its_own_module():
    users = {
        engine: {
            relative(file)
            for file in modules()
            if any(name == engine or name.startswith(engine + ".") for name in imports_of(file))
        }
        for engine in ENGINES
    }
    assert users == ENGINES


@pytest.mark.parametrize(
    "start", ["vaultseek.daemon.main", "vaultseek.doors.cli.main", "vaultseek.core.notes.inspect"]
)
def test_nothing_heavy_is_loaded_outside_the_worker(start):
    program = f"import sys, {start}; print([n for n in {HEAVY_FOR_THE_DAEMON!r} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_command_that_asks_the_daemon_imports_little():
    heavy = {"pydantic", "rich", "asyncio", "numpy", "yaml", "whoosh"}
    modules = "sys, vaultseek.client, vaultseek.doors.cli.commands.search"
    program = f"import {modules}; print({heavy} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_an_agents_server_computes_nothing_itself():
    program = "import sys, vaultseek.doors.mcp.server; print({'numpy', 'whoosh', 'sqlite3'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("options", [[], ["--json"], ["--paths"]])
def test_a_search_in_a_process_of_its_own_imports_only_what_it_needs(tmp_path, options):
    imported = imported_by_search(tmp_path, options)
    assert imported & SLOW_TO_IMPORT == set()
    page = set() if options else {"doors.cli.listing", "doors.cli.search_page"}
    ours = {name.removeprefix("vaultseek.") for name in imported if name.startswith("vaultseek.")}
    folders = {"base", "client", "doors", "doors.cli", "protocol", "protocol.wire"}
    assert ours - folders == NEEDED_TO_SEARCH | page


def imported_by_search(folder: Path, options: list[str]) -> set[str]:
    """Return the modules that ``vaultseek search`` imports, with a daemon that returns one result."""
    place = folder / "vaultseek" / "run" / "daemon.sock"
    place.parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(place))
        listening.listen()
        daemon = threading.Thread(target=answer_search, args=(listening,))
        daemon.start()
        command = [sys.executable, "-X", "importtime", "-m", "vaultseek", "search", "x", *options]
        usual = {name: value for name, value in os.environ.items() if not name.startswith("VAULTSEEK_")}
        environment = usual | {"XDG_DATA_HOME": str(folder)}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        daemon.join()
    assert "a.md" in done.stdout
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}


def answer_search(listening: socket.socket) -> None:
    """Answer ``initialize`` and ``search`` of one client."""
    results = [
        {"rank": 1, "path": "a.md", "title": "A", "score": 1.0, "modified": "2026-01-31T10:00:00+00:00"}
    ]
    client, _ = listening.accept()
    with client:
        for id, result in ((1, {"protocol_version": 1}), (2, {"vault_path": "/v", "results": results})):
            client.recv(1 << 16)
            client.sendall(encode(answer(id, result)))
