"""Changes to the files of a vault, seen by an index in this process."""

from __future__ import annotations

import errno
import os
import random
import threading
import time
import unicodedata
from pathlib import Path

import pytest

from descriptors import no_descriptors
from fresh_index import IndexHere, fresh_answers
from keyword_answers import hits_of
from vaultseek.content.files.read import read_note
from vaultseek.content.files.watch import Watcher
from vaultseek.core.notes.inspect import Inspector
from worlds import write_files

DAY = 86_400
SYLLABLES = ["ba", "ke", "li", "mo", "nu", "pra", "sto", "ti", "vo", "wel", "xi"]


def paths_of(world) -> list[str]:
    return sorted(world.ledger.notes.file_states())


def found(world, word: str) -> list[str]:
    """Return the paths of the notes that contain a word."""
    notes = [hit.note for hit in hits_of(world.vault.keyword_index.search(word, 50))]
    return sorted(row.path for row in world.ledger.notes.by_id(notes).values())


@pytest.mark.fault("B11")
def test_b11_without_descriptors_a_comparison_loses_nothing(world):
    indexed = world({f"f{number}/a.md": f"granite {number}" for number in range(30)})
    (indexed.root / "f3" / "b.md").write_text("basalt")
    with no_descriptors(), pytest.raises(OSError, match="Too many open files"):
        indexed.index()
    assert len(found(indexed, "granite")) == 30
    indexed.index()
    assert found(indexed, "basalt") == ["f3/b.md"]


@pytest.mark.fault("C4")
def test_c4_notes_that_change_back_and_forth_end_as_they_are(vault, tmp_path):
    words = random.Random(3).sample([f"{a}{b}" for a in SYLLABLES for b in SYLLABLES], 120)
    branches = [
        {
            f"f{number % 9}/{number}.md": f"# {words[number]}\n\n{' '.join(words[: 1 + number])} {branch}\n"
            for number in range(120)
        }
        | {f"only-{branch}.md": f"valve seal {branch}"}
        for branch in ("main", "other")
    ]
    root = vault(branches[0])
    (tmp_path / "index").mkdir()
    index = IndexHere(root, tmp_path / "index")
    index.update()
    for number in range(5):
        for path in branches[number % 2].keys() - branches[1 - number % 2].keys():
            (root / path).unlink()
        write_files(root, branches[1 - number % 2])
        index.update()
    # Unrelated notes all have a cosine of zero, so which of them are proposed depends on their numbers.
    queries = (words[119], f"{words[110]} main", "valve seal")
    answers = index.answers(queries, ("keyword",))
    index.close()
    assert answers == fresh_answers(root, tmp_path / "fresh", queries, ("keyword",))


@pytest.mark.fault("C11")
def test_c11_a_note_that_is_gone_before_it_is_read_is_no_error(world, caplog):
    indexed = world({"a.md": "granite", "b.md": "basalt"})
    write_files(indexed.root, {"c.md": "slate", "a.md": "marble"})
    changes = indexed.vault.indexer.reconcile()
    for name in ("a.md", "c.md"):
        (indexed.root / name).unlink()
    indexed.vault.indexer.apply(changes)
    indexed.index()
    assert (paths_of(indexed), indexed.ledger.problems.all()) == (["b.md"], [])
    assert caplog.records == []


@pytest.mark.fault("C14")
@pytest.mark.parametrize("seconds", [0, -DAY, -(2**40), 4_000_000_000, 2**33, 253_402_300_800, 2**40])
def test_c14_any_time_of_a_note_is_taken(world, seconds):
    indexed = world({"a.md": "granite", "b.md": "basalt"})
    try:
        os.utime(indexed.root / "a.md", (seconds, seconds))
    except OSError:
        pytest.skip("this file system does not keep such a time")
    (indexed.root / "b.md").write_text("slate")
    indexed.index()
    assert (found(indexed, "granite"), found(indexed, "slate")) == (["a.md"], ["b.md"])
    (indexed.root / "a.md").write_text("marble")
    os.utime(indexed.root / "a.md", (1_000, 1_000))  # with an earlier time, and the same length
    indexed.index()
    assert found(indexed, "marble") == ["a.md"]


@pytest.mark.fault("C15")
@pytest.mark.parametrize("jump", [DAY, -DAY])
def test_c15_a_clock_that_jumps_hides_no_change(world, monkeypatch, jump):
    indexed = world({"a.md": "granite"})
    now, now_ns = time.time, time.time_ns
    monkeypatch.setattr(time, "time", lambda: now() + jump)
    monkeypatch.setattr(time, "time_ns", lambda: now_ns() + jump * 10**9)
    stat = (indexed.root / "a.md").stat()
    (indexed.root / "a.md").write_text("marbles")
    os.utime(indexed.root / "a.md", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    indexed.index()
    assert found(indexed, "marbles") == ["a.md"]


@pytest.mark.fault("C18")
def test_c18_a_name_in_another_case_is_the_same_note(world):
    indexed = world({"Note.md": "granite", "b.md": "[[note]]"})
    (indexed.root / "Note.md").rename(indexed.root / "note.md")
    indexed.index()
    assert paths_of(indexed) == ["b.md", "note.md"]
    assert [row.resolved for row in indexed.ledger.links.from_notes([indexed.note("b.md").id])] == ["note.md"]


@pytest.mark.fault("C19")
@pytest.mark.parametrize("turned", [False, True])
def test_c19_names_that_look_alike_are_kept_apart_and_links_do_not_depend_on_history(vault, tmp_path, turned):
    composed, taken_apart = (unicodedata.normalize(form, "Café.md") for form in ("NFC", "NFD"))
    names = [composed, taken_apart, "CAFÉ.md", "Readme.md", "README.md"]
    links = "\n".join(f"[[{name.removesuffix('.md')}]]" for name in names)
    root = vault({"links.md": links})
    (tmp_path / "index").mkdir()
    index = IndexHere(root, tmp_path / "index")
    for name in reversed(names) if turned else names:
        write_files(root, {name: f"pump {name.encode()!r}"})
        index.update()
    ledger = index.vault.ledger
    assert sorted(ledger.notes.file_states()) == sorted([*names, "links.md"])
    note = ledger.notes.by_path("links.md")
    resolved = [row.resolved for row in ledger.links.from_notes([note.id])]
    index.close()
    assert resolved == names


@pytest.mark.fault("C19")
def test_c19_a_link_that_could_mean_either_says_so(vault):
    names = ["a/Note.md", "a/note.md"]
    root = vault({"links.md": "[[NOTE]] [[Note]]", **dict.fromkeys(names, "pump")})
    if sorted(path.name for path in (root / "a").iterdir()) != ["Note.md", "note.md"]:
        pytest.skip("the file system takes both for one name")
    either, exact = Inspector(root).inspect_file(root / "links.md")["links"]
    assert sorted([either["resolved"], *either["ambiguous"]]) == names
    assert exact["resolved"] == "a/Note.md"


@pytest.mark.fault("C20")
def test_c20_reading_notes_makes_no_hints(vault):
    root = vault({f"f{number}/a.md": "granite" for number in range(20)})
    hints: list[str] = []
    watcher = Watcher(root, hints.append, hints.append)
    watcher.start()
    try:
        for number in range(20):
            assert read_note(root, f"f{number}/a.md") is not None
        (root / "last.md").write_text("the end")
        deadline = time.monotonic() + 30
        while "last.md" not in hints:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        watcher.stop()
    assert set(hints) == {"last.md"}


@pytest.mark.fault("C22")
def test_c22_a_note_that_may_be_read_again_is_read(world, monkeypatch):
    indexed = world({"a.md": "granite", "b.md": "basalt"})
    real = os.open

    def refuse(path, *arguments, **more):
        if os.fspath(path).endswith("a.md"):
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path, *arguments, **more)

    (indexed.root / "a.md").chmod(0)
    with monkeypatch.context() as patch:
        patch.setattr("vaultseek.content.files.read.os.open", refuse)
        indexed.index()
    problems = {path: problem.code for path, problem in indexed.ledger.problems.all()}
    assert (problems, found(indexed, "basalt")) == ({"a.md": "unreadable"}, ["b.md"])
    (indexed.root / "a.md").chmod(0o644)
    indexed.index()
    assert (found(indexed, "granite"), indexed.ledger.problems.all()) == (["a.md"], [])


class Swapping:
    """A thread that puts one of two files or folders at ``place``, in turns, as fast as possible."""

    def __init__(self, place: Path, first: Path, second: Path) -> None:
        self.place, self.first, self.second = place, first, second
        self.ended = False
        self.thread = threading.Thread(target=self._swap, daemon=True)

    def _swap(self) -> None:
        while not self.ended:
            for content in (self.first, self.second):
                content.rename(self.place)
                self.place.rename(content)

    def __enter__(self) -> Swapping:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended = True
        self.thread.join()


@pytest.mark.fault("E3")
@pytest.mark.parametrize("of_folder", [False, True])
def test_e3_a_note_that_becomes_a_link_while_it_is_read_leads_nowhere(vault, tmp_path, of_folder):
    secret = write_files(tmp_path / "elsewhere", {"x.md": "the secret"})
    root = vault({"real/x.md": "the note"})
    if of_folder:
        (root / "linked").symlink_to(secret)
        swapping = Swapping(root / "f", root / "real", root / "linked")
    else:
        (root / "f").mkdir()
        (root / "linked.md").symlink_to(secret / "x.md")
        swapping = Swapping(root / "f" / "x.md", root / "real" / "x.md", root / "linked.md")
    texts = set()
    with swapping:
        for _ in range(3000):
            content = read_note(root, "f/x.md")
            texts.add(content.data if content is not None else None)
    assert b"the secret" not in texts


@pytest.mark.fault("E5")
def test_e5_each_name_of_a_file_is_a_note(world):
    indexed = world({"a.md": "# Rock\n\ngranite"})
    (indexed.root / "f").mkdir()
    os.link(indexed.root / "a.md", indexed.root / "f" / "b.md")
    indexed.index()
    assert found(indexed, "granite") == ["a.md", "f/b.md"]
    (indexed.root / "a.md").unlink()
    indexed.index()
    assert found(indexed, "granite") == ["f/b.md"]
    os.link(indexed.root / "f" / "b.md", indexed.root / "a.md")
    indexed.index()
    assert found(indexed, "granite") == ["a.md", "f/b.md"]
