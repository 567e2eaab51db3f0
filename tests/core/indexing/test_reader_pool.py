"""Many notes are read by other processes with the same result; a note that kills a process affects no
other."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from keyword_answers import hits_of
from keyword_dump import dump
from semantic_here import WorkerHere
from vaultseek.base.limits import NOTE_PARSE_BYTES
from vaultseek.core.indexing import batches, ingest, reader_pool
from vaultseek.core.indexing.open_vault import OpenVault, VaultOptions
from vaultseek.core.indexing.reader_pool import ReaderError
from vaultseek.core.indexing.unembedded import EmbeddingSpec
from vaultseek.errors import Cancelled
from vaultseek.semantic.models.catalogue import find_model

Index = Callable[..., OpenVault]
NOTES = {
    f"folder {i % 3}/note {i}.md": f"---\ntags: [t{i % 4}]\naliases: [name {i}]\npart: X-{i}\n---\n"
    f"# Title {i}\n\nWord{i} and [[note {i + 1}]], [[missing {i}]] #tag{i}\n\n## Part\n\n```\ncode_{i}\n```\n"
    for i in range(60)
} | {
    "Überschrift.md": "# Ümläute\n\nein Fluß, 漢字 und ﬁ",
    "empty.md": "",
    "broken.md": "---\na: [\n---\ntext",
}
SAMPLE = Path(__file__).parents[2] / "data" / "vault"
HOSTILE: dict[str, str | bytes] = {
    "empty.md": "",
    "broken.md": "---\na: [\n---\ntext",
    "numbers.md": f"---\nbig: {'9' * 400}\nnone: .nan\nmost: .inf\nday: 2024-02-30\ncreated: 2021-05-04\n---",
    "surrogate.md": '---\ntitle: "\\ud800"\nkey: "\\udfff"\n---\ntext',
    "deep.md": "> " * 3_000 + "deep\n" + "[" * 20_000 + "\n" + "- " * 2_000 + "x",
    "nested.md": "---\na: " + "[" * 400 + "]" * 400 + "\n---\ntext",
    "latin.md": "Fluß und Käse".encode("latin-1"),
    "utf16.md": "\ufeffBreite Zeichen #tag".encode("utf-16-le"),
    "mark.md": b"\xef\xbb\xbf# Mark\n\ntext",
    "binary.md": bytes(range(256)) * 40,
    "returns.md": "# A\r\rtext\r\nmore\u2028line\x85next\x0cform [[empty]]",
    "long line.md": "word " * 40_000,
    "same.md": "# A\n\nsame\n\n# A\n\nsame\n\n# A\n\nsame",
    "code.md": "```python\nprint(1)\n```\ntext\n\n    indented\n\n```\nopen",
    "large.md": "# Large\n\n" + "A pump. [[empty]] #tag\n\n" * 13_000,
    "too large.md": b"x" * (NOTE_PARSE_BYTES + 1),
    "5 MB.md": b"A pump and a valve.\n" * 262_144,
    "drawing 2.md": "---\nexcalidraw-plugin: raw\n---\n# Text Elements\nValve ^abd\n\nA ^abe\n\n%%\n{}\n%%",
    "drawing.excalidraw.md": "---\nexcalidraw-plugin: parsed\n---\n# Text Elements\nPump ^abc\n\n%%\n{}\n%%",
    "2024-03-01 day.md": "---\naliases: [One, two]\ntags: [a/b]\n---\n- [ ] do it ^id\n- [x] done",
    "Überschrift 漢字.md": "# Ümläute\n\nein Fluß, 漢字 und ﬁ ![[drawing.excalidraw|x]] [a](broken.md#b)",
    "plain.txt": "A file that is no note.",
    "board.canvas": '{"nodes": [{"id": "1", "type": "text", "text": "Pump"}], "edges": []}',
}


@pytest.fixture(autouse=True)
def _few_notes_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "POOL_NOTES", 10)
    monkeypatch.setattr(batches, "FIRST_NOTES", 7)
    monkeypatch.setattr(batches, "MOST_NOTES", 9)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    """``index(root)`` opens and indexes the vault; with ``serial``, this process reads every note."""
    with contextlib.ExitStack() as closing:

        def make(root: Path, name: str = "index", *, serial: bool = False) -> OpenVault:
            model = find_model("hashing")
            count: Any = model.counter()
            if serial:
                count = lambda text: model.counter()(text)  # noqa: E731
            spec = EmbeddingSpec(model.fingerprint, count, model.window)
            options = VaultOptions("notes", root)
            vault = OpenVault.open(options, tmp_path / name, WorkerHere(), spec)  # type: ignore[arg-type]
            closing.callback(vault.close)
            vault.indexer.load()
            vault.indexer.apply(vault.indexer.reconcile())
            return vault

        yield make


def content(vault: OpenVault) -> dict[str, Any]:
    """Return all stored data except ids and revisions."""
    ledger, graph = vault.ledger, vault.graph
    rows = ledger.notes.by_id(ledger.notes.ids())
    paths = {number: row.path for number, row in rows.items()}
    assert graph is not None
    return {
        "notes": {
            row.path: (row.title, row.aliases, row.tags, row.headings, row.properties)
            for row in rows.values()
        },
        "chunks": {paths[number]: chunks for number, chunks in ledger.chunks.by_note(list(rows)).items()},
        "links": sorted(
            str((row.source, row.link, row.resolved)) for row in ledger.links.from_notes(list(rows))
        ),
        "edges": sorted((paths[a], paths[b]) for a, b in graph.edges()),
        "problems": ledger.problems.all(),
        "names": {row.path: ledger.notes.ids_by_name(row.title) >= {row.id} for row in rows.values()},
    }


def tables(vault: OpenVault) -> dict[str, list[Any]]:
    """Return every table of the ledger, except revisions and whether a file was recent when it was read.

    Batches are cut by size and time, so passages may have different numbers.
    """
    ledger = vault.ledger
    contents = {}
    for (table,) in ledger.select("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"):
        columns = [row[1] for row in ledger.select(f"PRAGMA table_info({table})")]
        wanted = ", ".join(name for name in columns if name not in ("number", "revision", "racy"))
        contents[table] = sorted(ledger.select(f"SELECT {wanted} FROM {table}"), key=repr)
    contents["meta"] = [row for row in contents["meta"] if row[0] not in ("generation", "made", "revision")]
    return contents


def words(vault: OpenVault, query: str) -> list[str]:
    """Return the notes that the keyword index finds for a query."""
    hits = hits_of(vault.keyword_index.search(query, 10))
    return [vault.ledger.notes.by_id([hit.note])[hit.note].path for hit in hits]


def test_the_result_is_that_of_one_process(
    index: Index, vault: Callable[..., Path], caplog: pytest.LogCaptureFixture
) -> None:
    root = vault(NOTES)
    pooled, serial = index(root), index(root, "serial", serial=True)
    assert not caplog.records, "no segment is thrown away"
    assert content(pooled) == content(serial)
    assert sorted(pooled.keyword_index.terms()) == sorted(serial.keyword_index.terms())
    assert words(pooled, "word17") == ["folder 2/note 17.md"]
    assert len(pooled.keyword_index) == len(NOTES)


@pytest.mark.parametrize("notes", ["sample", "hostile"])
def test_every_row_is_that_of_one_process(
    index: Index, vault: Callable[..., Path], tmp_path: Path, notes: str
) -> None:
    root = SAMPLE if notes == "sample" else vault(HOSTILE)
    pooled, serial = tables(index(root)), tables(index(root, "serial", serial=True))
    assert pooled.keys() == serial.keys()
    for table in serial:
        assert pooled[table] == serial[table]


def test_changed_unchanged_and_gone_notes(index: Index, vault: Callable[..., Path]) -> None:
    root = vault(NOTES)
    first = index(root)
    ids = {row.path: row.id for row in first.ledger.notes.by_id(first.ledger.notes.ids()).values()}
    first.ledger.set_chunking_version("another")
    for path in list(NOTES)[:20]:
        (root / path).write_text("# Rewritten\n\nrewritten text", encoding="utf-8")
    (root / "folder 0/note 30.md").unlink()
    first.indexer.apply(first.indexer.reconcile())
    assert content(first) == content(index(root, "fresh", serial=True))
    rows = first.ledger.notes.by_id(first.ledger.notes.ids()).values()
    assert {row.path: row.id for row in rows}.items() <= ids.items()
    assert words(first, "word3") == []
    assert len(words(first, "rewritten")) == 10


@pytest.mark.parametrize("plan", ["kill", "raise"])
def test_a_note_that_ends_its_process_is_left_alone(
    plan: str, index: Index, vault: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTSEEK_FAILPOINTS", f"note.read folder 2/note 23.md={plan}")
    opened = index(vault(NOTES | {"folder 2/note 23.md": "# Title\n\nOkapi"}))
    problems = [(path, problem.code) for path, problem in opened.ledger.problems.all()]
    assert ("folder 2/note 23.md", "ends_daemon") in problems
    assert len(opened.keyword_index) == len(NOTES)
    assert words(opened, "okapi") == []
    assert words(opened, "note 23")[0] == "folder 2/note 23.md", "by its name"
    assert words(opened, "word24") == ["folder 0/note 24.md"]


def test_two_kills_by_another_program_cost_no_note(
    index: Index, vault: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTSEEK_FAILPOINTS", "note.read folder 2/note 23.md=kill")
    died = reader_pool.ReaderProcess._died
    kills: list[ReaderError] = []

    def count(reader: reader_pool.ReaderProcess) -> ReaderError:
        kills.append(died(reader))
        if len(kills) == 2:
            monkeypatch.delenv("VAULTSEEK_FAILPOINTS")
        return kills[-1]

    monkeypatch.setattr(reader_pool.ReaderProcess, "_died", count)
    opened = index(vault(NOTES | {"folder 2/note 23.md": "# Title\n\nOkapi"}))
    assert len(kills) >= 2
    assert words(opened, "okapi") == ["folder 2/note 23.md"]


@pytest.mark.fault("D10")
def test_a_note_that_takes_too_long_is_left_alone(
    index: Index, vault: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTSEEK_FAILPOINTS", "note.read folder 1/note 4.md=spin")
    monkeypatch.setattr(reader_pool, "NOTE_SECONDS", 0.3)
    opened = index(vault(NOTES))
    problems = [(path, problem.code) for path, problem in opened.ledger.problems.all()]
    assert ("folder 1/note 4.md", "ends_daemon") in problems
    assert words(opened, "word5") == ["folder 2/note 5.md"]


def test_without_processes_the_notes_are_read_here(
    index: Index, vault: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader_pool, "COMMAND", ("/bin/false",))
    root = vault(NOTES)
    assert content(index(root)) == content(index(root, "serial", serial=True))


def test_stopping_keeps_what_is_done(index: Index, vault: Callable[..., Path], tmp_path: Path) -> None:
    root = vault({})
    opened = index(root)
    for path, text in NOTES.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")

    def stop(done: int, total: int) -> None:
        if done > 1:
            opened.indexer.stop()

    with pytest.raises(Cancelled):
        opened.indexer.apply(opened.indexer.reconcile(), stop)
    assert 1 < opened.ledger.counts().notes < len(NOTES)
    opened.close()
    assert content(index(root)) == content(index(root, "fresh", serial=True))


@pytest.mark.parametrize("least", [1, 1000])
def test_many_batches_are_merged_here_and_in_other_processes(
    least: int, index: Index, vault: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "FIRST_NOTES", 2)
    monkeypatch.setattr(batches, "MOST_NOTES", 2)
    monkeypatch.setattr(reader_pool, "MERGED_HERE_NOTES", least)
    opened = index(vault(NOTES))
    before = dump(opened.keyword_index)
    while opened.merge_keyword_segments():
        pass
    assert opened.keyword_index.segments < 16, "two sizes of segments"
    assert dump(opened.keyword_index) == before
    assert words(opened, "word41") == ["folder 2/note 41.md"]
