"""A note that cannot be read or stored affects no other note."""

import os
from typing import Any

import pytest

from keyword_answers import hits_of
from vaultseek.content.files.scan import MOST_NS, regular_stat
from vaultseek.core.indexing import reading
from vaultseek.store.keyword.index import KeywordIndex
from vaultseek.store.ledger import Ledger
from vaultseek.store.ledger.files import AttachmentTable
from vaultseek.store.ledger.notes import NoteTable
from worlds import World

NOTES = {f"n{number}.md": f"Granite {number} and [[bad]]." for number in range(9)}
BAD = NOTES | {"bad.md": "A basalt that breaks things."}


def found(here: World, query: str) -> set[str]:
    """Return the paths of the notes that the keyword index finds for a query."""
    hits = hits_of(here.vault.keyword_index.search(query, 100))
    return {row.path for row in here.ledger.notes.by_id([hit.note for hit in hits]).values()}


def codes(here: World) -> dict[str, str]:
    return {path: problem.code for path, problem in here.ledger.problems.all()}


@pytest.mark.fault("C14")
@pytest.mark.parametrize("seconds", [10_413_792_000, -11_676_096_000, 2**34 - 1])
def test_a_file_of_another_century_is_indexed(world, seconds):
    here = world(NOTES)
    (here.root / "far.md").write_text("basalt")
    os.utime(here.root / "far.md", (seconds, seconds))
    if abs((here.root / "far.md").stat().st_mtime_ns) < 2**62:
        pytest.skip("the file system has no such dates")
    here.index()
    assert found(here, "basalt") == {"far.md"}
    here.close()
    here.open()
    here.write({"near.md": "gneiss"})
    assert found(here, "basalt gneiss") == {"far.md", "near.md"}


def test_the_numbers_of_any_file_fit_the_ledger(tmp_path):
    (tmp_path / "a.md").write_text("a")
    status = list((tmp_path / "a.md").stat())
    extreme = os.stat_result(
        [status[0], 2**64 - 1, *status[2:]],
        {"st_mtime_ns": 2**70, "st_ctime_ns": -(2**70)},
    )
    stat = regular_stat(extreme)
    assert stat is not None
    assert all(-MOST_NS - 1 <= number <= MOST_NS for number in stat)


def test_a_note_that_breaks_the_parser_is_found_by_its_name(world, monkeypatch):
    parse = reading.parse

    def fail(text: str, path: str, *more: Any) -> Any:
        if "breaks" in text:
            raise RecursionError("too deep")
        return parse(text, path, *more)

    monkeypatch.setattr(reading, "parse", fail)
    here = world(BAD)
    assert found(here, "granite") == {*NOTES}
    assert found(here, "bad") >= {"bad.md"}
    assert found(here, "basalt") == set()
    assert codes(here) == {"bad.md": "not_indexed"}
    monkeypatch.undo()
    here.write({"bad.md": "basalt, mended"})
    assert (found(here, "basalt"), codes(here)) == ({"bad.md"}, {})


def break_ledger(monkeypatch: pytest.MonkeyPatch, *, names: bool) -> None:
    """Make the ledger refuse the note ``bad.md``; with ``names``, even without content."""
    put_all = NoteTable.put_all

    def fail(self: NoteTable, notes: Any, revision: int) -> None:
        if any(rows.path == "bad.md" and (names or rows.chunks) for _, rows in notes):
            raise OverflowError("Python int too large to convert to SQLite INTEGER")
        put_all(self, notes, revision)

    monkeypatch.setattr(NoteTable, "put_all", fail)


def links(ledger: Ledger) -> set[str | None]:
    """Return the targets of all notes' links."""
    return {row[0] for row in ledger.select("SELECT resolved FROM links")}


def test_a_note_that_the_ledger_refuses_is_found_by_its_name(world, monkeypatch):
    break_ledger(monkeypatch, names=False)
    here = world(BAD)
    assert found(here, "granite") == {*NOTES}
    assert codes(here) == {"bad.md": "not_indexed"}
    assert links(here.ledger) == {"bad.md"}


@pytest.mark.fault("A12")
def test_a_note_that_cannot_be_stored_at_all_is_a_problem(world, monkeypatch):
    break_ledger(monkeypatch, names=True)
    here = world(BAD)
    assert found(here, "granite") == {*NOTES}
    assert codes(here) == {"bad.md": "not_indexed"}
    assert links(here.ledger) == {None}
    monkeypatch.undo()
    here.index()
    assert (found(here, "basalt"), codes(here), links(here.ledger)) == ({"bad.md"}, {}, {"bad.md"})


def test_a_note_that_breaks_the_keyword_index_is_found_by_its_name(world, monkeypatch):
    apply = KeywordIndex.apply

    def fail(self: KeywordIndex, upserts: Any, deletes: Any, revision: str) -> None:
        if any("breaks" in chunk.prose for document in upserts for chunk in document.chunks):
            raise IndexError("list index out of range")
        apply(self, upserts, deletes, revision)

    monkeypatch.setattr(KeywordIndex, "apply", fail)
    here = world(BAD)
    assert found(here, "granite") == {*NOTES}
    assert found(here, "bad") >= {"bad.md"}
    assert codes(here) == {"bad.md": "not_indexed"}


def test_a_full_disk_is_no_problem_of_a_note(world, monkeypatch):
    here = world(NOTES)

    def full(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(NoteTable, "put_all", full)
    with pytest.raises(OSError, match="No space"):
        here.write({"bad.md": "basalt"})
    assert codes(here) == {}


def test_after_a_full_disk_links_lead_to_the_notes_that_were_to_be_stored(world, monkeypatch):
    here = world({"a.md": "[[b]]"})

    def full(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as during:
        during.setattr(AttachmentTable, "update", full)
        with pytest.raises(OSError, match="No space"):
            here.write({"b.md": "granite"})
    here.index()
    assert links(here.ledger) == {"b.md"}


def test_a_note_that_cannot_be_stored_costs_none_that_was_touched(world, monkeypatch):
    here = world(NOTES)
    break_ledger(monkeypatch, names=True)
    os.utime(here.root / "n0.md", (1, 1))
    here.write({"bad.md": "basalt", "good.md": "gneiss"})
    assert found(here, "gneiss") == {"good.md"}
    assert codes(here) == {"bad.md": "not_indexed"}
