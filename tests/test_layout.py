"""The layout explains the program: imports go one way, each engine has one adapter, nothing is too large."""

from __future__ import annotations

import ast
import os
import re
import socket
import subprocess
import sys
import threading
from collections import Counter, defaultdict
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from vaultseek.wire.frame import encode
from vaultseek.wire.protocol import answer

SOURCE = Path(__file__).parent.parent / "src" / "vaultseek"
ORDER = [
    ["__init__", "errors", "expendable", "failpoints", "kinds", "limits", "patterns", "text", "threads"],
    ["model", "paths"],
    ["languages"],
    ["models"],
    ["settings"],
    ["query"],
    ["markdown"],
    ["vault"],
    ["extractors"],
    ["index"],
    ["worker"],
    ["indexing"],
    ["search"],
    ["notes"],
    ["tables"],
    ["wire", "messages"],
    ["client", "client_async"],
    ["evaluate"],
    ["daemon"],
    ["cluster", "doctor", "llama", "lsp", "mcp", "ui"],
    ["cli"],
    ["__main__"],
]
"""A module imports from its own group or from groups further up."""

ENGINES = {
    "whoosh": {"index/keyword/commits.py", "languages/stems.py"},
    "chromadb": {"index/vectors/chroma.py"},
    "llama_index": {"llama.py", "models/served.py"},
    "huggingface_hub": {"models/fetch.py"},
    "pymilvus": {
        "index/backend/lite_main.py",
        "index/backend/milvus_channel.py",
        "index/backend/milvus_client.py",
        "index/backend/milvus_connection.py",
    },
    "milvus_lite": {"index/backend/lite_main.py"},
    "mcp": {"mcp/http.py", "mcp/server.py"},
    "uvicorn": {"ui/server.py", "wire/http.py"},
    "starlette": {"mcp/http.py", "ui/application.py", "ui/gate.py"},
    "markdown_it": {"ui/notation.py", "ui/rendering.py"},
    "nh3": {"ui/rendering.py"},
    "pygls": {
        "lsp/commands.py",
        "lsp/documents.py",
        "lsp/renaming.py",
        "lsp/server.py",
        "lsp/session.py",
    },
    "tree_sitter": {"markdown/blocks.py"},
    "tree_sitter_markdown": {"markdown/blocks.py"},
    "watchdog": {"vault/watch.py"},
    "yaml": {"markdown/yamlcore.py"},
    "sentence_transformers": {"models/embed.py", "models/rerank.py"},
    "tomlkit": {"settings/edit.py"},
    "prometheus_client": {"daemon/team/metrics.py", "daemon/team/metrics_server.py"},
    "prompt_toolkit": {"cli/live/screen.py"},
    "simsimd": {"index/vectors/matrix.py"},
    "torch": {"models/bert_torch.py"},
    "onnxruntime": {"models/bert_onnx.py"},
    "html_to_markdown": {"extractors/page.py"},
    "orgparse": {"extractors/org.py"},
    "pypdfium2": {"extractors/pdf.py"},
    "ray": {"cluster/ray_cluster.py"},
    "rapidocr": {"extractors/picture.py"},
    "tokenizers": {"models/bert.py", "models/tokens.py"},
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
"""Modules that a search on the command line does without; each takes milliseconds to import."""
NEEDED_TO_SEARCH = {
    *("errors", "limits", "paths", "text"),
    *("wire.reach", "wire.frame", "wire.protocol", "client.caller", "client.conversation"),
    *("cli.main", "cli.exit_codes", "cli.garbage", "cli.output", "cli.connect", "cli.invocation"),
    *("cli.search_arguments", "cli.search_call", "cli.shell_settings", "cli.terminal"),
}
HEAVY_FOR_THE_DAEMON = (
    "torch",
    "onnxruntime",
    "simsimd",
    "chromadb",
    "llama_index",
    "sentence_transformers",
    "transformers",
    "pymilvus",
)


TESTS = Path(__file__).parent
TESTS_OF_NO_FOLDER = {"faults", "conformance", "data", "docs", "e2e", "scripts"}
MAX_PUBLIC_MEMBERS = 20
TRANSLATED = re.compile(r"(What|That|Who|Whether|Why|So many|How)\b")
"""First words of a docstring that begins with neither a verb nor a noun."""


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def relative(file: Path) -> str:
    return file.relative_to(SOURCE).as_posix()


def name_of(file: Path) -> str:
    """Return the module's name below ``vaultseek``, which is ``__init__`` itself."""
    return relative(file).removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def group_of(name: str) -> int:
    top = name.split(".")[0]
    return next(index for index, group in enumerate(ORDER) if top in group)


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


@cache
def imports_of(file: Path) -> frozenset[str]:
    """Return every name that a file imports, also within functions: modules and what is taken from them."""
    names: set[str] = set()
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(names)


def graph_of_files() -> dict[str, set[str]]:
    """Return the modules of ours that each module imports; ``from folder import module`` is the module."""
    known = {name_of(file) for file in modules()}

    def module(imported: str) -> str:
        name = imported.removeprefix("vaultseek.")
        if name not in known:
            name = name.rpartition(".")[0] or "__init__"
        assert name in known, f"{imported} is no module and not in one"
        return name

    return {
        name_of(file): {module(name) for name in imports_of(file) if name.startswith("vaultseek.")}
        for file in modules()
    }


def graph_of_folders() -> dict[str, set[str]]:
    graph: dict[str, set[str]] = defaultdict(set)
    for name, imported in graph_of_files().items():
        top = name.split(".")[0]
        graph[top] |= {other.split(".")[0] for other in imported} - {top}
    return graph


def test_imports_go_one_way():
    assert [
        f"{name} imports {other}, which stands further down"
        for name, imported in graph_of_files().items()
        for other in imported
        if not other.startswith("__") and group_of(other) > group_of(name)
    ] == []


@pytest.mark.parametrize("graph", [graph_of_files, graph_of_folders])
def test_no_imports_run_in_a_circle(graph):
    try:
        TopologicalSorter(graph()).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


def test_no_folder_has_a_single_module():
    folders = Counter(file.parent for file in modules() if file.name != "__init__.py")
    assert [relative(folder) for folder, count in folders.items() if count == 1] == []


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
        if folder.parts and folder.parts[0] not in TESTS_OF_NO_FOLDER and not (SOURCE / folder).is_dir()
    }
    assert unknown == set()


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


@pytest.mark.parametrize("start", ["vaultseek.daemon.main", "vaultseek.cli.main", "vaultseek.notes.inspect"])
def test_nothing_heavy_is_loaded_outside_the_worker(start):
    program = f"import sys, {start}; print([n for n in {HEAVY_FOR_THE_DAEMON!r} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("module", ["pydantic", "rich", "asyncio", "numpy", "yaml", "whoosh"])
def test_a_command_that_asks_the_daemon_imports_little(module):
    program = f"import sys, vaultseek.client, vaultseek.cli.commands.search; print({module!r} in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("options", [[], ["--json"], ["--paths"]])
def test_a_search_in_a_process_of_its_own_imports_only_what_it_needs(tmp_path, options):
    imported = imported_by_search(tmp_path, options)
    assert imported & SLOW_TO_IMPORT == set()
    page = set() if options else {"cli.listing", "cli.search_page"}
    ours = {name.removeprefix("vaultseek.") for name in imported if name.startswith("vaultseek.")}
    assert ours - {"cli", "client", "wire"} == NEEDED_TO_SEARCH | page


def imported_by_search(folder: Path, options: list[str]) -> set[str]:
    """Return the modules that ``vaultseek search`` imports, with a daemon that has one result."""
    place = folder / "vaultseek" / "daemon.sock"
    place.parent.mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(place))
        listening.listen()
        daemon = threading.Thread(target=answer_search, args=(listening,))
        daemon.start()
        command = [sys.executable, "-X", "importtime", "-m", "vaultseek", "search", "x", *options]
        usual = {name: value for name, value in os.environ.items() if not name.startswith("VAULTSEEK_")}
        environment = usual | {"XDG_RUNTIME_DIR": str(folder)}
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
