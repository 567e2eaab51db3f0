"""Every index follows the ledger by its changes, in pages of any size, from any position."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.store.ledger.changes import (
    Changes,
    Position,
    RemovalsPruned,
    changed_rows,
    changes,
    pending_count,
)


class FakeNotes:
    """Notes with their revisions, and the removed notes."""

    def __init__(self, notes: dict[int, int], removed: dict[int, int], pruned: int = 0) -> None:
        self.notes = notes
        self.removed = removed
        self.pruned = pruned

    def changed_since(self, revision: int, limit: int, note: int) -> list[tuple[int, int]]:
        rows = sorted((at, id) for id, at in self.notes.items() if (at, id) > (revision, note))
        return [(id, at) for at, id in rows[:limit]]

    def removed_since(self, revision: int) -> list[int] | None:
        if revision < self.pruned:
            return None
        return [id for id, at in self.removed.items() if at > revision]


class FakeLedger:
    """A ledger with these notes."""

    def __init__(self, notes: FakeNotes, revision: int) -> None:
        self.notes = notes
        self.revision = revision


REVISIONS = st.dictionaries(st.integers(1, 12), st.integers(1, 4), max_size=12)


@given(REVISIONS, REVISIONS, st.integers(1, 5), st.integers(0, 4), st.integers(0, 12))
def test_pages_from_any_position_have_every_change_once(notes, removed, size, revision, note):
    ledger = FakeLedger(FakeNotes(notes, removed), 4)
    since = Position(revision, note)
    pages: list[Changes] = list(changes(ledger, since, size))
    expected = sorted((at, id) for id, at in notes.items() if (at, id) > since)
    assert [id for page in pages for id in page.notes] == [id for _, id in expected]
    assert all(len(page.notes) <= size for page in pages)
    gone = {id for page in pages for id in page.removed}
    assert gone == ({id for id, at in removed.items() if at > revision} if revision else set())
    for number, page in enumerate(pages):
        later = [id for each in pages[number + 1 :] for id in each.notes]
        assert [id for rest in changes(ledger, page.position, size) for id in rest.notes] == later
        assert all(notes[id] > page.position.synced_revision for id in later)
    assert not pages or pages[-1].position == Position(4)


def test_what_is_committed_while_pages_are_read_is_in_a_later_one():
    notes = FakeNotes({1: 1, 2: 1, 3: 2}, {})
    ledger = FakeLedger(notes, 2)
    pages = changes(ledger, Position(), 2)
    assert next(pages).notes == [1, 2]
    del notes.notes[1]
    notes.removed[1], notes.notes[2], ledger.revision = 3, 4, 4
    assert [(page.notes, page.removed) for page in pages] == [([3, 2], [1])]


def test_removals_that_were_pruned_matter_to_all_but_a_beginning():
    ledger = FakeLedger(FakeNotes({1: 5}, {}, pruned=4), 5)
    with pytest.raises(RemovalsPruned):
        next(changes(ledger, Position(3), 10))
    assert [page.notes for page in changes(ledger, Position(), 10)] == [[1]]


def test_changes_are_counted_and_read_by_column(world):
    here = world({"a.md": "# A", "b.md": "", "c.md": ""})
    start = here.ledger.revision
    assert pending_count(here.ledger, Position()) == 3
    assert pending_count(here.ledger, Position(), 2) == 2
    here.write({"a.md": "# Other", "b.md": None})
    assert pending_count(here.ledger, Position(start)) == 1
    rows, removed = changed_rows(here.ledger, start, "path, title")
    assert rows == [("a.md", "Other")]
    assert len(removed) == 1
    assert changed_rows(here.ledger, 0, "path", "path != 'a.md'") == ([("c.md",)], None)
