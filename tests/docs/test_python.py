"""The examples of docs/python.md: they run on the sample vault, and their types are right."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from vaultseek.client import Client, launch
from vaultseek.client.methods import Methods

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
}
"""A line that each example prints, by its heading."""


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The sample vault, taken in by a daemon with the bundled model."""
    root = Path(shutil.copytree(PROJECT / "tests" / "data" / "vault", tmp_path / "notes"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("VAULTSEEK_MODEL__NAME", "bundled")
    launch.start_daemon([sys.executable, "-m", "vaultseek", "serve"], tmp_path / "daemon.log", 30)
    with Client() as client:
        client.wait(vault=str(root), timeout=100)
        yield root
        client.shutdown()


def heading_of(example: str) -> str:
    """Return the heading that an example stands under."""
    return re.findall(r"^## (.+)$", PAGE[: PAGE.index(example)], re.MULTILINE)[-1]


@pytest.mark.model
def test_the_examples_print_what_they_promise(notes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [heading_of(example) for example in EXAMPLES] == list(PRINTED)
    for example in EXAMPLES:
        exec(compile(example.replace("/home/ana/notes", str(notes)), "example", "exec"), {})
        assert re.search(PRINTED[heading_of(example)], capsys.readouterr().out, re.MULTILINE), example


def test_the_types_of_the_examples_are_right(tmp_path: Path) -> None:
    for number, example in enumerate(EXAMPLES):
        (tmp_path / f"example_{number}.py").write_text(example, encoding="utf-8")
    config = [
        "--strict",
        "--config-file",
        str(PROJECT / "pyproject.toml"),
        "--cache-dir",
        str(tmp_path / "cache"),
    ]
    files = [str(file) for file in sorted(tmp_path.glob("example_*.py"))]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *config, *files],
        capture_output=True,
        text=True,
        cwd=PROJECT,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_the_page_names_every_method() -> None:
    methods = {name for name in vars(Methods) if not name.startswith("_")}
    assert {name for name in methods if f"`{name}`" not in PAGE} <= {
        "call",
        "schema",
        "shutdown",
        "unsubscribe",
    }
