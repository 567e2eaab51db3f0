"""A year of a vault in an hour: edits, moves, kills, sleeps and full disks, with an index compared ten times.

``scripts/fault --year EDITS`` prints a row for each tenth of the year.
"""

import contextlib
import os
import random
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from running import Running
from vaultseek.base.limits import MIB
from vaultseek.base.paths import folder_bytes
from vaultseek.errors import VaultseekError

PARTS = 10
DAYS = 365
NOTES = 1000
FOLDERS = 40
ZONES = ("Europe/Berlin", "America/Los_Angeles", "Pacific/Kiritimati", "UTC")
QUERIES_TIMED = 60
IDLE_SECONDS = 20
SETTLE_SECONDS = 1200.0
WORKER = "vaultseek.semantic.worker.main"
ACTIONS = (
    ("edit", 70),
    ("create", 6),
    ("delete", 5),
    ("restore", 4),
    ("rename", 8),
    ("touch", 4),
    ("swap", 2),
)
"""Changes of one note, with their frequencies; folders are renamed and states restored once in a while."""
BASE = (
    'filters: file.hasTag("boat")\nviews:\n  - type: table\n    name: All\n    order: [file.name, rating]\n'
)


@dataclass(frozen=True)
class Row:
    """The index after a part of the year, compared with a fresh one of the same folder."""

    edits: int
    notes: int
    megabytes: float
    fresh_megabytes: float
    p50: float
    fresh_p50: float
    memory: float
    worker_memory: float
    descriptors: int
    threads: int
    inotify: int
    wakeups: float
    differences: tuple[str, ...]

    HEAD = (
        " edits  notes index MB (fresh)  p50 ms (fresh)  memory MB  worker MB"
        "  files  threads  inotify  wake-ups"
    )

    def __str__(self) -> str:
        index = f"{self.megabytes:.1f} ({self.fresh_megabytes:.1f})"
        p50 = f"{self.p50:.1f} ({self.fresh_p50:.1f})"
        return (
            f"{self.edits:>6} {self.notes:>6} {index:>16} {p50:>15} {self.memory:>10.0f} "
            f"{self.worker_memory:>10.0f} {self.descriptors:>6} {self.threads:>8} {self.inotify:>8} "
            f"{self.wakeups:>8.0f}/min" + "".join(f"\n       {difference}" for difference in self.differences)
        )


class Edits:
    """Random changes of a vault's files, as a person, a sync tool and Git make them."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self.chance = random.Random(seed)
        self.count = 0
        self.words = [self._word() for _ in range(3000)]
        self._bin: list[tuple[str, str]] = []
        self._saved = root.with_name("saved")
        for number in range(NOTES):
            self._write(root / self._folder() / f"note {number}.md")
        (root / "boats.base").write_text(BASE)
        self._notes = sorted(root.rglob("*.md"))

    def burst(self, size: int) -> None:
        """Make about ``size`` changes."""
        names, weights = zip(*ACTIONS, strict=True)
        until = self.count + size
        while self.count < until:
            name = self.chance.choices(names, weights)[0]
            if self.chance.random() < 0.002:
                name = self.chance.choice(("move_folder", "save", "go_back"))
            with contextlib.suppress(FileNotFoundError):
                self.count += getattr(self, f"_{name}")() or 1
        self._notes = sorted(self.root.rglob("*.md"))

    def query(self) -> str:
        """Return some words that notes may have."""
        return " ".join(self.chance.choices(self.words[:400], k=self.chance.randint(1, 4)))

    def _edit(self) -> None:
        self._write(self._note())

    def _create(self) -> None:
        self._write(self.root / self._folder() / f"note {self.count + NOTES}.md")

    def _delete(self) -> None:
        note = self._note()
        self._bin = [*self._bin[-50:], (note.relative_to(self.root).as_posix(), note.read_text())]
        note.unlink()

    def _restore(self) -> None:
        if self._bin:
            path, text = self._bin.pop(self.chance.randrange(len(self._bin)))
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)

    def _rename(self) -> None:
        note = self._note()
        goal = (
            self.root / self._folder() / (note.name if self.chance.random() < 0.5 else f"new {self.count}.md")
        )
        goal.parent.mkdir(parents=True, exist_ok=True)
        note.rename(goal)

    def _touch(self) -> None:
        """Give a note the time of a wrong clock, with or without changing its content."""
        note = self._note()
        if self.chance.random() < 0.5:
            self._write(note)
        moment = time.time() + self.chance.choice((-400, -1, 1, 400)) * 86400
        os.utime(note, (moment, moment))

    def _swap(self) -> None:
        """Save as some editors do: a new file takes the place of the old one."""
        note = self._note()
        other = note.with_suffix(".tmp")
        self._write(other)
        other.replace(note)

    def _move_folder(self) -> int:
        folder = self._note().parent
        if folder == self.root:
            return 0
        goal = folder.with_name(f"folder {self.count}")
        moved = len(list(folder.rglob("*.md")))
        folder.rename(goal)
        return moved

    def _save(self) -> int:
        shutil.rmtree(self._saved, ignore_errors=True)
        shutil.copytree(self.root, self._saved)
        return 0

    def _go_back(self) -> int:
        """Restore a former state of the vault, with the times of that state, as a checkout or a backup
        does."""
        if not self._saved.exists():
            return 0
        changed = 0
        for file in self.root.rglob("*.md"):
            if not (self._saved / file.relative_to(self.root)).exists():
                file.unlink()
                changed += 1
        for file in self._saved.rglob("*.md"):
            goal = self.root / file.relative_to(self._saved)
            if not goal.exists() or goal.read_bytes() != file.read_bytes():
                goal.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(file, goal)
                changed += 1
        return changed

    def _note(self) -> Path:
        return self.chance.choice(self._notes)

    def _folder(self) -> str:
        number = self.chance.randrange(FOLDERS)
        return (
            "" if number == 0 else f"folder {number % 8}/part {number}" if number % 3 else f"folder {number}"
        )

    def _write(self, file: Path) -> None:
        chance = self.chance
        file.parent.mkdir(parents=True, exist_ok=True)
        head = (
            f"---\nrating: {chance.randrange(9)}\ntags: [{chance.choice(('boat', 'house', 'trip'))}]\n---\n"
        )
        sections = [f"## {self._text(3)}\n\n{self._text(60)}\n\n" for _ in range(chance.randint(1, 3))]
        link = f"[[note {chance.randrange(NOTES)}]]"
        file.write_text(f"{head}# {file.stem}\n\n{link} unique{self.count}\n\n{''.join(sections)}")

    def _text(self, words: int) -> str:
        return " ".join(self.chance.choices(self.words, k=words))

    def _word(self) -> str:
        return "".join(self.chance.choice("bdfgklmnprstvz") + self.chance.choice("aeiou") for _ in range(3))


class Year:
    """A daemon through a year of edits; ``before`` is the source of an older version that begins it."""

    def __init__(
        self, place: Path, edits: int, *, seed: int = 1, model_part: int = -1, before: Path | None = None
    ):
        self.place = place
        self.edits = edits
        self._model_part = model_part
        self._before = before
        # The notes are in no language, so that the model for other languages would embed them as well.
        self.daemon = Running(place / "year", {}, VAULTSEEK_MODEL__OTHER_LANGUAGES="off")
        self._path = self.daemon.daemon.environment.get("PYTHONPATH", "")
        self._disk = self._mount(place / "year" / "data")
        self.files = Edits(self.daemon.root, seed)
        self.chance = random.Random(seed)
        self.searches = 0
        self.events: dict[str, int] = {}

    def run(self) -> Iterator[Row]:
        """Yield a row after each part of the year."""
        try:
            for part in range(PARTS):
                self._begin(part)
                for day in range(DAYS * part // PARTS, DAYS * (part + 1) // PARTS):
                    self._live(day, self.edits // DAYS)
                yield self._compare(part)
        finally:
            self.daemon.end()
            if self._disk:
                subprocess.run(["umount", "--lazy", str(self.place / "year" / "data")], check=False)

    def _begin(self, part: int) -> None:
        """Restart with the model and the version of this part."""
        self.daemon.end()
        model = "bundled" if part == self._model_part else "hashing"
        self.daemon.daemon.environment["VAULTSEEK_MODEL__NAME"] = model
        if self._before is not None and part in (0, PARTS // 2):
            self._count("days of an older version")
            self.daemon.daemon.environment["PYTHONPATH"] = str(self._before)
            self.daemon.serve()
            self.daemon.settle()
            self.files.burst(20)
            self.daemon.settle()
            self.daemon.end()
        self.daemon.daemon.environment["PYTHONPATH"] = self._path
        self.daemon.serve()

    def _live(self, day: int, edits: int) -> None:
        """Change notes and search, with the events of this day; at its end, do the nightly work."""
        events: dict[int, Callable[[int], None]] = {
            3: self._kill,
            10: self._sleep,
            15: self._fill,
            30: self._travel,
        }
        done, happens = 0, [event for every, event in events.items() if day % every == every - 1]
        while done < edits:
            size = min(self.chance.randint(1, 60), edits - done)
            if happens and self.chance.random() < 0.3:
                self._happen(happens.pop(), size)
            else:
                self.files.burst(size)
            done += size
            self._search()
        for event in happens:
            self._happen(event, 1)
        if not self.daemon.is_alive():
            self.daemon.serve()
        with contextlib.suppress(VaultseekError), self.daemon.client() as client:
            client.compact(vault=str(self.daemon.root))

    def _happen(self, event: Callable[[int], None], size: int) -> None:
        if not self.daemon.is_alive():
            self.daemon.serve()
        event(size)

    def _search(self) -> None:
        if not self.daemon.is_alive():
            self.daemon.serve()
        mode = self.chance.choice(("keyword", "semantic", "hybrid"))
        with contextlib.suppress(VaultseekError), self.daemon.client() as client:
            client.search(self.files.query(), mode=mode, vault=str(self.daemon.root))
            self.searches += 1

    def _kill(self, size: int) -> None:
        self.files.burst(size)
        assert self.daemon.process is not None
        children = self.daemon.process.children(recursive=True)
        victim = self.chance.choice([self.daemon.process, *children])
        self._count("kills")
        with contextlib.suppress(psutil.NoSuchProcess):
            victim.kill()
            victim.wait(30)

    def _sleep(self, size: int) -> None:
        """Stop the daemon's process while notes change, as a machine that sleeps does."""
        assert self.daemon.process is not None
        self._count("sleeps")
        self.daemon.process.send_signal(signal.SIGSTOP)
        self.files.burst(size)
        time.sleep(0.5)
        self.daemon.process.send_signal(signal.SIGCONT)

    def _fill(self, size: int) -> None:
        """Leave no room for the index while notes change, if it has a disk of its own."""
        if not self._disk:
            self.files.burst(size)
            return
        self._count("full disks")
        filler = self.place / "year" / "data" / "filler"
        with filler.open("wb", buffering=0) as stream, contextlib.suppress(OSError):
            while True:
                stream.write(bytes(1 << 16))
        self.files.burst(size)
        self._search()
        filler.unlink()

    def _travel(self, size: int) -> None:
        """Restart in another time zone."""
        self._count("zones")
        self.daemon.end()
        self.daemon.daemon.environment["TZ"] = self.chance.choice(ZONES)
        self.files.burst(size)
        self.daemon.serve()

    def _compare(self, part: int) -> Row:
        daemon = self.daemon
        settle(daemon)
        wakeups, process = self._wakeups(), daemon.process
        assert process is not None
        fresh = Running(self.place / f"fresh{part}", {})
        fresh.root = daemon.root
        fresh.daemon.environment |= {
            name: value
            for name in ("VAULTSEEK_MODEL__NAME", "VAULTSEEK_MODEL__OTHER_LANGUAGES", "TZ")
            if (value := daemon.daemon.environment.get(name))
        }
        fresh.serve()
        try:
            settle(fresh)
            differences = [
                f"{name} differ from a fresh index's"
                for name, answers in self._questions().items()
                if answers(daemon) != answers(fresh)
            ]
            p50, fresh_p50 = self._timed(daemon, fresh)
            size, fresh_size = compacted(daemon), compacted(fresh)
        finally:
            fresh.end()
            shutil.rmtree(fresh.place, ignore_errors=True)
        differences += self._audit()
        worker = [each for each in process.children(recursive=True) if WORKER in " ".join(each.cmdline())]
        return Row(
            self.files.count,
            sum(1 for _ in daemon.root.rglob("*.md")),
            size / MIB,
            fresh_size / MIB,
            p50,
            fresh_p50,
            process.memory_info().rss / MIB,
            sum(each.memory_info().rss for each in worker) / MIB,
            daemon.descriptors(),
            process.num_threads(),
            sum("inotify" in str(each.readlink()) for each in Path(f"/proc/{process.pid}/fd").iterdir()),
            wakeups,
            tuple(differences),
        )

    def _questions(self) -> dict[str, Callable[[Running], Any]]:
        queries = tuple(self.files.query() for _ in range(8))
        notes = [each.relative_to(self.daemon.root).as_posix() for each in self.files._notes[::100]]
        return {
            "answers": lambda running: running.answers(
                (*queries, "tag:boat", f"unique{self.files.count - 1}")
            ),
            "links": lambda running: links(running, notes),
            "tables": table,
        }

    def _timed(self, *daemons: Running) -> list[float]:
        """Return each daemon's median time of a search, in milliseconds, measured in turns."""
        queries = [self.files.query() for _ in range(QUERIES_TIMED)]
        times: list[list[float]] = [[] for _ in daemons]
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(each.client()) for each in daemons]
            for query in queries * 2:
                for client, measured in zip(clients, times, strict=True):
                    began = time.perf_counter()
                    client.search(query, mode="hybrid", vault=str(self.daemon.root))
                    measured.append(1000 * (time.perf_counter() - began))
        return [statistics.median(measured[QUERIES_TIMED:]) for measured in times]

    def _audit(self) -> list[str]:
        findings = self.daemon.daemon.json("doctor", "--audit", "--no-worker")["findings"]
        return [
            f"doctor: {each['check']}: {each['message']}"
            for each in findings
            if each["status"] == "broken" or (each["check"].startswith("audit") and each["status"] != "ok")
        ]

    def _wakeups(self) -> float:
        """Return the wake-ups per minute of the idle daemon and its children."""
        time.sleep(3)
        before = self._switches()
        time.sleep(IDLE_SECONDS)
        return (self._switches() - before) * 60 / IDLE_SECONDS

    def _switches(self) -> int:
        assert self.daemon.process is not None
        processes = [self.daemon.process, *self.daemon.process.children(recursive=True)]
        tasks = [task for each in processes for task in Path(f"/proc/{each.pid}/task").glob("*/status")]
        lines = [line for task in tasks for line in task.read_text().splitlines()]
        return sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switches"))

    def _count(self, event: str) -> None:
        self.events[event] = self.events.get(event, 0) + 1

    @staticmethod
    def _mount(data: Path) -> bool:
        """Give the index a disk of its own. Only root can do this."""
        data.mkdir(mode=0o700, exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", "size=400m,mode=700", "tmpfs", str(data)]
        try:
            return subprocess.run(command, check=False, capture_output=True).returncode == 0
        except OSError:
            return False


def links(running: Running, notes: list[str]) -> list[Any]:
    """Return the links to and from some notes, the links without a target, and the tags."""
    with running.client() as client:
        vault = str(running.root)
        ends = [(client.outgoing(note, vault=vault), client.backlinks(note, vault=vault)) for note in notes]
        return _without_creation([ends, client.unresolved(limit=100, vault=vault), client.tags(vault=vault)])


def table(running: Running) -> Any:
    """Return the rows of the vault's base."""
    with running.client() as client:
        return _without_creation(client.table(file="boats.base", vault=str(running.root))["tables"])


def _without_creation(answer: Any) -> Any:
    """Return an answer without times of creation: only an old index knows when it first saw a note."""
    if isinstance(answer, dict):
        return {key: _without_creation(value) for key, value in answer.items() if key != "created"}
    return [_without_creation(each) for each in answer] if isinstance(answer, list | tuple) else answer


def compacted(running: Running) -> int:
    """Return the bytes of the index after the work of each night."""
    with running.client() as client:
        client.compact(vault=str(running.root))
    settle(running)
    return folder_bytes(running.index)


def settle(running: Running) -> None:
    """Wait until everything is indexed and embedded, which takes minutes with a model."""
    with running.client() as client:
        client.refresh(vault=str(running.root), timeout=SETTLE_SECONDS)
        client.wait(vault=str(running.root), timeout=SETTLE_SECONDS)


def live(
    edits: int, report: Callable[[object], object], *, before: Path | None = None, model_part: int = 3
) -> tuple[list[Row], str]:
    """Live a year, report a row for each part, and return the rows and a sentence on the events."""
    with tempfile.TemporaryDirectory(prefix="vaultseek-year-") as folder:
        year = Year(Path(folder), edits, model_part=model_part, before=before)
        report(Row.HEAD)
        rows = []
        for row in year.run():
            rows.append(row)
            report(row)
        events = "".join(f", {number} {name}" for name, number in year.events.items())
        return rows, f"{year.files.count:,} edits, {year.searches:,} searches{events}"


PANELS: tuple[tuple[str, str, str | None], ...] = (
    ("index, MB", "megabytes", "fresh_megabytes"),
    ("search p50, ms", "p50", "fresh_p50"),
    ("memory, MB", "memory", None),
)
WIDTH, HEIGHT, LEFT, GAP = 720, 110, 150, 20
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#24292f}polyline{fill:none;stroke:#0969da;stroke-width:2}"
    ".fresh{stroke-dasharray:5 4;stroke:#8c959f}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.aged{stroke:#58a6ff}}"
)


def draw(rows: list[Row]) -> str:
    """Return the year as an SVG with a panel each for size, time and memory; fresh indexes are dashed."""
    height = len(PANELS) * (HEIGHT + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        "<title>An index over a year of edits, and fresh indexes of the same notes (dashed)</title>",
        f"<style>{STYLE}</style>",
    ]
    for place, (title, field, fresh) in enumerate(PANELS):
        top = place * (HEIGHT + GAP)
        lines = {"aged": field} | ({"fresh": fresh} if fresh else {})
        most = max(getattr(row, name) for row in rows for name in lines.values())
        parts += [
            f'<text x="0" y="{top + HEIGHT / 2:.0f}">{title}</text>',
            f'<text x="{LEFT - 8}" y="{top + 15}" text-anchor="end">{most:.0f}</text>',
            f'<text x="{LEFT - 8}" y="{top + HEIGHT}" text-anchor="end">0</text>',
        ]
        for kind, name in lines.items():
            places = [
                (
                    LEFT + (WIDTH - LEFT) * row.edits / rows[-1].edits,
                    top + HEIGHT - shown * (HEIGHT - 10) / most,
                )
                for row in rows
                if (shown := getattr(row, name)) is not None
            ]
            points = " ".join(f"{x:.0f},{y:.0f}" for x, y in places)
            parts.append(f'<polyline class="{kind}" points="{points}"/>')
    return "\n".join([*parts, "</svg>", ""])
