"""Thousands of edits and saves, branches of a repository, a hundred thousand notes. Takes minutes."""

import random
import subprocess
from pathlib import Path

import psutil
import pytest

from daemons import eventually
from vaultseek.base.limits import MIB
from vaultseek.base.paths import folder_bytes

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(3000)]
EDITS = 10_000
MANY_NOTES = 100_000
SAVES = 1000
CHURNS = 50
BRANCH_NOTES = 2000
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
            if number % 50 == 0:
                client.refresh(vault=str(running.root), timeout=300)
    running.settle()


def compacted_bytes(running) -> int:
    """Return the size of the index in bytes after the daily compaction."""
    with running.client() as client:
        client.compact(vault=str(running.root))
    running.settle()
    return folder_bytes(running.index)


@pytest.mark.model
@pytest.mark.fault("J1", "J2", "J3")
def test_j1_memory_files_and_log_do_not_grow(running):
    each = running({"a.md": "granite"}, VAULTSEEK_MODEL__NAME="all-MiniLM-L6-v2")
    each.serve()
    each.settle()
    chance = random.Random(1)
    # Long enough that vectors of earlier texts were removed at least once: until then, their number only
    # grows.
    edit_and_search(each, EDITS // 2, chance)
    before = memory(each), each.descriptors(), len(each.daemon.log())
    size_before = compacted_bytes(each)
    edit_and_search(each, EDITS // 2, chance)
    after = memory(each), each.descriptors(), len(each.daemon.log())
    assert after[0] - before[0] < 30, "MiB of memory"
    assert after[1] - before[1] <= 5, "files that are open"
    assert after[2] - before[2] < 100_000, "characters of log"
    assert compacted_bytes(each) < 2 * size_before, "bytes of the index"


@pytest.mark.fault("H10", "J2")
def test_h10_a_thousand_saves_are_each_found_at_once_and_leave_no_file_open(running):
    each = running({f"{number}.md": f"# Note {number}\n\ngranite\n" for number in range(20)})
    each.serve()
    each.settle()
    before = 0
    with each.client() as client:
        for number in range(SAVES):
            (each.root / f"{number % 20}.md").write_text(f"# Note\n\nsaved{number}\n")
            client.refresh(vault=str(each.root), timeout=300)
            for _ in range(10):
                answer = client.search(f"saved{number}", vault=str(each.root), mode="keyword")
                assert [found["path"] for found in answer["results"]] == [f"{number % 20}.md"]
            if number == SAVES // 10:
                before = each.descriptors()
    assert each.descriptors() <= before + 5


@pytest.mark.fault("B12")
def test_b12_an_index_that_is_changed_again_and_again_does_not_grow(running):
    each = running({})
    each.serve()
    sizes = []
    for turn in range(CHURNS):
        for number in range(60):
            words = " ".join(random.Random(f"{turn} {number}").choices(WORDS, k=200))
            (each.root / f"{number}.md").write_text(f"# Note {turn} {number}\n\n{words}\n")
        each.settle()
        if turn % 10 == 9:
            with each.client() as client:
                client.compact(vault=str(each.root))
            sizes.append(folder_bytes(each.index))
    # Unused vectors are kept until there are many, so the size goes up and down.
    assert max(sizes[3:]) < 1.25 * max(sizes[:3]), sizes


@pytest.mark.fault("C4")
def test_c4_branches_of_a_repository_end_as_they_are(running):
    each = running({f"f{number % 9}/{number}.md": text_of(number, "main") for number in range(BRANCH_NOTES)})
    git(each.root, "init", "--quiet", "--initial-branch=main")
    commit(each.root, "one")
    git(each.root, "checkout", "--quiet", "-b", "other")
    for number in range(0, BRANCH_NOTES, 2):
        note = each.root / f"f{number % 9}" / f"{number}.md"
        note.write_text(text_of(number, "other"))
        if number % 10 == 0:
            note.rename(note.with_name(f"moved {number}.md"))
    commit(each.root, "two")
    each.serve()
    with each.client() as client:
        for branch in ("main", "other") * 5:
            git(each.root, "checkout", "--quiet", branch)
            client.search("pump", vault=str(each.root), mode="keyword")
    each.settle()
    queries = (text_of(20, "other")[:60], "valve seal", "pump")
    assert each.answers(queries) == each.fresh_answers(queries)


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True, timeout=120)


def commit(root: Path, message: str) -> None:
    git(root, "add", "--all")
    git(root, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", message)


def text_of(number: int, branch: str) -> str:
    words = random.Random(f"{number} {branch}").choices(WORDS, k=30 + number % 50)
    return f"# Note {number} of {branch}\n\n{' '.join(words)} unique{number}{branch}\n"


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
