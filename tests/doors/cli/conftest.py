"""A program run in an empty home."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """``run("search", "x")`` in an empty home; keywords are environment variables."""
    work = tmp_path / "work"
    work.mkdir()

    def run_in_empty_home(
        *arguments: str, input: str = "", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        ours = {name: value for name, value in os.environ.items() if not name.startswith("VAULTSEEK_")}
        return subprocess.run(
            [sys.executable, "-m", "vaultseek", *arguments],
            cwd=work,
            env={**ours, "HOME": str(tmp_path), "PYTHONIOENCODING": "utf-8", **environment},
            input=input,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )

    return run_in_empty_home
