"""Notes parsed by a client in place of the reader processes: the ledger is the same, whatever it does."""

from __future__ import annotations

import base64
import contextlib
import copy
import itertools
import json
import os
import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semantic_here import WorkerHere
from vaultseek import __version__
from vaultseek.base.limits import HANDED_NOTE_BYTES, NOTE_PARSE_BYTES
from vaultseek.core.indexing import batches, ingest, note_handout
from vaultseek.core.indexing.note_codec import decode, encode
from vaultseek.core.indexing.note_handout import HandedNote, NoteHandout
from vaultseek.core.indexing.open_vault import OpenVault, VaultOptions
from vaultseek.core.indexing.reading import NoteReader
from vaultseek.core.indexing.unembedded import EmbeddingSpec
from vaultseek.semantic.models.catalogue import find_model
from vaultseek.tools.cluster.ray_cluster import parse_notes

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
    "large.md": "# Large\n\n" + "A pump. [[empty]] #tag\n\n" * (HANDED_NOTE_BYTES // 20),
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
    monkeypatch.setattr(ingest, "POOL_NOTES", 5)
    monkeypatch.setattr(batches, "FIRST_NOTES", 7)
    monkeypatch.setattr(batches, "MOST_NOTES", 40)


class Client:
    """A client in a thread, which parses as the machines of a cluster do."""

    def __init__(
        self,
        handout: NoteHandout,
        bring: Callable[[dict[str, str]], dict[str, str]] = lambda texts: texts,
    ) -> None:
        """``submit`` returns of parsed notes those that are brought; the others are refused."""
        self.brought = 0
        self._handout = handout
        self._bring = bring
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work)

    def __enter__(self) -> Client:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._over.is_set():
            notes = self._handout.take(5)
            if not notes:
                self._over.wait(0.01)
                continue
            texts = self._bring(parsed_by_cluster(notes))
            self.brought += self._handout.submit(texts, {note.key for note in notes} - texts.keys())


def parsed_by_cluster(notes: list[HandedNote]) -> dict[str, str]:
    model = find_model("hashing")
    given = [(note.path, note.data) for note in notes]
    answer = parse_notes(__version__, model.name, model.fingerprint, model.window, given)
    assert answer["failed"] == [place for place, text in enumerate(answer["answers"]) if text is None]
    return {note.key: text for note, text in zip(notes, answer["answers"], strict=True) if text is not None}


class Worlds:
    """Vaults opened over one folder, each with an index of its own."""

    def __init__(self, folder: Path, closing: contextlib.ExitStack) -> None:
        self._folder = folder
        self._closing = closing

    def open(self, root: Path, name: str) -> OpenVault:
        model = find_model("hashing")
        spec = EmbeddingSpec(model.fingerprint, model.counter(), model.window)
        vault = OpenVault.open(
            VaultOptions("notes", root),
            self._folder / name,
            WorkerHere(),  # type: ignore[arg-type]
            spec,
        )
        self._closing.callback(vault.close)
        vault.indexer.load()
        return vault


@pytest.fixture
def worlds(tmp_path: Path) -> Iterator[Worlds]:
    with contextlib.ExitStack() as closing:
        yield Worlds(tmp_path, closing)


def read(vault: OpenVault) -> None:
    vault.indexer.apply(vault.indexer.reconcile())


def tables(vault: OpenVault) -> dict[str, list[Any]]:
    """Return every table of the ledger, but for revisions, and whether a file was young when it was read.

    Batches are cut by size and time, so that passages may have other numbers.
    """
    ledger = vault.ledger
    contents = {}
    for (table,) in ledger.select("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"):
        columns = [row[1] for row in ledger.select(f"PRAGMA table_info({table})")]
        wanted = ", ".join(name for name in columns if name not in ("number", "revision", "racy"))
        contents[table] = sorted(ledger.select(f"SELECT {wanted} FROM {table}"), key=repr)
    contents["meta"] = [row for row in contents["meta"] if row[0] not in ("generation", "made", "revision")]
    return contents


def write(root: Path, notes: dict[str, str | bytes]) -> Path:
    for path, text in notes.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    return root


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("vault"), HOSTILE)


@pytest.mark.parametrize("vault", ["sample", "hostile"])
def test_the_ledger_is_that_of_a_vault_read_here(hostile, worlds, vault):
    root = SAMPLE if vault == "sample" else hostile
    here, there = worlds.open(root, "here"), worlds.open(root, "there")
    read(here)
    with there.indexer.handout.opened(), Client(there.indexer.handout) as client:
        read(there)
    assert client.brought > len(HOSTILE) / 2
    contents, expected = tables(there), tables(here)
    for table in expected:
        assert contents[table] == expected[table]
    assert contents.keys() == expected.keys()


def test_a_client_that_brings_other_things_harms_nothing(hostile, worlds):
    """Some notes are refused, some cut off, some of another note, some nonsense, one under no key."""

    def submit(texts: dict[str, str]) -> dict[str, str]:
        ways = itertools.cycle([lambda text: text[:-3], lambda text: "{}", lambda text: "", None, encoded])
        changed = {key: way(text) for (key, text), way in zip(texts.items(), ways, strict=False) if way}
        return changed | {"no such key": "{}"}

    def encoded(_: str) -> str:
        return base64.b85encode(zlib.compress(b'{"title": 1}')).decode()

    here, there = worlds.open(hostile, "here"), worlds.open(hostile, "there")
    read(here)
    with there.indexer.handout.opened(), Client(there.indexer.handout, submit) as client:
        read(there)
    assert client.brought
    assert tables(there) == tables(here)


def test_a_note_that_changes_while_it_is_away_is_read_again(tmp_path, worlds):
    root = write(tmp_path / "vault", {f"{n}.md": f"# First {n}" for n in range(20)})

    def submit(texts: dict[str, str]) -> dict[str, str]:
        for n in range(20):
            (root / f"{n}.md").write_text(f"# Second {n}")
        return texts

    vault = worlds.open(root, "index")
    with vault.indexer.handout.opened(), Client(vault.indexer.handout, submit):
        read(vault)
    rows = vault.ledger.notes.by_id(vault.ledger.notes.ids()).values()
    assert len({row.title for row in rows} & {f"First {n}" for n in range(20)}) == 1, (
        "the one read before all"
    )


def test_a_client_that_goes_away_leaves_the_rest_to_the_reader_processes(hostile, worlds):
    here, there = worlds.open(hostile, "here"), worlds.open(hostile, "there")
    read(here)
    handout = there.indexer.handout
    with handout.opened():
        reading = threading.Thread(target=read, args=[there])
        reading.start()
        notes: list[HandedNote] = []
        while len(notes) < 6:
            notes += handout.take(6 - len(notes))
        handout.submit(dict(list(parsed_by_cluster(notes).items())[:2]), ())
    reading.join()
    assert tables(there) == tables(here)
    assert not handout.submit({notes[-1].key: ""}, ()), (
        "what is out when a client goes away is not taken later"
    )


def test_a_client_that_brings_nothing_is_not_waited_for(hostile, worlds, monkeypatch):
    monkeypatch.setattr(note_handout, "STALLED_SECONDS", 0.0)
    here, there = worlds.open(hostile, "here"), worlds.open(hostile, "there")
    read(here)
    with there.indexer.handout.opened():
        read(there)
        assert not there.indexer.handout.is_open
        there.indexer.handout.submit({}, ())
        assert there.indexer.handout.is_open, "it brings something again"
    assert tables(there) == tables(here)


def test_a_note_that_ends_every_process_is_named_as_without_a_client(tmp_path, worlds, monkeypatch):
    root = write(tmp_path / "vault", {f"{n}.md": f"# Title {n}" for n in range(30)})
    monkeypatch.setenv("VAULTSEEK_FAILPOINTS", "note.read 17.md=kill")
    vault = worlds.open(root, "index")

    with vault.indexer.handout.opened(), Client(vault.indexer.handout, bring=lambda texts: {}):
        read(vault)
    assert [(path, problem.code) for path, problem in vault.ledger.problems.all()] == [
        ("17.md", "ends_daemon")
    ]
    assert vault.ledger.counts().notes == 30


def test_notes_that_have_not_changed_stay_here(tmp_path, worlds):
    root = write(tmp_path / "vault", {f"{n}.md": f"# Title {n}" for n in range(20)})
    vault = worlds.open(root, "index")
    read(vault)
    for path in root.iterdir():
        os.utime(path, (1, 1))
    with vault.indexer.handout.opened(), Client(vault.indexer.handout) as client:
        read(vault)
    assert not client.brought
    assert {row.modified for row in vault.ledger.notes.by_id(vault.ledger.notes.ids()).values()} == {1.0}


def parsed(data: bytes) -> tuple[Any, Any]:
    model = find_model("hashing")
    return NoteReader(Path(), model.counter(), model.window).parse("a/b.md", data)


def test_what_was_parsed_elsewhere_passes_the_checks():
    files = [file.read_bytes() for file in SAMPLE.rglob("*.md")]
    files += [text if isinstance(text, bytes) else text.encode() for text in HOSTILE.values()]
    refused = 0
    for data in files:
        note, chunks = parsed(data)
        try:
            assert decode(encode(note, chunks), "a/b.md", data)[1] == chunks
        except ValueError:
            refused += 1
    assert refused == 2, "the texts of drawings have lines of their own"


@given(st.text())
def test_any_note_is_the_same_after_its_way(text):
    note, chunks = parsed(text.encode())
    back, passages = decode(encode(note, chunks), "a/b.md", text.encode())
    assert passages == chunks
    parts = ("path", "title", "title_source", "frontmatter", "tags", "aliases", "links", "headings", "blocks")
    for part in (*parts, "tasks", "problems"):
        assert getattr(back, part) == getattr(note, part)
    assert [link.place for link in back.links] == [link.place for link in note.links]


NOTE = "---\ntags: [a]\n---\n# Title\n\n- [ ] task ^id\n\n[[link]]\n\n```\ncode\n```\n"
PARSED = json.loads(zlib.decompress(base64.b85decode(encode(*parsed(NOTE.encode())))))
VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just([]) | st.just({})


def places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield (*above, key)
        yield from places(part, (*above, key))


@settings(max_examples=300)
@given(place=st.sampled_from(list(places(PARSED))), value=VALUES)
def test_a_wrong_value_is_refused_or_has_the_right_type(place, value):
    changed = copy.deepcopy(PARSED)
    inner = changed
    for key in place[:-1]:
        inner = inner[key]
    before, inner[place[-1]] = inner[place[-1]], value
    text = base64.b85encode(zlib.compress(json.dumps(changed).encode())).decode()
    try:
        note, chunks = decode(text, "a/b.md", NOTE.encode())
    except ValueError:
        return
    lines = [part.line for part in (*note.headings, *note.links, *note.tasks, *note.blocks)]
    lines += [line for chunk in chunks for line in (chunk.start_line, chunk.end_line)]
    assert all(type(line) is int and 0 < line <= NOTE.count("\n") + 1 for line in lines)
    assert all(chunk.text in NOTE for chunk in chunks)
    assert value is None or before is None or type(value) is type(before)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "~~~",
        base64.b85encode(b"x").decode(),
        base64.b85encode(zlib.compress(b" " * 10**8)).decode(),
    ],
)
def test_what_is_no_parsed_note_is_refused(text):
    with pytest.raises(ValueError, match=r".") as refusal:
        decode(text, "a.md", b"A note.")
    assert isinstance(refusal.value, ValueError)
