"""Whatever happens to the files and to the indexes, the answers equal those of a fresh index."""

import asyncio
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from examples import examples
from keyword_answers import hits_of
from vaultseek.core.indexing.audit import Audit, audit
from vaultseek.core.indexing.open_vault import OpenVault, VaultOptions
from vaultseek.core.indexing.unembedded import EmbeddingSpec
from vaultseek.semantic.models.tokens import count_words
from vaultseek.semantic.worker import CHUNKS, NOTES

pytestmark = pytest.mark.slow

WORDS = ["anchor", "bilge", "chain", "dinghy", "ebb", "fender"]
FOLDERS = ["", "a/", "a/b/", "c/"]
NAMES = ["one", "two", "three"]
PATHS = st.sampled_from([f"{folder}{name}.md" for folder in FOLDERS for name in NAMES])
LINKS = st.sampled_from([*NAMES, "a/one"])
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""A folder in memory for thousands of small commits, if the machine has one."""


class StoreInMemory:
    """A stand-in for the semantic worker that counts what it embeds and keeps what it receives."""

    def __init__(self) -> None:
        self.counts_quickly = True
        self.collections: dict[str, dict[int, int]] = {}
        self.versions: dict[str, str | None] = {}
        self.embedded: list[str] = []

    async def embed(self, texts: Sequence[str], **_: Any) -> Any:
        self.embedded += texts
        return np.ones((len(texts), 4), np.float32)

    async def apply(
        self, store: Path, collection: str, *, numbers=(), notes=(), vectors=None, deletes=(), version=None
    ) -> None:
        held = self.collections.setdefault(collection, {})
        for number in deletes:
            held.pop(number, None)
        held.update(zip(numbers, notes, strict=True))
        self.versions[collection] = version

    async def version(self, store: Path, collection: str) -> str | None:
        return self.versions.get(collection)

    async def count(self, store: Path, collection: str) -> int:
        return len(self.collections.get(collection, {}))

    async def drop(self, store: Path) -> None:
        self.collections.clear()
        self.versions.clear()


class Indexed:
    """A vault's ledger, keyword index, graph and vectors, opened as a daemon opens them."""

    def __init__(self, root: Path, directory: Path, worker: StoreInMemory) -> None:
        spec = EmbeddingSpec("test", count_words, 100)
        options = VaultOptions("life", root, language="en")
        self.vault = OpenVault.open(options, directory, worker, spec)  # type: ignore[arg-type]
        self.ledger, self.embedding = self.vault.ledger, self.vault.embedding
        self.vault.indexer.load()

    def look(self, hints: set[str] | None) -> None:
        self.vault.indexer.apply(self.vault.indexer.reconcile(hints))

    def embed(self) -> None:
        async def all_steps() -> None:
            while await self.embedding.step():
                pass

        asyncio.run(all_steps())

    def close(self) -> None:
        self.vault.close()

    def audit(self) -> Audit:
        return audit(self.ledger, self.embedding.unembedded, seconds=60)

    def dump(self) -> list[str]:
        """All data that a search can see, by path."""
        ids = {number: row.path for number, row in self.ledger.notes.by_id(self.ledger.notes.ids()).items()}
        lines = [f"note {row.path} {row.title}" for row in self.ledger.notes.by_id(list(ids)).values()]
        for number, chunks in self.ledger.chunks.by_note(list(ids)).items():
            lines += [f"chunk {ids[number]} {c.id} {c.start_line} {c.text!r}" for c in chunks]
        for row in self.ledger.links.from_notes(list(ids)):
            lines.append(f"link {row.source} {row.link.target} -> {row.resolved}")
        assert self.vault.graph is not None
        lines += [f"edge {ids[a]} {ids[b]}" for a, b in self.vault.graph.edges()]
        for word in WORDS:
            answer = self.vault.keyword_index.search(word, 50)
            hits = sorted((ids[hit.note], round(hit.score, 6)) for hit in hits_of(answer))
            lines.append(f"search {word} {hits}")
        return sorted(lines)


class Life(RuleBasedStateMachine):
    """Files come, change, move and go; daemons stop; indexes are lost."""

    @initialize()
    def begin(self) -> None:
        self.place = Path(tempfile.mkdtemp(prefix="vaultseek-life-", dir=MEMORY))
        self.root = self.place / "vault"
        self.root.mkdir()
        self.worker = StoreInMemory()
        self.model: dict[str, str] = {}
        self.hints: set[str] = set()
        self.open()
        self.write([("one.md", ["ebb"], "two"), ("a/two.md", ["anchor"], "three"), ("c/three.md", [], "one")])
        self.look(everything=True)

    def open(self) -> None:
        data = self.place / "data"
        data.mkdir(exist_ok=True)
        self.indexed = Indexed(self.root, data, self.worker)

    def teardown(self) -> None:
        if hasattr(self, "indexed"):
            self.look(everything=True)
            self.indexed.embed()
            assert self.indexed.audit() == Audit(len(self.model))
            self.indexed.close()
            shutil.rmtree(self.place)

    @rule(notes=st.lists(st.tuples(PATHS, st.lists(st.sampled_from(WORDS), max_size=3), LINKS), max_size=4))
    def write(self, notes: list[tuple[str, list[str], str]]) -> None:
        for path, words, link in notes:
            text = f"# {' '.join(words[:1])}\n\n{' '.join(words)}\n\n[[{link}]]\n"
            file = self.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            self.model[path] = text
            self.hints.add(path)

    @rule(data=st.data(), goal=PATHS)
    def move(self, data: st.DataObject, goal: str) -> None:
        if self.model:
            source = data.draw(st.sampled_from(sorted(self.model)))
            (self.root / goal).parent.mkdir(parents=True, exist_ok=True)
            (self.root / source).rename(self.root / goal)
            self.model[goal] = self.model.pop(source)
            self.hints |= {source, goal}

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        if self.model:
            path = data.draw(st.sampled_from(sorted(self.model)))
            (self.root / path).unlink()
            del self.model[path]
            self.hints.add(path)

    @rule()
    def move_a_folder(self) -> None:
        source, target = self.root / "a", self.root / "d"
        if source.exists() and not target.exists():
            source.rename(target)
            self.model = {"d" + p[1:] if p.startswith("a/") else p: t for p, t in self.model.items()}
            self.hints |= {"a", "d"}

    @rule()
    def restart(self) -> None:
        self.indexed.close()
        self.open()

    @rule()
    def lose_the_keyword_index(self) -> None:
        self.indexed.close()
        shutil.rmtree(self.place / "data" / "keyword")
        self.open()

    @rule()
    def lose_the_vectors(self) -> None:
        self.worker.collections.clear()
        self.worker.versions.clear()
        self.indexed.embedding.ready = False

    @rule(everything=st.booleans())
    def look(self, everything: bool) -> None:
        self.indexed.look(None if everything else self.hints)
        self.hints = set()

    @rule()
    def embed(self) -> None:
        self.indexed.embed()

    @invariant()
    def is_what_a_fresh_index_would_be(self) -> None:
        if not hasattr(self, "indexed") or self.hints:
            return
        fresh_place = Path(tempfile.mkdtemp(prefix="vaultseek-fresh-", dir=MEMORY))
        try:
            fresh = Indexed(self.root, fresh_place, StoreInMemory())
            fresh.look(None)
            assert sorted(self.indexed.ledger.notes.file_states()) == sorted(self.model)
            assert self.indexed.dump() == fresh.dump()
            fresh.close()
        finally:
            shutil.rmtree(fresh_place)

    @invariant()
    def nothing_is_embedded_twice_and_nothing_is_left_over(self) -> None:
        if not hasattr(self, "indexed") or self.indexed.ledger.counts().pending or self.hints:
            return
        assert len(set(self.worker.embedded)) == len(self.worker.embedded)
        ledger = self.indexed.ledger
        if any(ledger.space.orphans(1)) or not self.indexed.embedding.ready:
            return
        numbers = {row[0] for row in ledger.select("SELECT number FROM chunks")}
        assert set(self.worker.collections.get(CHUNKS, {})) == numbers
        assert set(self.worker.collections.get(NOTES, {})) == set(ledger.notes.ids())


Life.TestCase.settings = examples(30, stateful_step_count=40, suppress_health_check=list(HealthCheck))
TestLife = Life.TestCase


def test_a_damaged_keyword_index_is_rebuilt_from_the_ledger(vault, tmp_path):
    root = vault({"a.md": "anchor", "b.md": "bilge"})
    data = tmp_path / "d"
    data.mkdir()
    first = Indexed(root, data, StoreInMemory())
    first.look(None)
    before = first.dump()
    first.close()
    for file in (data / "keyword").iterdir():
        if file.is_file():
            file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    second = Indexed(root, data, StoreInMemory())
    assert second.dump() == before
    second.close()


def test_no_vector_is_left_of_a_note_that_was_renamed_and_deleted_before_it_was_embedded_again(
    vault, tmp_path
):
    root = vault({"one.md": "# Slugs\n\nThey ate the salad."})
    indexed = Indexed(root, tmp_path / "place", worker := StoreInMemory())
    indexed.look(None)
    indexed.embed()
    (root / "one.md").rename(root / "two.md")
    indexed.look(None)
    (root / "two.md").unlink()
    indexed.look(None)
    indexed.embed()
    assert not worker.collections[CHUNKS]
    assert not worker.collections[NOTES]
    indexed.close()
