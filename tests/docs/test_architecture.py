"""The pages about the code name only what exists, and docs/architecture.md covers every folder."""

import ast
import itertools
import re
import tomllib
from functools import lru_cache
from pathlib import Path

import pytest

from vaultseek.protocol.messages.methods import METHODS

PROJECT = Path(__file__).parents[2]
SOURCE = PROJECT / "src" / "vaultseek"
ARCHITECTURE = PROJECT / "docs" / "architecture.md"
PAGES = [ARCHITECTURE, PROJECT / "CONTRIBUTING.md"]
CODE = "".join(file.read_text("utf-8") for file in sorted(SOURCE.parent.rglob("*.py")))
PATH = re.compile(r"(?:[\w.-]+/)+[\w.-]*|[\w-]+\.(?:py|md|toml|json|txt)")
OWN = re.compile(r"(src|tests|scripts|editors)/")
_SKIPPED = re.compile(r"^```.*?^```|^#[^\n]*", re.MULTILINE | re.DOTALL)


def spans(page: Path) -> list[str]:
    """The code spans of a page, without headings and fenced blocks."""
    return re.findall(r"`([^`\n]+)`", _SKIPPED.sub("", page.read_text("utf-8")))


def located(path: str) -> Path | None:
    return next((base / path for base in (SOURCE, SOURCE.parent, PROJECT) if (base / path).exists()), None)


@lru_cache
def names_in(file: Path) -> frozenset[str]:
    """The functions, classes, constants and members of a module; members follow a dot."""
    return frozenset(_names(ast.parse(file.read_text("utf-8")).body))


def _names(body: list[ast.stmt], prefix: str = "") -> list[str]:
    found = []
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.append(prefix + node.name)
        elif isinstance(node, ast.ClassDef):
            found += [prefix + node.name, *_names(node.body, f"{prefix}{node.name}.")]
        elif isinstance(node, ast.Assign):
            found += [prefix + target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.append(prefix + node.target.id)
    return found


def exists(span: str) -> bool:
    """False if the span looks like a path or a name in the code that does not exist."""
    path, colon, name = span.partition(":")
    if colon and PATH.fullmatch(path):
        file = located(path)
        return file is not None and file.is_file() and name in names_in(file)
    if PATH.fullmatch(span):
        return span in METHODS or located(span) is not None
    if re.fullmatch(r"[A-Z]+[a-z]\w*|\w+_\w+", span):
        return re.search(rf"\b{span}\b", CODE) is not None
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_path_or_name_stands_twice_in_a_row(page):
    for line in page.read_text(encoding="utf-8").splitlines():
        named = re.findall(r"`([^`]+)`", line)
        assert [one for one, other in itertools.pairwise(named) if one == other and "/" in one] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_path_and_name_exists(page):
    named = spans(page)
    assert len([span for span in named if PATH.match(span)]) > 20
    assert [span for span in named if not exists(span)] == []


def test_every_page_names_files_that_exist():
    pages = [PROJECT / "README.md", PROJECT / "CHANGELOG.md", *sorted((PROJECT / "docs").glob("*.md"))]
    named = {span.split()[0].partition(":")[0] for page in pages for span in spans(page) if OWN.match(span)}
    assert len(named) > 10
    assert [path for path in sorted(named) if located(path) is None] == []


def test_a_stale_path_or_name_is_noticed():
    for real in (
        "core/search/",
        "tests/test_layout.py",
        "note/get",
        "base/model.py:Chunk.prose_text",
        "SearchSettings",
    ):
        assert exists(real), real
    for stale in (
        "serch/",
        "tests/none.py",
        "base/model.py:Chunk.poem",
        "NoSuchClass",
        "NO_SUCH_NAME",
        "none.md",
    ):
        assert not exists(stale), stale


def test_the_tour_visits_every_room_in_the_order_of_imports():
    tour = ARCHITECTURE.read_text("utf-8").split("## The folders")[1].split("\n## ")[0]
    headings = [line for line in tour.splitlines() if line.startswith("### ")]
    visited = [name for line in headings for name in re.findall(r"`([a-z_]+)/?`", line)]
    parts = {path.stem for path in SOURCE.iterdir() if path.suffix in ("", ".py")}
    assert {part for part in parts if not part.startswith("__")} == {*visited}
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    order = [name for layer in reversed(layers) for name in layer.split(" | ")]
    assert visited == order, "headings in another order than the layers in pyproject.toml"
