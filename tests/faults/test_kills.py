"""The daemon and each process that it starts are killed repeatedly while notes change."""

import itertools
import random
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest

from running import Running
from worlds import write_files

pytestmark = pytest.mark.slow
KILLS = 200
NOTES = 60
BURST = 450
PATIENCE = 20.0
PROCESSES = {
    "vaultseek.semantic.worker.main": "worker",
    "vaultseek.core.indexing.reader_process": "reader of notes",
    "vaultseek.content.extractors.process": "reader of files",
}
WORDS = [
    "pump",
    "valve",
    "seal",
    "rust",
    "anchor",
    "chain",
    "quartz",
    "deck",
    "winch",
    "grease",
    "chart",
    "oar",
]


def text_of(number: int, turn: int) -> str:
    """Return a note that is unlike every other, so that no two notes have equal scores."""
    chance = random.Random(1000 * turn + number)
    words = " ".join(chance.choice(WORDS) for _ in range(20 + number % 30))
    tags = "---\ntags: [boat]\n---\n" if number % 3 == 0 else ""
    link = chance.randrange(NOTES)
    return f"{tags}# Note{number} {chance.choice(WORDS)}\n\n{words} unique{number}x{turn} [[{link}]]\n"


def edit(root: Path, turn: int, chance: random.Random) -> None:
    """Write, move or delete a few notes."""
    for _ in range(3):
        number = chance.randrange(NOTES)
        plain, moved = root / f"{number}.md", root / "moved" / f"{number}.md"
        there = plain if plain.exists() else moved
        action = chance.random()
        if action < 0.15 and there.exists():
            there.unlink()
        elif action < 0.3 and there.exists():
            goal = moved if there is plain else plain
            goal.parent.mkdir(exist_ok=True)
            there.rename(goal)
        else:
            write_files(root, {str(there.relative_to(root)): text_of(number, turn)})


def burst(root: Path, turn: int) -> None:
    """Delete the last burst; then write a file, and enough notes that other processes are used to read
    them."""
    folder = root / "burst"
    delete_burst(root)
    write_files(folder, {f"{turn} {number}.md": text_of(number, turn) for number in range(BURST)})
    write_files(folder, {f"{turn}.html": f"<p>winch{turn}</p>"})


def delete_burst(root: Path) -> None:
    """Delete the notes of a burst."""
    folder = root / "burst"
    if folder.is_dir():
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()


def contents(root: Path) -> dict[Path, str]:
    """Return the texts of all notes."""
    return {file: file.read_text() for file in root.rglob("*.md")}


def processes(running: Running) -> dict[str, psutil.Process]:
    """Return one process of each kind that the daemon has started, by module name."""
    assert running.process is not None
    found: dict[str, psutil.Process] = {}
    for process in running.process.children(recursive=True):
        try:
            found |= {PROCESSES[word]: process for word in process.cmdline() if word in PROCESSES}
        except psutil.Error:
            continue  # it has just ended
    return found


def edit_often(running: Running, turns: int, killed: Counter[str] | None, seed: int = 5) -> None:
    """Change notes this many times and, if requested, kill one process at a random moment each time.

    Each kind of process takes its turn; the daemon stands in for kinds that are not running. ``killed``
    counts them.
    """
    chance, order = random.Random(seed), itertools.cycle(["daemon", *PROCESSES.values()])
    for turn in range(turns):
        if not running.is_alive():
            running.serve()
        with running.client() as client:  # which opens the vault
            client.search("pump", mode="keyword", vault=str(running.root), deadline_ms=30_000)
        edit(running.root, turn, chance)
        pause, victim = chance.random() * 0.6, next(order)
        if victim == "daemon" and turn % 2:
            delete_burst(running.root)
        else:
            burst(running.root, turn)
        if killed is None:
            edit(running.root, turn + turns, chance)
            continue
        deadline = time.monotonic() + (pause if victim == "daemon" else PATIENCE)
        while (process := processes(running).get(victim)) is None and time.monotonic() < deadline:
            time.sleep(0.01)
        edit(running.root, turn + turns, chance)
        if process is None:
            victim = "daemon"
            running.kill()
        else:
            process.kill()
        killed[victim] += 1


def survive(running, turns: int, killed: Counter[str] | None) -> None:
    """Assert that the answers equal those of a fresh index after this many edits, with a kill after each.

    ``killed`` counts the kills per kind of process; without it, none is killed.
    """
    each = running({f"{number}.md": text_of(number, 0) for number in range(NOTES)})
    each.serve()
    each.settle()
    before = contents(each.root)
    edit_often(each, turns, killed)
    delete_burst(each.root)
    assert len(before.items() - contents(each.root).items()) >= min(turns, NOTES // 2), (
        "the edits change notes"
    )
    each.kill()
    each.serve()
    each.settle()
    queries = ("unique7x0", "rust on the anchor chain", "pump valve seal", "tag:boat", "grease the winch")
    assert each.answers(queries) == each.fresh_answers(queries)
    status = each.status()
    assert (status["state"], status["problems"]) == ("ready", [])
    each.end()


@pytest.mark.fault("A1", "A9", "Invariant 3")
@pytest.mark.timeout(600)
def test_invariant_3_a_few_kills(running):
    killed: Counter[str] = Counter()
    survive(running, 5, killed)
    assert killed["daemon"] < 5


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.fault("A1", "A4", "A5", "A9", "Invariant 3")
def test_invariant_3_two_hundred_kills(running):
    killed: Counter[str] = Counter()
    survive(running, KILLS, None)
    survive(running, KILLS, killed)
    assert killed.keys() == {"daemon", *PROCESSES.values()}
