"""Measure how long the daemon takes to read and embed a vault, alone and with a Ray cluster.

    python scripts/bench_ray.py VAULT [--model NAME] [--address ADDRESS]

The daemon indexes a copy of the vault alone; then ``vaultseek index --ray ADDRESS`` indexes it again, with
"local" as the default address. A cluster on the same machine shares its processors, so it is not faster. The
daemon also embeds, so the processor time of its processes includes its own vectors. Notes read before the
cluster has started are not counted, so the vault should contain at least ten thousand. The model "hashing"
excludes the time for vectors.
"""

import argparse
import contextlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psutil

sys.path.insert(0, str(Path(__file__).parent))

from benchmark.notes import copy_notes
from benchmark.worlds import World

POLL_SECONDS = 0.2
_NOTHING = {"notes": 0, "embeddings_computed": 0, "state": "indexing"}


class Moment(NamedTuple):
    """Progress of the index, and the processor time that the daemon and its processes have spent."""

    time: float
    notes: int
    vectors: int
    processor: float


class Stretch(NamedTuple):
    """Two phases of a run: reading ends at ``read``, embedding at ``end``."""

    begin: Moment
    read: Moment
    end: Moment


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("vault", type=Path)
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--address", default="local")
    options = parser.parse_args()
    ways = {"alone": ["--wait"], f"Ray at {options.address}": ["--ray", options.address]}
    print("| | notes/s | processor time a note | texts/s | processor time a text |")
    print("|---|---|---|---|---|")
    for name, way in ways.items():
        with tempfile.TemporaryDirectory(prefix="vs-ray-", ignore_cleanup_errors=True) as folder:
            print(_row(name, _indexed(Path(folder), options.vault, options.model, way)), flush=True)


def _indexed(folder: Path, source: Path, model: str, way: Sequence[str]) -> Stretch:
    world = World(folder, model)
    copy_notes(source, world.vault)
    try:
        _now(world)
        command = [sys.executable, "-m", "vaultseek", "index", *way, "--vault", str(world.vault)]
        with subprocess.Popen(
            command, env=world.home.variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as run:
            return _followed(world, run, connected="--wait" in way)
    finally:
        world.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _followed(world: World, run: subprocess.Popen[str], *, connected: bool) -> Stretch:
    """Poll the progress of the command until it ends."""
    said: list[str] = []
    listener = threading.Thread(target=lambda: said.extend(run.stderr or ()), daemon=True)
    listener.start()
    begin = _now(world)[0] if connected else None
    read = None
    while run.poll() is None:
        moment, state = _now(world)
        if begin is None and any("of Ray" in line for line in said):
            begin = moment
        if begin is not None and read is None and state == "ready":
            read = moment
        time.sleep(POLL_SECONDS)
    listener.join()
    end = _now(world)[0]
    if run.returncode or begin is None:
        sys.exit("".join(said))
    return Stretch(begin, read or end, end)


def _now(world: World) -> tuple[Moment, str]:
    vaults: list[Any] = world.client.call("index/status", {})["vaults"]
    vault: dict[str, Any] = vaults[0] if vaults else _NOTHING
    return (
        Moment(time.monotonic(), vault["notes"], vault["embeddings_computed"], _processor_seconds(world)),
        vault["state"],
    )


def _processor_seconds(world: World) -> float:
    """Return the processor time of the daemon and all its child processes, including ended ones."""
    seconds = 0.0
    for process in world.daemon.processes() if world.daemon else ():
        with contextlib.suppress(psutil.Error):
            spent = process.cpu_times()
            seconds += spent.user + spent.system + spent.children_user + spent.children_system
    return seconds


def _row(name: str, run: Stretch) -> str:
    notes, texts = run.read.notes - run.begin.notes, run.end.vectors - run.read.vectors
    reading, embedding = run.read.time - run.begin.time, run.end.time - run.read.time
    cells = (
        f"{notes / reading:,.0f}" if notes else "-",
        f"{(run.read.processor - run.begin.processor) / notes * 1000:.2f} ms" if notes else "-",
        f"{texts / embedding:,.0f}" if texts else "-",
        f"{(run.end.processor - run.read.processor) / texts * 1000:.2f} ms" if texts else "-",
    )
    return f"| {name} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
