"""The disk of the indexes is full when the daemon starts, or while it indexes."""

import contextlib
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from daemons import eventually
from running import Running
from vaultseek.errors import VaultseekError

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def small_disk(running):
    """A function that starts a vault's daemon with its indexes on a separate disk of 6 MiB."""
    try:
        subprocess.run(["unshare", "-Urm", "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("user namespaces are not allowed here")

    def start(files, filler: int) -> tuple[Running, Path]:
        each = running(files)
        data = each.place / "data"
        data.mkdir(exist_ok=True)
        script = (
            f"mount -t tmpfs -o size=6m tmpfs {data} && chmod 700 {data}"
            f" && head -c {filler} /dev/zero > {data}/filler; exec {sys.executable} -m vaultseek serve"
        )
        each.process = psutil.Popen(["unshare", "-Urm", "sh", "-c", script], env=each.daemon.environment)
        # Only the daemon sees the disk, so its files and its socket are reached through its process.
        disk = Path(f"/proc/{each.process.pid}/root{data}")
        each.socket = disk / each.daemon.socket.relative_to(data)
        eventually(each.answers_calls, "the daemon answers", 90)
        return each, disk

    return start


@pytest.mark.fault("B2")
def test_b2_a_disk_that_is_full_at_the_start_is_tried_again(small_disk):
    each, disk = small_disk({"a.md": "granite"}, 8_000_000)
    with pytest.raises(VaultseekError) as refusal, each.client() as client:
        client.refresh(vault=str(each.root))
    assert "full" in str(refusal.value)
    (disk / "filler").unlink()
    settles_soon(each)
    assert each.paths("granite") == ["a.md"]


@pytest.mark.fault("B1")
def test_b1_a_disk_that_is_full_while_notes_are_indexed_costs_no_answer_and_no_restart(small_disk):
    each, disk = small_disk({"a.md": "granite"}, 0)
    settles_soon(each)
    process = each.process
    fill(disk / "filler")
    for number in range(40):
        (each.root / f"{number}.md").write_text(f"basalt {number} " + "lava " * 2000)
    eventually(lambda: each.status()["state"] == "disk_full", "the full disk is noticed", 90)
    assert each.paths("granite") == ["a.md"]
    assert "full" in each.status()["reason"]
    (disk / "filler").unlink()
    settles_soon(each)
    assert sorted(each.paths("basalt")) == sorted(f"{number}.md" for number in range(40))
    assert each.status()["state"] == "ready"
    assert each.process is process
    assert each.is_alive()


def fill(file: Path) -> None:
    """Write to the file until there is no space left."""
    with file.open("wb", buffering=0) as stream, contextlib.suppress(OSError):
        while True:
            stream.write(bytes(4096))


def settles_soon(running: Running) -> None:
    eventually(lambda: settles(running), "everything is indexed", 90)


def settles(running: Running) -> bool:
    try:
        running.settle()
    except (VaultseekError, OSError):
        return False
    return True
