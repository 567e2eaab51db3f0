"""Measure a running daemon on a vault of your choice: indexing, saves, renames, restarts, idling.

    scripts/bench_daemon.py DIR [--notes N] [--saves N] [--model NAME] [--idle SECONDS]

Copies up to N notes of DIR into a temporary vault, runs a daemon in temporary directories and prints one line
per figure. With ``--model hashing`` embedding costs next to nothing, so the figures show the cost of
everything else.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from vaultseek.client import Client

QUERIES = [
    "list files",
    "compress an archive",
    "git",
    "network interface",
    "remove old package",
    "convert image",
]


def main() -> None:
    """Run every measurement."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("folder", type=Path)
    options.add_argument("--notes", type=int, default=20_000)
    options.add_argument("--saves", type=int, default=40)
    options.add_argument("--model", default="hashing")
    options.add_argument("--idle", type=float, default=0)
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="vaultseek-bench-") as place:
        vault = copy(arguments.folder, Path(place) / "vault", arguments.notes)
        measure(vault, environment(Path(place), arguments.model), arguments.saves, arguments.idle)


def copy(source: Path, target: Path, most: int) -> Path:
    """Copy up to ``most`` notes, folders kept."""
    notes = sorted(path for path in source.rglob("*.md") if path.is_file())[:most]
    for path in notes:
        place = target / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
    print(f"vault: {len(notes)} notes, {sum(path.stat().st_size for path in notes) / 1e6:.1f} MB")
    return target


def environment(place: Path, model: str) -> dict[str, str]:
    """Make directories for the daemon and return the environment that names them."""
    variables = dict(os.environ) | {"VAULTSEEK_MODEL__NAME": model}
    for name in ("CONFIG_HOME", "DATA_HOME", "STATE_HOME", "CACHE_HOME", "RUNTIME_DIR"):
        folder = place / name.lower()
        folder.mkdir(mode=0o700)
        variables[f"XDG_{name}"] = os.environ[f"XDG_{name}"] = str(folder)
    return variables


def measure(vault: Path, variables: dict[str, str], saves: int, idle: float) -> None:
    """Print all figures of one vault."""
    with daemon(variables) as process:
        client = Client(timeout=600)
        build(client, vault, process)
        search_speed(client, vault)
        freshness(client, vault, saves)
        deletion(client, vault)
        rename_folder(client, vault)
        if idle:
            idling(process, idle)
    with daemon(variables):
        began = time.monotonic()
        client = Client(timeout=600)
        answer = client.call("search", {"query": "list files", "vault": str(vault), "mode": "keyword"})
        print(
            f"restart: first answer {time.monotonic() - began:.2f} s after the socket, "
            f"{len(answer['results'])} results"
        )
        client.call("index/refresh", {"vault": str(vault)})
        print(f"restart: compared with the disk after {time.monotonic() - began:.2f} s")


@contextmanager
def daemon(variables: dict[str, str]) -> Iterator[psutil.Process]:
    """Run a daemon as a child of this script."""
    began = time.monotonic()
    process = subprocess.Popen([sys.executable, "-m", "vaultseek", "serve"], env=variables)
    wait(lambda: reachable(), "the socket")
    print(f"start: socket answers after {time.monotonic() - began:.2f} s")
    try:
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(30)


def reachable() -> bool:
    """Return true if a daemon answers."""
    from vaultseek.errors import VaultseekError

    try:
        Client(timeout=5).close()
    except (VaultseekError, OSError):
        return False
    return True


def build(client: Client, vault: Path, process: psutil.Process) -> None:
    """Time an empty index until it is keyword-searchable and fully embedded, searching meanwhile."""
    params = {"query": "list files", "vault": str(vault), "mode": "keyword"}
    began = time.monotonic()
    client.call("search", params)
    latencies: list[float] = []
    memory: list[int] = []
    stop = threading.Event()
    watcher = threading.Thread(target=load, args=(params, latencies, memory, process, stop))
    watcher.start()
    client.call("index/refresh", {"vault": str(vault)}, timeout=None)
    searchable = time.monotonic() - began
    stop.set()
    watcher.join()
    print(f"build: all notes keyword-searchable after {searchable:.1f} s")
    print(
        f"build: keyword searches meanwhile: {figures(latencies)}; daemon at most {max(memory) / 1e6:.0f} MB"
    )
    client.call("index/wait", {"vault": str(vault)}, timeout=None)
    print(f"build: every vector stored after {time.monotonic() - began:.1f} s")


def load(
    params: dict[str, Any],
    latencies: list[float],
    memory: list[int],
    process: psutil.Process,
    stop: threading.Event,
) -> None:
    """Search again and again, as an impatient user would."""
    client = Client(timeout=600)
    number = 0
    while not stop.wait(0.1):
        number += 1
        began = time.monotonic()
        client.call("search", params | {"query": QUERIES[number % len(QUERIES)]})
        latencies.append(time.monotonic() - began)
        memory.append(process.memory_info().rss)


def search_speed(client: Client, vault: Path) -> None:
    """Print the latency of searches in an idle daemon."""
    for mode in ("keyword", "semantic", "hybrid"):
        latencies = []
        for number in range(60):
            began = time.monotonic()
            client.call("search", {"query": QUERIES[number % 6], "vault": str(vault), "mode": mode})
            latencies.append(time.monotonic() - began)
        print(f"search: {mode}: {figures(latencies)}")


def freshness(client: Client, vault: Path, saves: int) -> None:
    """Time from the end of a write to the first answer that has the note."""
    for mode in ("keyword", "semantic"):
        latencies = []
        for number in range(saves):
            word = f"quux{mode}{number}x"
            note = vault / f"fresh-{number}.md"
            note.write_text(f"# {word}\n\nA note about {word} and nothing else.\n")
            began = time.monotonic()
            wait(
                lambda word=word, mode=mode, note=note: first(client, vault, word, mode) == note.name,
                "a save",
            )
            latencies.append(time.monotonic() - began)
        print(f"save to searchable ({mode}): {figures(latencies)}")


def deletion(client: Client, vault: Path) -> None:
    """Time from a deletion to the first answer without the note."""
    latencies = []
    for number in range(10):
        note = vault / f"fresh-{number}.md"
        word = f"quuxsemantic{number}x"
        note.unlink()
        began = time.monotonic()
        wait(lambda word=word, note=note: first(client, vault, word, "keyword") != note.name, "a deletion")
        latencies.append(time.monotonic() - began)
    print(f"deletion to gone: {figures(latencies)}")


def rename_folder(client: Client, vault: Path) -> None:
    """Move the folder with the most notes."""
    folders = [path for path in vault.rglob("*") if path.is_dir()]
    largest = max(folders, key=lambda path: sum(1 for _ in path.glob("*.md")))
    notes = sum(1 for _ in largest.glob("*.md"))
    before = status(client, vault)["embeddings_computed"]
    began = time.monotonic()
    largest.rename(vault / "moved folder")
    client.call("index/wait", {"vault": str(vault)}, timeout=None)
    now = status(client, vault)
    computed = now["embeddings_computed"] - before
    print(f"folder of {notes} notes moved: {time.monotonic() - began:.1f} s, {computed} embeddings computed")


def idling(process: psutil.Process, seconds: float) -> None:
    """Print the processor time of daemon and worker while nothing happens."""
    time.sleep(2)
    everybody = [process, *process.children(recursive=True)]
    before = sum(sum(p.cpu_times()[:2]) for p in everybody)
    time.sleep(seconds)
    spent = sum(sum(p.cpu_times()[:2]) for p in everybody) - before
    print(f"idle: {100 * spent / seconds:.2f} % of one core over {seconds:.0f} s")


def status(client: Client, vault: Path) -> dict[str, Any]:
    """Return the vault's status."""
    vault_status: dict[str, Any] = client.call("index/status", {"vault": str(vault)})["vaults"][0]
    return vault_status


def first(client: Client, vault: Path, query: str, mode: str) -> str | None:
    """Return the path of the first result."""
    answer = client.call("search", {"query": query, "vault": str(vault), "mode": mode, "limit": 1})
    return answer["results"][0]["path"] if answer["results"] else None


def figures(latencies: list[float]) -> str:
    """Format median, 95th percentile and maximum in milliseconds."""
    ordered = sorted(latencies)
    late = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    middle = statistics.median(ordered)
    spread = f"p95 {late * 1e3:.0f} ms, max {ordered[-1] * 1e3:.0f} ms"
    return f"p50 {middle * 1e3:.0f} ms, {spread} (n={len(ordered)})"


def wait(condition: Callable[[], bool], what: str, seconds: float = 60) -> None:
    """Poll until the condition is true; exit if that takes too long."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"{what} was not seen within {seconds} s")
        time.sleep(0.01)


if __name__ == "__main__":
    main()
