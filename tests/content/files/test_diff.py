"""Comparison of disk and ledger."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.base.model import Problem
from vaultseek.content.files.diff import Changes, FileState, compare
from vaultseek.content.files.scan import FileStat, ScannedFile


def stat(number: int, inode: int = 1) -> FileStat:
    return FileStat(10, number, number, inode)


def note(path: str, number: int, inode: int = 1) -> ScannedFile:
    return ScannedFile(path, stat(number, inode))


def test_new_changed_removed_and_same():
    known = {
        "same.md": FileState(stat(1), False),
        "old.md": FileState(stat(1), False),
        "gone.md": FileState(stat(9), False),
    }
    disk = [note("same.md", 1), note("old.md", 2), note("new.md", 3)]
    changes = compare(disk, known, frozenset())
    assert set(changes.read) == {"old.md", "new.md"}
    assert changes.removed == ("gone.md",)


def test_the_latest_notes_are_read_first():
    known = {"changed.md": FileState(stat(1), False)}
    disk = [note("b.md", 5), note("old.md", 2), note("changed.md", 7), note("a.md", 5), note("new.md", 9)]
    assert compare(disk, known, frozenset()).read == ("new.md", "changed.md", "a.md", "b.md", "old.md")


@pytest.mark.fault("C7")
def test_the_same_inode_elsewhere_has_moved():
    changes = compare([note("b/x.md", 5, 77)], {"a/x.md": FileState(stat(5, 77), False)}, frozenset())
    assert changes == Changes(moved=(("a/x.md", "b/x.md"),), scope=("",))


@pytest.mark.fault("C13")
def test_a_racy_note_is_read_again_whatever_its_stat_says():
    assert compare([note("a.md", 1)], {"a.md": FileState(stat(1), True)}, frozenset()).read == ("a.md",)


def test_a_folder_that_cannot_be_listed_loses_nothing():
    disk = [ScannedFile("locked", None, Problem("unreadable_folder", "Permission denied"))]
    known = {"locked/a.md": FileState(stat(1), False), "b.md": FileState(stat(1), False)}
    changes = compare(disk, known, frozenset({"locked/p.png", "q.png"}))
    assert (changes.removed, changes.attachments_removed) == (("b.md",), ("q.png",))


paths = st.sampled_from([f"{folder}{name}.md" for folder in ("", "a/", "b/") for name in "xyz"])
states = st.dictionaries(paths, st.tuples(st.integers(0, 3), st.integers(0, 5)))


@given(states, states)
def test_applying_the_changes_gives_what_is_on_disk(before, after):
    known = {path: FileState(stat(*state), False) for path, state in before.items()}
    changes = compare([note(path, *state) for path, state in after.items()], known, frozenset())
    paths_now = set(before)
    for source, target in changes.moved:
        paths_now.remove(source)
        assert target not in paths_now
        paths_now.add(target)
        assert before[source] == after[target]
    paths_now -= set(changes.removed)
    paths_now |= set(changes.read)
    assert paths_now == set(after)
    untouched = set(after) - set(changes.read) - {target for _, target in changes.moved}
    assert all(before[path] == after[path] for path in untouched)
