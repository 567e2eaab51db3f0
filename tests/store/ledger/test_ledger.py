"""The ledger: a transaction is the commit point, and nothing is forgotten or kept too long."""

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.base.model import Chunk, Link, Note, Problem
from vaultseek.base.when import When
from vaultseek.content.files.scan import FileStat
from vaultseek.store.ledger import IndexedNote, Ledger, UnchangedNote, keep_temporary_files
from vaultseek.store.ledger.examine import count

STAT = FileStat(1, 2, 3, 4)


@pytest.fixture
def ledger(tmp_path):
    opened = Ledger(tmp_path / "ledger.sqlite")
    yield opened
    opened.close()


def indexed(path: str, *texts: str, title: str = "T", links: tuple[Link, ...] = (), **parts) -> IndexedNote:
    chunks = tuple(Chunk(f"{path}:{text}", (), 1, 1, text) for text in texts)
    note = Note(path, title, links=links, **parts)
    keys = tuple(link.target.casefold() for link in links)
    return IndexedNote(note, chunks, keys, STAT, False, repr(texts).encode(), 100.0, When(50.0))


def put(ledger: Ledger, *notes: IndexedNote) -> list[int]:
    with ledger.commit() as revision:
        return [ledger.notes.put(note, revision) for note in notes]


def numbers(ledger: Ledger) -> list[int]:
    """The numbers of the chunks that are not yet in the vector store."""
    return ledger.space.chunk_numbers(100)


def link(target: str) -> Link:
    return Link("wikilink", target, None, None, None, 1)


def test_a_note_comes_back_as_it_went_in(ledger):
    note = indexed(
        "a.md", "one", "two", tags=("Work/Pumps",), aliases=("A1",), frontmatter={"status": "open"}
    )
    (number,) = put(ledger, note)
    row = ledger.notes.by_path("a.md")
    assert row is not None
    assert (row.id, row.tags, row.aliases, row.properties) == (
        number,
        ("Work/Pumps",),
        ("A1",),
        {"status": "open"},
    )
    assert [chunk.text for chunk in ledger.chunks.by_note([number])[number]] == ["one", "two"]
    assert ledger.notes.file_states() == {"a.md": ledger.notes.file_state("a.md")}


def test_everything_is_there_when_it_is_opened_again(tmp_path):
    first = Ledger(tmp_path / "l.sqlite")
    put(first, indexed("a.md", "one", tags=("Work/Pumps", "b"), aliases=("A1",), links=(link("B"),)))
    first.vectors.put({"k": b"v"})
    first.close()
    second = Ledger(tmp_path / "l.sqlite")
    assert (second.generation, second.counts().notes) == (first.generation, 1)
    assert second.notes.ids_by_name("a1") == {1}
    second.close()


def test_a_failed_commit_leaves_everything_as_it_was(ledger):
    put(ledger, indexed("a.md", "one"))
    before = ledger.revision
    broken = IndexedNote(Note("b.md", "T", links=(link("x"),)), (), (), STAT, False, b"h", 0.0, When(0.0))
    with pytest.raises(ValueError):
        put(ledger, indexed("c.md", "two"), broken)
    assert (ledger.revision, ledger.notes.by_path("c.md")) == (before, None)


def test_an_edit_keeps_the_vectors_of_unchanged_chunks(ledger):
    (number,) = put(ledger, indexed("a.md", "one", "two"))
    one, two = numbers(ledger)
    ledger.space.remove_stored([one, two], [number])
    put(ledger, indexed("a.md", "zero", "two"))
    assert [row.text for row in ledger.space.chunks(numbers(ledger))] == ["zero"]
    assert ledger.space.orphans(10) == ([one], [])


@pytest.mark.fault("C7", "K8")
@pytest.mark.parametrize(("target", "pending"), [("x/a.md", 0), ("x/b.md", 3)])
def test_a_note_that_moves_keeps_its_vectors_unless_its_file_has_another_name(ledger, target, pending):
    (number,) = put(ledger, indexed("a.md", "one", "two", title="a", title_source="name"))
    ledger.space.remove_stored(numbers(ledger), [number])
    with ledger.commit() as revision:
        ledger.notes.move("a.md", target)
        title = target.removeprefix("x/").removesuffix(".md")
        ledger.notes.put(indexed(target, "one", "two", title=title, title_source="name"), revision)
    assert (ledger.counts().pending, ledger.space.orphans(10)) == (pending, ([], []))
    assert [chunk.id for chunk in ledger.chunks.by_note([number])[number]] == [
        f"{target}:one",
        f"{target}:two",
    ]


def test_another_file_name_beside_a_title_makes_every_vector_wait_again(ledger):
    (number,) = put(ledger, indexed("a.md", "one", "two", title="T", title_source="frontmatter"))
    ledger.space.remove_stored(numbers(ledger), [number])
    for path, pending in (("x/a.md", 0), ("x/b.md", 3)):
        with ledger.commit() as revision:
            ledger.notes.move(ledger.notes.by_id([number])[number].path, path)
            ledger.notes.put(indexed(path, "one", "two", title="T", title_source="frontmatter"), revision)
        assert ledger.counts().pending == pending


def test_another_title_makes_every_chunk_wait_again(ledger):
    (number,) = put(ledger, indexed("a.md", "one", "two"))
    ledger.space.remove_stored(numbers(ledger), [number])
    put(ledger, indexed("a.md", "one", "two", title="Other", title_source="heading"))
    assert len(numbers(ledger)) == 2


def test_removal_is_remembered_for_the_indexes(ledger):
    (number,) = put(ledger, indexed("a.md", "one"))
    (one,) = numbers(ledger)
    ledger.space.remove_stored([one], [number])
    at = ledger.revision
    with ledger.commit() as revision:
        assert ledger.notes.remove("a.md", revision) == number
    assert ledger.notes.removed_since(at) == [number]
    assert ledger.space.orphans(10) == ([one], [number])
    assert ledger.counts().notes == 0
    assert put(ledger, indexed("a.md", "one")) != [number], "an id is never given twice"


def test_removals_are_forgotten_once_they_are_many(ledger, monkeypatch):
    monkeypatch.setattr("vaultseek.store.ledger.notes.REMOVED_NOTES", 1)
    a, b, c = put(ledger, indexed("a.md"), indexed("b.md"), indexed("c.md"))
    start = ledger.revision
    removed = []
    for path in ("a.md", "b.md", "c.md"):
        ledger.notes.prune_removed(ledger.revision)
        with ledger.commit() as revision:
            removed.append(ledger.notes.remove(path, revision))
    assert removed == [a, b, c]
    assert ledger.notes.removed_since(start) is None, "an index at this revision would miss removals"
    assert ledger.notes.removed_since(start + 1) is None
    assert ledger.notes.removed_since(start + 2) == [c]
    assert ledger.select("SELECT note FROM removed") == [(c,)]


def test_a_chunk_that_vanished_while_its_vector_was_on_the_way_is_an_orphan(ledger):
    put(ledger, indexed("a.md", "one"))
    (one,) = numbers(ledger)
    put(ledger, indexed("a.md", "two"))
    ledger.space.remove_orphans(*ledger.space.orphans(10))
    ledger.space.enter_removed([one, *numbers(ledger)], [])
    assert ledger.space.orphans(10) == ([one], [])


def test_a_second_space_has_entries_of_its_own_from_its_first_store_on(ledger):
    first = put(ledger, indexed("a.md", "one"))
    assert (ledger.second_space.is_followed, ledger.second_space.pending_counts()) == (False, (0, 0))
    ledger.second_space.begin_store("second")
    more = put(ledger, indexed("b.md", "two"))
    ledger.space.remove_stored(numbers(ledger), first + more)
    assert (ledger.space.pending_counts(), ledger.second_space.pending_counts()) == ((0, 0), (2, 2))
    assert (ledger.space.store(), ledger.second_space.store()) == ("", "second")
    assert ledger.second_space.incomplete_notes() == 2
    ledger.second_space.end()
    put(ledger, indexed("c.md", "three"))
    assert (ledger.second_space.is_followed, ledger.second_space.pending_counts()) == (False, (0, 0))


def test_links_are_found_by_what_they_listen_to_and_where_they_lead(ledger):
    a, b = put(ledger, indexed("a.md", links=(link("B"), link("Ghost"))), indexed("b.md"))
    assert [(note, target) for note, _, _, target in ledger.links.targets_by_key({"b"})] == [(a, "B")]
    ledger.links.resolve([(a, 0, "b.md")])
    assert ledger.links.edges() == [(a, b)]
    assert [row.source for row in ledger.links.to_paths(["b.md"])] == ["a.md"]
    assert [row.resolved for row in ledger.links.from_notes([a])] == ["b.md", None]


def test_vectors_are_counted_when_they_are_computed(ledger):
    ledger.vectors.put({"k1": b"1", "k2": b"2"})
    assert ledger.vectors.get(["k2", "k3"]) == {"k2": b"2"}
    assert ledger.vectors.embeddings_computed() == 2


def test_a_new_vector_store_starts_from_nothing(ledger):
    (number,) = put(ledger, indexed("a.md", "one"))
    ledger.space.remove_stored(numbers(ledger), [number])
    assert ledger.counts().pending == 0
    ledger.space.begin_store("store-2")
    assert (ledger.space.store(), ledger.counts().pending) == ("store-2", 2)


def test_only_what_was_looked_at_loses_its_scan_problems(ledger):
    problem = Problem("not_a_file", "a link")
    ledger.problems.replace_scanned([("x/a.md", problem), ("xy.md", problem)], [""])
    ledger.problems.replace_scanned([], ["x"])
    assert [path for path, _ in ledger.problems.all()] == ["xy.md"]


def test_a_folder_is_its_own_subtree_only(ledger):
    put(ledger, *(indexed(path) for path in ("x/a.md", "x/y/b.md", "x.md", "xy/c.md", "x-/d.md")))
    assert sorted(ledger.notes.file_states("x")) == ["x/a.md", "x/y/b.md"]


def test_a_touched_note_keeps_its_content(ledger):
    put(ledger, indexed("a.md", "one"))
    ledger.notes.touch([UnchangedNote("a.md", FileStat(9, 9, 9, 9), True, 5.0)])
    known = ledger.notes.file_state("a.md")
    assert known is not None
    assert (known.stat, known.racy) == (FileStat(9, 9, 9, 9), True)


@pytest.mark.parametrize("created", [When(100.0), When(50.0), When(100.0, "local")])
def test_a_touched_note_without_a_date_of_its_own_is_as_old_as_its_file(ledger, created):
    (note,) = put(ledger, replace(indexed("a.md", "one"), created=created))
    ledger.notes.touch([UnchangedNote("a.md", FileStat(9, 9, 9, 9), True, 5.0)])
    row = ledger.notes.by_id([note])[note]
    assert row.modified == 5.0
    assert row.created == (When(5.0) if created == When(100.0) else created)


def test_the_notes_modified_last_come_first_and_ties_by_path(ledger):
    times = {"b.md": 5.0, "a.md": 5.0, "old.md": 1.0, "new.md": 9.0, "other.md": 99.0}
    ids = put(ledger, *(replace(indexed(path, "x"), modified=time) for path, time in times.items()))
    paths = {row.id: row.path for row in ledger.notes.by_id(ids).values()}
    latest = [paths[id] for id in ledger.latest_notes(ids[:4], 3)]
    assert latest == ["new.md", "a.md", "b.md"]
    assert ledger.latest_notes([], 3) == ledger.latest_notes(ids, 0) == []


def test_many_ids_at_once(ledger):
    ids = put(ledger, *(indexed(f"{i}.md") for i in range(1200)))
    assert len(ledger.notes.by_id(ids)) == 1200


@pytest.mark.fault("B6")
def test_vectors_outlive_another_version_of_the_ledger(tmp_path):
    first = Ledger(tmp_path / "l.sqlite")
    first.vectors.put({"k": b"v"})
    first._database.connection().execute("PRAGMA user_version = 999")
    first.close()
    second = Ledger(tmp_path / "l.sqlite")
    assert second.vectors.get(["k"]) == {"k": b"v"}
    second.close()


@pytest.mark.fault("B5")
@pytest.mark.parametrize("damage", [b"", b"noise" * 1000, "middle", "version"])
def test_a_ledger_that_cannot_be_trusted_gives_its_vectors_to_a_new_one_and_goes(tmp_path, damage):
    file = tmp_path / "ledger.sqlite"
    first = Ledger(file)
    put(first, *(indexed(f"{i}.md", "text " * 100) for i in range(200)))
    first.vectors.put({"key": b"vector"})
    if damage == "version":
        first._database.connection().execute("PRAGMA user_version = 999")
    first.close()
    if isinstance(damage, bytes):
        file.write_bytes(damage)
    elif damage == "middle":
        with file.open("r+b") as stream:
            stream.seek(file.stat().st_size // 2)
            stream.write(b"\xff" * 20_000)
    second = Ledger(file)
    assert second.counts().notes == 0
    assert second.generation != first.generation
    if damage == "version":
        assert second.vectors.get(["key"]) == {"key": b"vector"}
    second.close()
    left = {each.name for each in tmp_path.glob("ledger*")}
    assert left == {"ledger.sqlite", "ledger.sqlite.closed"}, "nothing holds the old text"


_CLOSING = """
import pathlib, sqlite3, sys, threading
from vaultseek.store.ledger.database import Database

file = pathlib.Path(sys.argv[1])
database = Database(file)
database.run("CREATE TABLE t (a)")
database.run("INSERT INTO t SELECT value FROM json_each(?)", str([*range(500)]))
database.close()
for _ in range(60):
    database = Database(file)
    asked = threading.Event()

    def ask():
        try:
            while True:
                database.all("SELECT count(*) FROM t x, t y WHERE x.a + y.a = 3")
                asked.set()
        except sqlite3.Error:
            pass

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    asked.wait()
    database.close()
    for thread in threads:
        thread.join()
"""


@pytest.mark.slow
def test_closing_it_under_the_searches_of_other_threads_does_not_end_the_process(tmp_path):
    subprocess.run([sys.executable, "-c", _CLOSING, str(tmp_path / "l.sqlite")], check=True, timeout=120)


def test_nobody_else_can_read_it(ledger, tmp_path):
    assert stat.S_IMODE((tmp_path / "ledger.sqlite").stat().st_mode) == 0o600


def test_the_pages_of_a_file_that_was_closed_are_not_checked_again(tmp_path, monkeypatch):
    statements: list[str] = []
    opened = sqlite3.connect

    def tracing(*arguments, **options):
        connection = opened(*arguments, **options)
        connection.set_trace_callback(statements.append)
        return connection

    monkeypatch.setattr(sqlite3, "connect", tracing)

    def is_checked() -> bool:
        statements.clear()
        Ledger(tmp_path / "l.sqlite").close()
        return any("quick_check" in statement for statement in statements)

    assert not is_checked(), "there is no file yet"
    assert not is_checked()
    (tmp_path / "l.sqlite.closed").unlink()
    assert is_checked(), "as after a crash"
    os.utime(tmp_path / "l.sqlite")
    assert not is_checked(), "its checksum is the same"


@given(
    st.lists(st.tuples(st.sampled_from(["put", "remove", "mark", "fail"]), st.integers(0, 3)), max_size=12)
)
def test_the_counts_are_those_of_the_rows(steps):
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(Ledger(Path(folder) / "l")) as ledger:
        for step, number in steps:
            path = f"{number}.md"
            if step == "put":
                put(ledger, indexed(path, f"text {number} " * number))
            elif step == "remove":
                with ledger.commit() as revision:
                    ledger.notes.remove(path, revision)
            elif step == "mark":
                ledger.space.remove_stored(ledger.space.chunk_numbers(2), [number])
            else:
                with contextlib.suppress(KeyError), ledger.commit() as revision:
                    ledger.notes.remove(path, revision)
                    raise KeyError
        assert ledger.counts() == count(ledger._database.connection())


@pytest.mark.fault("B12")
def test_a_ledger_gives_back_the_room_of_what_was_deleted(ledger, tmp_path):
    keys = [f"model:{number}" for number in range(2000)]
    ledger.vectors.put(dict.fromkeys(keys, bytes(1536)))
    assert ledger.compact(0.0)
    file = tmp_path / "ledger.sqlite"
    full = file.stat().st_size
    assert ledger.is_sound()
    ledger.vectors.delete(keys[1000:])
    with contextlib.closing(sqlite3.connect(file)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM vectors").fetchone()
        assert not ledger.compact(0.0)
        assert ledger.is_sound()
    ledger.vectors.delete(keys[100:1000])
    assert ledger.compact(0.0)
    assert ledger.is_sound()
    assert file.stat().st_size < full / 5
    assert len(ledger.vectors.get(keys)) == 100


@pytest.mark.fault("B4", "B5")
def test_a_new_thread_does_not_read_a_ledger_that_replaced_this_one(ledger, tmp_path):
    put(ledger, indexed("a.md", "one"))
    assert ledger.compact(0.0)
    older, file = tmp_path / "older.sqlite", tmp_path / "ledger.sqlite"
    shutil.copy2(file, older)
    put(ledger, indexed("b.md", "two"))
    older.replace(file)
    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(ledger.counts)
        with pytest.raises(sqlite3.DatabaseError, match="was replaced"):
            answer.result()
    assert not ledger.is_sound()


def long_text(number: int) -> str:
    return f"text {number} " + random.Random(number).randbytes(300).hex()


def live_on(ledger: Ledger, changes: int) -> None:
    """Change, add and delete notes one by one."""
    chance = random.Random(1)
    for number in range(changes):
        path = f"{chance.randrange(150)}.md"
        with ledger.commit() as revision:
            if chance.random() < 0.1:
                ledger.notes.remove(path, revision)
            else:
                ledger.notes.put(indexed(path, long_text(number), long_text(-number)), revision)


def size_of_a_fresh(ledger: Ledger, folder: Path) -> int:
    """Return the size of a new ledger with the same notes."""
    texts = ledger.select("SELECT path, text FROM notes JOIN chunks ON chunks.note = notes.id ORDER BY path")
    with contextlib.closing(Ledger(folder / "fresh.sqlite")) as fresh:
        for path in dict.fromkeys(path for path, _ in texts):
            put(fresh, indexed(path, *(text for own, text in texts if own == path)))
        assert fresh.compact(0.0)
    return (folder / "fresh.sqlite").stat().st_size


@pytest.mark.fault("B12")
def test_a_ledger_whose_notes_changed_is_as_small_as_a_fresh_one(ledger, tmp_path):
    put(ledger, *(indexed(f"{number}.md", long_text(number)) for number in range(150)))
    assert ledger.compact(0.0)
    live_on(ledger, 500)
    file = tmp_path / "ledger.sqlite"
    before, answered = file.stat().st_size, ledger.select("SELECT * FROM chunks")
    with contextlib.closing(sqlite3.connect(file)) as reader:
        reader.execute("BEGIN")
        seen = reader.execute("SELECT count(*) FROM chunks").fetchone()
        assert not ledger.compact(1.0)
        assert reader.execute("SELECT count(*) FROM chunks").fetchone() == seen
        assert ledger.is_sound()
    assert ledger.compact(1.0)
    assert ledger.is_sound()
    assert file.stat().st_size < 1.05 * size_of_a_fresh(ledger, tmp_path) < before
    assert ledger.select("SELECT * FROM chunks") == answered
    assert oct(stat.S_IMODE(file.stat().st_mode)) == "0o600"


@pytest.mark.fault("B12", "B1")
def test_a_ledger_is_rewritten_only_if_the_disk_has_room_and_much_has_changed(ledger, monkeypatch):
    put(ledger, *(indexed(f"{number}.md", long_text(number)) for number in range(150)))
    assert ledger.compact(0.0)
    live_on(ledger, 300)
    needed = 2 * 4096 * ledger.select("PRAGMA page_count")[0][0] + 1024 * 1024
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=needed - 20_000))
        assert ledger.compact(1.0)
        assert ledger.is_sound()
    worn = ledger.select("PRAGMA page_count")
    assert ledger.compact(2.0)
    assert ledger.select("PRAGMA page_count") < worn
    put(ledger, *(indexed(f"{number}.md", long_text(number)) for number in range(10)))
    statements: list[str] = []
    ledger._database.connection().set_trace_callback(statements.append)
    assert ledger.compact(3.0)
    assert "VACUUM" not in statements


REWRITTEN = """
import os, resource, signal, sys
from pathlib import Path
from vaultseek.store.ledger import Ledger, keep_temporary_files

ledger, how, left = Ledger(Path(sys.argv[1])), sys.argv[2], int(sys.argv[3])
keep_temporary_files(Path(sys.argv[1]).parent)
if how == "full":
    resource.setrlimit(resource.RLIMIT_FSIZE, (left, left))
def step():
    global left
    left -= 1
    if left == 0 and how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
ledger._database.connection().set_progress_handler(step, 200)
ledger.compact(1.0)
rewritten = "SELECT count(*) FROM meta WHERE name = 'rewritten' AND value > '2'"
print(ledger.is_sound(), ledger.select(rewritten)[0][0])
"""


@pytest.mark.fault("B12", "A7", "B1")
@pytest.mark.parametrize(
    ("how", "when"), [("kill", step) for step in (3, 15, 30, 45, 60)] + [("full", 400_000)]
)
def test_a_kill_or_a_failed_write_while_a_ledger_is_rewritten_loses_nothing(ledger, tmp_path, how, when):
    """The rewriting has some sixty steps and writes 700,000 bytes into the log."""
    put(ledger, *(indexed(f"{number}.md", long_text(number)) for number in range(150)))
    assert ledger.compact(0.0)
    live_on(ledger, 300)
    expected = ledger.select("SELECT * FROM chunks"), ledger.counts(), ledger.generation
    ledger.close()
    file = tmp_path / "ledger.sqlite"
    command = [sys.executable, "-c", REWRITTEN, file, how, str(when)]
    ended = subprocess.run(command, check=False, timeout=60, capture_output=True, text=True)
    expected_end = (-signal.SIGKILL, "") if how == "kill" else (0, "True 0\n")
    assert (ended.returncode, ended.stdout) == expected_end, ended.stderr
    with contextlib.closing(Ledger(file)) as again:
        assert (again.select("SELECT * FROM chunks"), again.counts(), again.generation) == expected
        assert again.compact(2.0)
    assert not list(tmp_path.glob("*etilqs*"))


def test_temporary_files_with_text_of_notes_are_beside_the_index(ledger, tmp_path):
    """SQLite deletes them as soon as they are open, so they are seen through the process."""
    put(ledger, *(indexed(f"{number}.md", long_text(number) * 10) for number in range(600)))
    places: set[Path] = set()

    def look() -> None:
        files = (each.readlink() for each in Path("/proc/self/fd").iterdir() if each.is_symlink())
        places.update(file.parent for file in files if file.name.startswith("etilqs"))

    keep_temporary_files(tmp_path)
    try:
        ledger._database.connection().set_progress_handler(look, 2000)
        assert ledger.compact(0.0)
        live_on(ledger, 100)
        assert ledger.compact(1.0)
    finally:
        sqlite3.connect(":memory:").execute("PRAGMA temp_store_directory = ''")
    assert places == {tmp_path}
