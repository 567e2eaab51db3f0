"""Ten thousand edits and searches, and a vault of a hundred thousand notes. Takes minutes."""

from __future__ import annotations

import random

import psutil
import pytest

from daemons import eventually
from vaultseek.limits import MIB

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(3000)]
EDITS = 10_000
MANY_NOTES = 100_000
WORDS = ["pump", "valve", "seal", "rust", "anchor", "chain", "quartz", "deck", "winch", "grease"]


def memory(running) -> float:
    """Return the memory of the daemon alone, in MiB."""
    return psutil.Process(running.process.pid).memory_info().rss / MIB


def edit_and_search(running, edits: int, chance: random.Random) -> None:
    with running.client() as client:
        for number in range(edits):
            words = " ".join(chance.choice(WORDS) for _ in range(30))
            (running.root / f"{chance.randrange(200)}.md").write_text(f"# Note {number}\n\n{words}\n")
            client.search(words[:20], vault=str(running.root), mode="keyword" if number % 2 else "hybrid")
            if number % 200 == 0:
                client.refresh(vault=str(running.root), timeout=300)
    running.settle()


@pytest.mark.model
@pytest.mark.fault("J1", "J2", "J3")
def test_j1_memory_files_and_log_do_not_grow(running):
    each = running({"a.md": "granite"}, VAULTSEEK_MODEL__NAME="all-MiniLM-L6-v2")
    each.serve()
    each.settle()
    chance = random.Random(1)
    edit_and_search(each, EDITS // 5, chance)
    before = memory(each), each.descriptors(), len(each.daemon.log())
    edit_and_search(each, EDITS, chance)
    after = memory(each), each.descriptors(), len(each.daemon.log())
    assert after[0] - before[0] < 30, "MiB of memory"
    assert after[1] - before[1] <= 5, "files that are open"
    assert after[2] - before[2] < 100_000, "characters of log"


@pytest.mark.fault("C23")
def test_c23_the_first_start_with_many_notes_can_be_searched_and_killed(running):
    each = running({"first.md": "granite"})
    for number in range(MANY_NOTES):
        folder = each.root / f"f{number // 1000}"
        if number % 1000 == 0:
            folder.mkdir()
        words = " ".join(WORDS[(number >> shift) % 10] for shift in range(0, 12, 3))
        (folder / f"{number}.md").write_text(f"# Note {number}\n\n{words} unique{number}\n")
    each.serve()
    with each.client() as client:
        client.search("granite", vault=str(each.root), mode="keyword")
    eventually(lambda: each.status()["notes"] > MANY_NOTES // 5, "part of it is read", 900)
    assert each.paths(WORDS[0])
    each.kill()
    each.serve()
    with each.client() as client:
        client.search("granite", vault=str(each.root), mode="keyword")
    eventually(lambda: each.status()["notes"] == MANY_NOTES + 1, "all of it is read", 1800)
    assert memory(each) < 1500
    assert each.paths(f"unique{MANY_NOTES - 1}")[0] == f"f{(MANY_NOTES - 1) // 1000}/{MANY_NOTES - 1}.md"
