"""The second vector space: filled after the first, and used for texts that the first model cannot read."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from postgres_server import PostgresServer, postgres_server
from semantic_here import WorkerHere
from vaultseek.base.model import Reason
from vaultseek.core.indexing.embed import follow
from vaultseek.core.indexing.open_vault import OpenVault, VaultOptions
from vaultseek.core.indexing.storage import LOCAL
from vaultseek.core.indexing.unembedded import EmbeddingSpec
from vaultseek.core.library import index_vault
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.errors import WorkerUnavailable
from vaultseek.semantic.models.catalogue import find_model
from vaultseek.semantic.models.choice import VaultModels, choose_models
from vaultseek.semantic.worker.pool import WorkerPool
from vaultseek.settings.search import SearchSettings
from vaultseek_server.daemon.comparison import compare
from vaultseek_server.engines.storage import IndexedStorage
from vaultseek_server.settings import EngineOptions

NOTES = {f"n{i}.md": f"# Note {i}\n\nThe stone number {i} is granite.\n" for i in range(5)} | {
    "кварц.md": "# Кварц\n\nКварц твёрже гранита.\n"
}
RUSSIAN = "что твёрже гранита"


class World:
    """A vault with two spaces, each computed by a separate stand-in."""

    def __init__(self, root: Path, directory: Path, models: VaultModels) -> None:
        self.root = root
        self.first, self.second = WorkerHere(), WorkerHere(32)
        self.directory, self.models = directory, models
        self.storage = LOCAL
        self.runner = asyncio.Runner()
        self.vault = self._open()

    def _open(self) -> OpenVault:
        model = self.models.main
        spec = EmbeddingSpec(model.fingerprint, find_model("bundled").counter(), 100, model.name)
        options = VaultOptions("notes", self.root, storage=self.storage)
        self.pool = WorkerPool(lambda model: self.second)
        return OpenVault.open(options, self.directory, self.first, spec, models=self.models, pool=self.pool)

    def close(self) -> None:
        self.runner.run(self.pool.stop())
        self.vault.close()
        self.runner.close()

    def reopen(self) -> None:
        self.vault.close()
        self.vault = self._open()

    def index(self, *questions: str) -> None:
        self.runner.run(index_vault(self.vault, questions=questions))

    def search(self, text: str, mode: str = "hybrid") -> Any:
        request = SearchRequest(text, SearchSettings(), mode=mode, limit=10)
        return self.runner.run(Searcher(self.vault).search(request))

    def vectors(self, worker: WorkerHere, collection: str) -> dict[int, Any]:
        """Return the stored vectors of a worker's only store, by number."""
        (index,) = (each for (_, name), each in worker._stores.items() if name == collection)
        return {
            number: vector
            for batch in index._pages()
            for number, vector in zip(batch.numbers.tolist(), batch.vectors, strict=True)
        }


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def world(vault: Callable[..., Path], tmp_path: Path) -> Iterator[Callable[..., World]]:
    made: list[World] = []

    def make(second: str | None = "hashing-32", advice: str = "install one") -> World:
        other = None if second is None else find_model(second)
        models = VaultModels(
            find_model("hashing"), other, True, None if other else Reason("unread_language", advice)
        )
        made.append(World(vault(NOTES), tmp_path / "index", models))
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_a_question_in_another_language_is_answered_by_the_second_space(world):
    world = world()
    world.index(RUSSIAN)
    answer = world.search(RUSSIAN, mode="semantic")
    assert answer["partial"] == []
    assert answer["results"][0]["path"] == "кварц.md"
    vector = world.runner.run(world.vault.spaces.ask(RUSSIAN, 3, None)).vector
    assert (len(vector), len(world.runner.run(world.vault.spaces.ask("granite", 3, None)).vector)) == (
        32,
        64,
    )


def test_the_vectors_of_notes_are_in_the_space_that_answers(world):
    world = world()
    world.index(RUSSIAN)
    notes = world.vault.ledger.notes.ids()
    for text, width in ((RUSSIAN, 32), ("granite", 64), ("", 64)):
        vectors = world.runner.run(world.vault.spaces.note_vectors(notes, text))
        assert {len(vector) for vector in vectors.values()} == {width}


def test_a_note_that_changes_or_goes_is_followed(world):
    world = world()
    world.index(RUSSIAN)
    (world.root / "n0.md").write_text("# Note 0\n\nNow of marble.\n\n## More\n\nAnd of slate.\n")
    (world.root / "n1.md").unlink()
    assert world.vault.spaces.second.pending_count() == 0
    world.index(RUSSIAN)
    for collection in ("chunks", "notes"):
        assert world.vectors(world.second, collection).keys() == world.vectors(world.first, collection).keys()


def test_a_space_that_is_full_is_known_after_a_restart_without_its_model(world):
    world = world()
    world.index(RUSSIAN)

    async def refuse(*_: Any, **__: Any) -> None:
        raise WorkerUnavailable("not now")

    world.second.version = refuse
    world.reopen()
    assert world.vault.spaces.second.was_full
    assert "semantic" not in [each["lane"] for each in world.search(RUSSIAN)["partial"]]


def test_texts_that_were_embedded_are_not_embedded_again(world):
    world = world()
    world.index(RUSSIAN)
    computed = world.vault.ledger.vectors.embeddings_computed()
    world.second._stores.clear()
    world.runner.run(world.vault.spaces.second.discard_store("a test"))
    world.index(RUSSIAN)
    assert world.vault.ledger.vectors.embeddings_computed() == computed
    assert world.search(RUSSIAN, mode="semantic")["results"][0]["path"] == "кварц.md"


def test_a_second_space_gives_way_to_other_work_and_loses_nothing(world):
    world = world()
    world.index()
    second = world.vault.spaces.second
    turns = iter([False, True])

    async def follow_for_a_while() -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(follow(second, second.set_problem, lambda: next(turns, False)), 0.2)

    world.runner.run(follow_for_a_while())
    assert not second.was_full
    while world.runner.run(second.step()):
        pass
    assert second.was_full


def test_a_second_space_is_filled_from_the_beginning_after_removals_were_pruned(world, monkeypatch):
    monkeypatch.setattr("vaultseek.store.ledger.notes.REMOVED_NOTES", 0)
    here = world()
    here.index()
    here.runner.run(here.vault.spaces.second.discard_store("a test"))
    name = min(NOTES)
    (here.root / name).unlink()
    here.index(RUSSIAN)
    assert here.vault.ledger.select("SELECT * FROM removed") == []
    assert here.vault.spaces.second.pending_count() == 0
    assert here.vault.spaces.second.was_full


def test_before_the_second_space_has_anything_the_words_answer_and_it_is_said(world):
    world = world()
    world.index()
    answer = world.search(RUSSIAN)
    assert [(each["lane"], each["code"]) for each in answer["partial"]] == [("semantic", "being_built")]
    assert answer["results"][0]["path"] == "кварц.md"


def test_without_a_second_model_the_words_answer_and_it_is_said_how_to_get_one(world):
    world = world(None)
    world.index()
    (partial,) = world.search(RUSSIAN)["partial"]
    assert (partial["lane"], partial["code"]) == ("semantic", "unread_language")
    assert "install one" in partial["reason"]
    by_meaning = world.search(RUSSIAN, mode="semantic")
    assert (len(by_meaning["results"]) > 0, by_meaning["partial"][0]["code"]) == (True, "unread_language")
    assert world.search("what is harder than granite")["partial"] == []
    assert world.search("was ist härter als der Granit")["partial"] == [], "poorly read is read"


def test_a_space_that_is_switched_off_is_removed(world):
    world = world()
    world.index(RUSSIAN)
    folder = world.directory / "semantic-2"
    folder.mkdir(exist_ok=True)
    world.models = VaultModels(world.models.main, None, True)
    world.reopen()
    assert not folder.exists()


@pytest.mark.parametrize(
    ("share", "automatic", "main", "second"),
    [
        (0.0, True, "hashing", "hashing-32"),
        (0.1, True, "hashing", "hashing-32"),
        (1.0, True, "hashing-32", None),
        (1.0, False, "hashing", "hashing-32"),
    ],
)
def test_the_language_of_the_vault_chooses_its_model(share, automatic, main, second):
    choice = VaultModels(find_model("hashing"), find_model("hashing-32"), True, automatic=automatic)
    models = choice.of_vault(share)
    assert (models.main.name, models.second.name if models.second else None) == (main, second)
    shares = f"{share:.0%} of the notes are not", f"{1 - share:.0%} of the notes are"
    of_notes = f"{shares[second is not None]} in English"
    assert models.why == (f"chosen because {of_notes}" if automatic else "")
    assert choose_models("hashing").of_vault(share).why == "set as model.name"


@pytest.mark.parametrize(
    ("share", "why"),
    [
        (0.1, "the only one installed"),
        (0.75, "the only one installed, although 75% of the notes are not in English; add the extra"),
    ],
)
def test_a_vault_in_another_language_without_a_model_for_it_says_so(share, why):
    missing = Reason("unread_language", "add the extra")
    choice = VaultModels(find_model("hashing"), None, True, missing, "the only one installed", automatic=True)
    assert choice.of_vault(share).why == why


def test_vectors_of_both_spaces_are_unit_vectors(world):
    world = world()
    world.index(RUSSIAN)
    for worker in (world.first, world.second):
        for vector in world.vectors(worker, "chunks").values():
            assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_a_second_space_that_fails_says_why_until_it_does_not(world):
    world = world()
    world.index()
    second = world.vault.spaces.second

    async def refuse(*_: Any, **__: Any) -> None:
        raise OSError("no space left on device")

    async def follow_until(condition: Callable[[], bool]) -> None:
        following = asyncio.create_task(follow(second, second.set_problem))
        async with asyncio.timeout(30):
            while not condition():
                await asyncio.sleep(0.01)
        following.cancel()

    apply, world.second.apply = world.second.apply, refuse
    world.runner.run(follow_until(lambda: second.problem is not None))
    assert world.vault.spaces.as_json()["second_problem"] == "storing vectors failed (OSError); see the log"
    world.second.apply = apply
    world.runner.run(follow_until(lambda: second.was_full))
    assert world.vault.spaces.as_json()["second_problem"] is None


@pytest.mark.long
def test_both_spaces_move_to_an_engine_and_back_and_no_text_is_embedded_again(world, server):
    world = world()
    world.index(RUSSIAN)

    def numbers() -> dict[str, tuple[int, int | None]]:
        comparison = world.runner.run(compare(world.vault))
        assert comparison.is_same, comparison
        return {number.of: (number.ledger, number.engine) for number in comparison.numbers}

    before, computed = numbers(), world.vault.ledger.vectors.embeddings_computed()
    assert before["second vectors of notes"] == (6, 6)
    for storage in (IndexedStorage(EngineOptions(server.uri, seconds=30.0)), LOCAL):
        world.storage = storage
        world.reopen()
        world.index(RUSSIAN)
        assert numbers() == before
        assert world.vault.ledger.vectors.embeddings_computed() == computed
        assert world.search(RUSSIAN, mode="semantic")["results"][0]["path"] == "кварц.md"
        if storage is not LOCAL:  # changes made meanwhile must not be lost later
            (world.root / "n0.md").write_text("# Note 0\n\nNow of marble.\n")
            world.index(RUSSIAN)
            computed = world.vault.ledger.vectors.embeddings_computed()
    stored = world.vectors(world.second, "notes")
    second = world.vault.spaces.second
    for item in second.unembedded.of_notes(list(stored)):
        assert item.chunk is not None or stored[item.note].tobytes() == item.vector
