"""Rows: indexing, alone, during searches and compared with qmd; saves; idling."""

import contextlib
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmark.figures import MILLISECONDS, Figure, Times, number
from benchmark.notes import GeneratedNotes, copy_notes
from benchmark.registry import row
from benchmark.rows_filter import save
from benchmark.worlds import LARGE, Bench, World
from vaultseek.client import Client

SHORT_NOTES, FULL_SHORT_NOTES = 40_000, 167_000
NOTES_A_SECOND = 800
BUSY_P95_MS = 100.0
BESIDE_NOTES = 10_000
BESIDE_SECONDS = 40.0
LINKED_NOTES = 6_571
LINKED_SOURCES = (
    "scale/eips",
    "vaults/dendron-site",
    "vaults/obsidian-tasks",
    "vaults/logseq-docs",
    "vaults/foam",
)
WAIT_SECONDS = 25.0
COSTLESS = "hashing"
QMD, NODE = "@tobilu/qmd@2.8.3", "22.23.3"
IDLE_SECONDS = 30.0


@row("indexing")
def indexing(bench: Bench) -> Iterator[Figure]:
    """Indexing of short generated notes until all can be found by word, with keyword searches meanwhile."""
    count = 600 if bench.quick else FULL_SHORT_NOTES if bench.full else SHORT_NOTES
    world = bench.new_world("indexing", COSTLESS)
    GeneratedNotes(count).write(world.vault)
    queries = world.texts.queries(400, seed=51)
    client = world.client  # starts the daemon
    began = time.perf_counter()
    client.call("search", _by_word(world, queries[0]))
    with _searching(world, queries) as times:
        client.call("index/refresh", {"vault": str(world.vault)}, timeout=None)
        seconds = time.perf_counter() - began
    rate = count / seconds
    part = "" if count >= FULL_SHORT_NOTES else f" (of {FULL_SHORT_NOTES:,})"
    yield Figure(
        "indexing",
        f"{count:,} short notes{part} indexed by word",
        f"{rate:.0f} notes a second",
        target=f"≥ {NOTES_A_SECOND} a second",
        met=rate >= NOTES_A_SECOND,
        numbers={"notes": count, "seconds": seconds, "per_second": rate},
    )
    busy = Times.of(times)
    yield Figure(
        "indexing",
        "keyword search during this indexing",
        str(busy),
        target=f"p95 < {BUSY_P95_MS:g} ms",
        met=busy.p95 < BUSY_P95_MS,
        numbers=busy.numbers("search"),
    )
    bench.forget("indexing")


@row("hybrid-beside")
def hybrid_beside(bench: Bench) -> Iterator[Figure]:
    """Hybrid searches of the large vault while the same daemon indexes another vault from scratch."""
    world = bench.large()
    other = bench.folder / "beside"
    bench.copied(LARGE, other, 100 if bench.quick else BESIDE_NOTES, GeneratedNotes(BESIDE_NOTES))
    notes = sum(1 for _ in other.rglob("*.md"))
    queries = world.texts.queries(1_000, seed=61)
    world.client.call("vault/add", {"path": str(other), "name": "beside"})
    times: list[float] = []
    began = time.monotonic()
    while time.monotonic() - began < BESIDE_SECONDS and (len(times) % 20 or _is_pending(world, other)):
        start = time.perf_counter()
        world.search(queries[len(times) % len(queries)])
        times.append((time.perf_counter() - start) * MILLISECONDS)
        time.sleep(0.05)
    world.client.call("vault/remove", {"vault": "beside", "delete_index": True})
    shutil.rmtree(other)
    busy = Times.of(times)
    yield Figure(
        "hybrid-beside",
        f"hybrid search, {world.notes:,} notes, while {notes:,} others are indexed and embedded",
        str(busy),
        target=f"p95 < {BUSY_P95_MS:g} ms",
        met=busy.p95 < BUSY_P95_MS,
        numbers=busy.numbers("search"),
    )


def _is_pending(world: World, vault: Path) -> bool:
    """Return true while the vault is being read or embedded."""
    status = world.client.call("index/status", {"vault": str(vault)})["vaults"][0]
    return status["state"] == "indexing" or bool(status["pending"]) or not status["notes"]


@row("index-wait")
def index_wait(bench: Bench) -> Iterator[Figure]:
    """``vaultseek index --wait`` for linked notes, including the daemon's start but not embedding."""
    world = bench.new_world("index-wait", COSTLESS)
    size = _linked(bench, world.vault)
    began = time.perf_counter()
    assert world.client, "the daemon did not start"
    done = world.home.run("index", "--wait", "--vault", str(world.vault))
    seconds = time.perf_counter() - began
    assert done.returncode == 0, done.stderr
    passages = world.client.call("index/status", {"vault": str(world.vault)})["vaults"][0]["chunks"]
    goal = f"≤ {WAIT_SECONDS:g} s"
    yield Figure(
        "index-wait",
        f"`index --wait`, {world.notes:,} notes ({size:.0f} MB, {passages:,} passages), without embedding",
        f"{seconds:.1f} s",
        target=goal,
        met=seconds <= WAIT_SECONDS,
        numbers={"seconds": seconds, "notes": world.notes, "passages": passages, "megabytes": size},
    )
    bench.forget("index-wait")


@row("qmd")
def qmd(bench: Bench) -> Iterator[Figure]:
    """Time until a new vault is searchable by word, compared with ``qmd collection add`` for the same
    notes."""
    world = bench.new_world("qmd")
    size = _linked(bench, world.vault)
    reference = _qmd(bench, world.vault)
    began = time.perf_counter()
    world.client.call("index/refresh", {"vault": str(world.vault)}, timeout=None)
    seconds = time.perf_counter() - began
    yield Figure(
        "qmd",
        f"time until a new vault of {world.notes:,} notes ({size:.0f} MB) is searchable by word",
        f"{seconds:.1f} s",
        reference if isinstance(reference, str) else f"`qmd collection add` ({QMD}): {reference:.1f} s",
        "faster than qmd",
        None if isinstance(reference, str) else seconds / reference,
        None if isinstance(reference, str) else seconds < reference,
        {"seconds": seconds, "qmd": reference, "notes": world.notes, "megabytes": size},
    )
    bench.forget("qmd")


def _linked(bench: Bench, target: Path) -> float:
    """Fill ``target`` with 6,571 linked notes; return their size in megabytes."""
    wanted = 200 if bench.quick else LINKED_NOTES
    if bench.data is None:
        GeneratedNotes(wanted, 5, 90).write(target)
    for source in (*LINKED_SOURCES, LARGE):
        left = wanted - sum(1 for _ in target.rglob("*.md"))
        if bench.data is not None and left > 0 and (bench.data / source).is_dir():
            copy_notes(bench.data / source, target / Path(source).name, left)
    return sum(path.stat().st_size for path in target.rglob("*.md")) / 1e6


def _qmd(bench: Bench, vault: Path) -> float | str:
    """Return the seconds that qmd takes, or the reason why it cannot be measured."""
    folder = bench.folder / "qmd-program"
    folder.mkdir(exist_ok=True)
    processor = "arm64" if os.uname().machine in ("arm64", "aarch64") else "x64"
    platform = f"node-{os.uname().sysname.lower()}-{processor}"
    bench.say(f"  npm installs {QMD}")
    install = ["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--ignore-scripts"]
    try:
        subprocess.run([*install, QMD, f"{platform}@{NODE}"], capture_output=True, check=True, timeout=300)
    except (OSError, subprocess.SubprocessError) as error:
        return f"qmd could not be installed: {type(error).__name__}"
    modules = folder / "node_modules"
    variables = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    variables["PATH"] = f"{modules / platform / 'bin'}{os.pathsep}{variables['PATH']}"
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        variables[name] = str(folder / name.lower())
        Path(variables[name]).mkdir()
    add = [str(modules / ".bin" / "qmd"), "collection", "add", str(vault), "--name", "bench"]
    began = time.perf_counter()
    done = subprocess.run(add, env=variables, capture_output=True, text=True, check=False, timeout=600)
    seconds = time.perf_counter() - began
    shutil.rmtree(folder)
    return seconds if done.returncode == 0 else f"qmd failed: {done.stderr[-100:]}"


@row("save")
def saves(bench: Bench) -> Iterator[Figure]:
    """Time from the end of a change until an answer reflects it: a saved note, a deleted note, a moved
    folder."""
    world = bench.large()
    written = save(world, 20)
    yield Figure(
        "save", "time until a saved note is found by word", str(written), numbers=written.numbers("save")
    )
    note = next(world.vault.glob("saved *.md"))
    word = note.read_text(encoding="utf-8").split()[1]
    began = time.perf_counter()
    note.unlink()
    _until(lambda: not world.client.call("search", _by_word(world, word))["results"])
    gone = (time.perf_counter() - began) * MILLISECONDS
    yield Figure(
        "save", "time until a deleted note leaves the results", f"{gone:.0f} ms", numbers={"ms": gone}
    )
    yield _moved(world)


def _moved(world: World) -> Figure:
    """Move the folder with the most notes and back."""
    status = {"vault": str(world.vault)}
    folders = {path.parent for path in world.vault.rglob("*.md")} - {world.vault}
    largest = max(folders, key=lambda folder: sum(1 for _ in folder.glob("*.md")))
    notes = sum(1 for _ in largest.glob("*.md"))
    world.index()  # earlier saves may still be in progress
    before = world.client.call("index/status", status)["vaults"][0]["embeddings_computed"]
    began = time.perf_counter()
    moved = largest.rename(world.vault / "moved folder")
    world.index()
    seconds = time.perf_counter() - began
    computed = world.client.call("index/status", status)["vaults"][0]["embeddings_computed"] - before
    moved.rename(largest)
    world.index()
    what = f"{seconds:.1f} s, {computed} texts embedded"
    return Figure("save", f"folder of {notes:,} notes moved", what, numbers={"seconds": seconds})


@row("idle")
def idle(bench: Bench) -> Iterator[Figure]:
    """Processor time of daemon and worker while nothing happens."""
    world = bench.large()
    assert world.daemon is not None
    time.sleep(3)
    processes = world.daemon.processes()
    before = sum(sum(process.cpu_times()[:2]) for process in processes)
    seconds = 2.0 if bench.quick else IDLE_SECONDS
    time.sleep(seconds)
    share = 100 * (sum(sum(process.cpu_times()[:2]) for process in processes) - before) / seconds
    yield Figure(
        "idle", "processor use when idle", f"{number(share)} % of one core", numbers={"percent": share}
    )


@row("parse")
def parse(bench: Bench) -> Iterator[Figure]:
    """Processor time for parsing and splitting notes on one core."""
    from vaultseek.content.markdown.chunk import chunk
    from vaultseek.content.markdown.decode import decode
    from vaultseek.content.markdown.parse import parse as parse_note
    from vaultseek.semantic.models.directories import bundled_directory
    from vaultseek.semantic.models.tokens import TokenCounter

    folder = bench.folder / "parse"
    size = _linked(bench, folder)
    count = TokenCounter.from_tokenizer_file(bundled_directory() / "tokenizer.json")
    notes = [(path.relative_to(folder).as_posix(), path.read_bytes()) for path in folder.rglob("*.md")]
    began = time.process_time()
    parsed = []
    for path, data in notes:
        text, problems = decode(data)
        parsed.append(parse_note(text, path, problems))
    split_from = time.process_time()
    for note in parsed:
        chunk(note, count, 254)
    ended = time.process_time()
    rates = {"parsed": size / (split_from - began), "parsed and split": size / (ended - began)}
    for what, rate in rates.items():
        yield Figure(
            "parse", f"notes {what} on one core", f"{rate:.1f} MB/s", numbers={"mb_per_second": rate}
        )
    shutil.rmtree(folder)


def _by_word(world: World, query: str) -> dict[str, object]:
    return {"query": query, "vault": str(world.vault), "mode": "keyword", "limit": 10}


@contextlib.contextmanager
def _searching(world: World, queries: list[str]) -> Iterator[list[float]]:
    """Search by word ten times a second with a separate client; yield the list of times in milliseconds."""
    times: list[float] = []
    stop = threading.Event()

    def search() -> None:
        with Client(world.home.socket, timeout=600) as client:
            while not stop.wait(0.1):
                began = time.perf_counter()
                client.call("search", _by_word(world, queries[len(times) % len(queries)]))
                times.append((time.perf_counter() - began) * MILLISECONDS)

    thread = threading.Thread(target=search)
    thread.start()
    try:
        yield times
    finally:
        stop.set()
        thread.join()


def _until(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not seen within {seconds:g} s")
        time.sleep(0.002)
