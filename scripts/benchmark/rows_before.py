"""Row: the cost of a search and of a first index, compared with a different commit of this repository on the
same Python."""

import random
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmark.daemon import Home
from benchmark.figures import Figure
from benchmark.notes import GeneratedNotes
from benchmark.registry import row
from benchmark.worlds import LARGE, LARGE_NOTES, SMALL, Bench, World

WORDS = (1, 4, 12)
BLOCK = 10
"""Number of successive searches per side, because processor time is counted in hundredths of a second."""
SHARE = 0.5
"""Maximum processor time of a search, as a share of the other commit's."""
DEARER = 1.1
"""Maximum time and size of a first index, as a share of the other commit's."""
MEGABYTE = 1e6


class OtherHome(Home):
    """Directories in which another commit's program runs."""

    def __init__(self, folder: Path, model: str | None, source: Path) -> None:
        super().__init__(folder, model)
        runtime = folder / "runtime_dir"
        runtime.mkdir(mode=0o700, exist_ok=True)
        self.variables |= {"XDG_RUNTIME_DIR": str(runtime), "PYTHONPATH": str(source)}

    @property
    def socket(self) -> Path:
        """The path of the daemon's socket, wherever that commit puts it."""
        return next(self.folder.rglob("daemon.sock"), self.folder / "daemon.sock")


@row("before")
def before(bench: Bench) -> Iterator[Figure]:
    """Processor time of the daemon and its workers: a first index, then searches in turns."""
    source = bench.folder / "before"
    source.mkdir()
    packed = subprocess.run(["git", "archive", bench.before, "src"], capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", str(source)], input=packed, check=True)
    for name, origin, notes, model in (
        ("small", SMALL, GeneratedNotes(300, 3), None),
        ("large", LARGE, GeneratedNotes(LARGE_NOTES), "hashing"),
    ):
        most = 200 if bench.quick else None
        sides = []
        for side in ("now", "before"):
            world = bench.new_world(f"{name}-{side}", model)
            bench.copied(origin, world.vault, most, notes)
            if side == "before":
                world.home = OtherHome(world.home.folder, model, source / "src")
            sides.append(world)
        now, then = sides
        yield _first_index(bench, now, then)
        for world in sides:
            world.warm_up()
        for size in WORDS:
            queries = now.texts.of_words(size, bench.queries, seed=81)
            yield _searches(bench, now, then, "keyword", f"{size} word{'s' * (size > 1)}", queries)
        yield _searches(bench, now, then, "hybrid", "hybrid", now.texts.queries(bench.queries, seed=83))
        for world in sides:
            bench.forget(world.folder.name)


def _first_index(bench: Bench, now: World, then: World) -> Figure:
    seconds, sizes = [], []
    for world in (then, now):
        world.index()
        seconds.append(_used(world))
        sizes.append(sum(file.stat().st_size for file in world.data.rglob("*") if file.is_file()) / MEGABYTE)
    (old, new), (old_size, new_size) = seconds, sizes
    return Figure(
        "before",
        f"processor time of a first index and its size, {now.notes:,} notes",
        f"{new:.1f} s, {new_size:.1f} MB",
        f"{bench.before}: {old:.1f} s, {old_size:.1f} MB",
        f"≤ {DEARER:g}x both",
        new / old,
        new <= DEARER * old and new_size <= DEARER * old_size,
        {"seconds": new, "before_seconds": old, "megabytes": new_size, "before_megabytes": old_size},
    )


def _searches(bench: Bench, now: World, then: World, mode: str, what: str, queries: Sequence[str]) -> Figure:
    spent = {now: 0.0, then: 0.0}
    for start in range(0, len(queries), BLOCK):
        for world in random.sample((now, then), 2):
            began = _used(world)
            for query in queries[start : start + BLOCK]:
                world.search(query, mode)
            spent[world] += _used(world) - began
    new, old = (spent[world] / len(queries) * 1e3 for world in (now, then))
    return Figure(
        "before",
        f"processor time of a search, {now.notes:,} notes, {what}",
        f"{new:.1f} ms",
        f"{bench.before}: {old:.1f} ms",
        f"≤ {SHARE:g}x",
        new / old,
        new <= SHARE * old,
        {"milliseconds": new, "before_milliseconds": old, "queries": len(queries)},
    )


def _used(world: World) -> float:
    """Return the processor time that the daemon and its workers have used, in seconds."""
    daemon = world.daemon
    assert daemon is not None
    return sum(sum(process.cpu_times()[:2]) for process in daemon.processes())
