"""Removing vaultseek while a daemon runs."""

import subprocess
from pathlib import Path

import psutil
import pytest

from daemons import eventually


@pytest.mark.fault("L13")
def test_a_running_daemon_is_stopped_and_leaves_only_the_notes(daemon, vault):
    root = daemon.indexed(vault({"Secret.md": "# Secret\n\nxylophone\n"}))
    pid = daemon.pid()
    shown = daemon.run("uninstall", input="n\n")
    assert shown.returncode == 0, shown.stderr
    assert "to remove: the daemon, which is stopped first\n" in shown.stdout
    assert daemon.pid() == pid
    unanswered = daemon.run("uninstall", stdin=subprocess.DEVNULL)
    assert unanswered.returncode == 2
    assert unanswered.stdout.endswith("Remove this? [y/N]: \n")
    assert unanswered.stderr == "vaultseek: no answer was given; answer y in a terminal, or add --yes\n"
    done = daemon.run("uninstall", "--yes")
    assert done.returncode == 0, done.stderr
    assert f"not touched: the notes in {root}\n" in done.stdout
    eventually(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    for name in ("CONFIG", "DATA", "STATE"):
        assert not Path(daemon.environment[f"XDG_{name}_HOME"], "vaultseek").exists()
    assert [file.name for file in root.iterdir()] == ["Secret.md"]
