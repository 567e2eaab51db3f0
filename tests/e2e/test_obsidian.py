"""The tests of the Obsidian plugin, with a real daemon over the real socket."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
NO_NODE = 3
"""Exit code of ``scripts/obsidian`` without Node 20."""

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(600)]


def test_plugin_in_a_mocked_obsidian_with_a_real_daemon():
    done = subprocess.run(
        [PROJECT / "scripts" / "obsidian", "test"],
        env=os.environ | {"VAULTSEEK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == NO_NODE:
        pytest.skip("Node 20 is not installed")
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
