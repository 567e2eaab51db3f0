"""The examples of docs/python.md: they run on the sample vault, and their types are right."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import client_types
import pytest

from vaultseek.client import Client, launch
from vaultseek.client.answers import FullResult
from vaultseek.protocol.messages.methods import METHODS

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "python.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
PRINTED = {
    "Search": r"^1\.00  Areas/Garden/Slimy Visitors\.md:\d+  Slimy Visitors$",
    "Types of the answers": r"^Projects/Sump/Float Switch Wiring\.md ",
    "Notes, links, tags": r"^Projects/Sump/Float Switch Wiring\.md \{.*\} \d+$",
    "Errors": r"^not_found$",
    "With asyncio": r"^E-4107 → Reference/E-4107\.md$",
    "Without a daemon": r"^1\.00  Areas/Garden/Slimy Visitors\.md:\d+  Slimy Visitors$",
}
"""A line of each example's output, by its heading."""
WRONG = """
import asyncio
from vaultseek.client import AsyncClient, Client

def blocking(client: Client) -> str:
    client.search("pump", limt=3)
    client.note(5)
    return client.why("pump", path="Sump")["verdict"]

async def awaited(client: AsyncClient) -> int:
    found, paused = await asyncio.gather(client.search("pump"), client.pause_vault("notes"))
    return paused["paused"] + found["count"] + found["results"][0]["preview"]
"""
"""A program with a wrong parameter, a value of the wrong type and a field of the wrong type."""


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The notes of the sample vault that the examples name, indexed with the bundled model."""
    root, sample = tmp_path / "notes", PROJECT / "tests" / "data" / "vault"
    for folder in ("Areas/Garden", "Projects/Sump"):
        shutil.copytree(sample / folder, root / folder)
    (root / "Reference").mkdir()
    for file in (sample / "Reference").glob("E-4*.md"):
        shutil.copy(file, root / "Reference")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("VAULTSEEK_MODEL__NAME", "bundled")
    launch.start_daemon([sys.executable, "-m", "vaultseek", "serve"], tmp_path / "daemon.log", 30)
    with Client() as client:
        client.wait(vault=str(root), timeout=100)
        yield root
        client.shutdown()


def heading_of(example: str) -> str:
    """Return the heading above an example."""
    return re.findall(r"^## (.+)$", PAGE[: PAGE.index(example)], re.MULTILINE)[-1]


@pytest.mark.model
@pytest.mark.timeout(300)
def test_the_examples_print_what_they_promise(notes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [heading_of(example) for example in EXAMPLES] == list(PRINTED)
    for example in EXAMPLES:
        own = example.replace("/home/ana/notes", str(notes)).replace("/tmp/notes-index", f"{notes}-index")
        exec(compile(own, "example", "exec"), {})
        assert re.search(PRINTED[heading_of(example)], capsys.readouterr().out, re.MULTILINE), example


def checked(folder: Path, *command: str) -> tuple[set[tuple[str, str]], str]:
    """Return file and line of each error that a type checker finds in the examples, and the checker's
    output."""
    client_types.write()
    (folder / "wrong.py").write_text(WRONG, encoding="utf-8")
    for number, example in enumerate(EXAMPLES):
        (folder / f"example_{number}.py").write_text(example, encoding="utf-8")
    files = [str(file) for file in sorted(folder.glob("*.py"))]
    done = subprocess.run(
        [*command, *files], capture_output=True, text=True, cwd=PROJECT, check=False, timeout=100
    )
    errors = (line.strip().split(":") for line in done.stdout.splitlines() if " error: " in line)
    return {(Path(file).name, line) for file, line, *_ in errors}, done.stdout + done.stderr


WRONG_LINES = {("wrong.py", line) for line in ("6", "7", "12")}


def test_the_types_of_the_examples_are_right_and_wrong_ones_are_found(tmp_path: Path) -> None:
    config = ["--strict", "--config-file", str(PROJECT / "pyproject.toml")]
    cache = ["--cache-dir", str(tmp_path / "cache")]
    errors, output = checked(tmp_path, sys.executable, "-m", "mypy", *config, *cache)
    assert errors == WRONG_LINES, output


def test_another_type_checker_finds_the_same(tmp_path: Path) -> None:
    """Pyright, unlike mypy, also refuses fields of an answer that may be missing."""
    pytest.importorskip("pyright", reason="pyright, of the extra dev, is not installed")
    errors, output = checked(tmp_path, sys.executable, "-m", "pyright", "--pythonpath", sys.executable)
    if " errors, " not in output:
        pytest.skip(f"pyright fetches its program when it first runs: {output[-200:]}")
    assert errors == WRONG_LINES, output


def test_the_examples_take_only_fields_of_a_result_that_are_always_there() -> None:
    """Type checkers other than mypy refuse the other fields."""
    taken = {name for example in EXAMPLES for name in re.findall(r"""result\[["'](\w+)["']\]""", example)}
    assert {"start_line", "heading_path"} <= taken <= FullResult.__required_keys__


def test_the_page_names_every_method() -> None:
    names = {method.python[0] for method in METHODS.values() if method.call}
    unnamed = {name for name in names if f"`{name}`" not in PAGE}
    assert unnamed <= {"schema", "shutdown", "unsubscribe"}
