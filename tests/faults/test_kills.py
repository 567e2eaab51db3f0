"""The daemon and its worker are killed again and again while notes change."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from running import Running
from worlds import write_files

pytestmark = pytest.mark.slow
KILLS = 200
NOTES = 60
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
    """Return a note in which every other one differs, so that no two notes have equal scores."""
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


def kill_often(running: Running, kills: int, seed: int = 5) -> None:
    """Kill the daemon, or now and then its worker, at random moments during edits, so many times."""
    chance = random.Random(seed)
    for turn in range(kills):
        if not running.is_alive():
            running.serve()
        with running.client() as client:
            client.vaults(deadline_ms=30_000)
        edit(running.root, turn, chance)
        time.sleep(chance.random() * 0.6)
        edit(running.root, turn + kills, chance)
        assert running.process is not None
        children = running.process.children()
        if children and chance.random() < 0.3:
            chance.choice(children).kill()
            time.sleep(chance.random() * 0.3)
        else:
            running.kill()


def survive(running, kills: int) -> None:
    """Assert that the answers are those of a fresh index after so many kills, and after none."""
    for times in (0, kills):
        each = running({f"{number}.md": text_of(number, 0) for number in range(NOTES)})
        each.serve()
        each.settle()
        kill_often(each, times)
        each.kill()
        each.serve()
        each.settle()
        queries = ("unique7x0", "rust on the anchor chain", "pump valve seal", "tag:boat", "grease the winch")
        assert each.answers(queries) == each.fresh_answers(queries)
        status = each.status()
        assert (status["state"], status["problems"]) == ("ready", [])
        each.end()


@pytest.mark.fault("A1", "A9", "Invariant 3")
@pytest.mark.timeout(400)
def test_invariant_3_a_few_kills(running):
    survive(running, 4)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.fault("A1", "A4", "A5", "A9", "Invariant 3")
def test_invariant_3_two_hundred_kills(running):
    survive(running, KILLS)
