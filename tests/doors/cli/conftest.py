"""A program run in an empty home."""

import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from worlds import run_alone

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """``run("search", "x")`` in an empty home; keywords are environment variables."""
    work = tmp_path / "work"
    work.mkdir()
    return partial(run_alone, tmp_path, cwd=work)
