"""The concepts of a vault: which terms they are, how they follow the notes, and their effect on a query."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from semantic_here import WorkerHere, open_vault
from vaultseek.core.indexing.concepts import Concepts, choose_terms, follow
from vaultseek.core.indexing.open_vault import VaultOptions
from vaultseek.core.library import index_vault
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.errors import Unavailable, WorkerUnavailable
from vaultseek.semantic.inference.embed import HashingEncoder
from vaultseek.semantic.models.catalogue import find_model
from vaultseek.settings.load import with_overrides
from vaultseek.settings.search import SearchSettings
from vaultseek.store.concept_vocabulary import FILE_NAME, ConceptVocabulary, write_vocabulary
from worlds import until

NOTES = {
    "Pump.md": "---\ntags: [work/pumps]\naliases: [Float alarm]\n---\n# Cellar drain\n\nvalve water float",
    "Salad.md": "---\ntags: [garden]\n---\n# Lettuce bed\n\nslugs eat salad, valve",
    "Slugs.md": "---\ntags: [garden]\n---\n# Slimy visitors\n\nslugs and copper and water, see [[Salad]]",
    "2026-01-12.md": "E-4107 failed at 10:30, water water 4107 4107",
}
WISHED = {"expansion.enabled": True, "expansion.floor": 0.3}


class CountingWorker(WorkerHere):
    """A worker that records the texts it embedded, and may be down."""

    def __init__(self) -> None:
        super().__init__()
        self.embedded: list[str] = []
        self.down = False

    async def embed(self, texts: Any, **more: Any) -> Any:
        if self.down:
            raise WorkerUnavailable("it is down")
        self.embedded += texts
        return await super().embed(texts, **more)


class Open:
    """An indexed vault, its worker, and the folder of its index."""

    def __init__(self, root: Path, cache: Path, model: str) -> None:
        self.worker = CountingWorker()
        self.file = cache / FILE_NAME
        self.root = root
        self.measured = open_vault(VaultOptions("notes", root), cache, self.worker, find_model(model))

    async def take_in(self) -> None:
        await index_vault(self.measured)
        self.worker.embedded.clear()

    async def ask(self, query: str, **more: Any) -> Any:
        settings = with_overrides(SearchSettings(), {**WISHED, **more.pop("settings", {})})
        return await Searcher(self.measured).search(SearchRequest(query, settings, explain=True, **more))

    async def terms_for(self, query: str, **settings: Any) -> list[str]:
        answer = await self.ask(query, settings=settings)
        return [concept["term"] for concept in answer["explain"]["expansion"]]

    def kept(self) -> dict[str, int]:
        told = json.loads(self.file.read_text(encoding="utf-8"))
        return {entry["term"]: entry["notes"] for entry in told["terms"]}


OpenVault = Callable[..., Any]


@pytest.fixture
def opened(vault: Callable[[Mapping[str, str]], Path], tmp_path: Path) -> OpenVault:
    """``async with opened() as world`` indexes the notes; later calls open the same index."""

    @asynccontextmanager
    async def opening(files: Mapping[str, str] = NOTES, model: str = "hashing") -> AsyncIterator[Open]:
        world = Open(vault(files), tmp_path / "cache", model)
        try:
            await world.take_in()
            yield world
        finally:
            world.measured.close()

    return opening


# Which terms


async def test_concepts_are_tags_names_and_words_that_tell_notes_apart(opened):
    async with opened() as world:
        terms = choose_terms(world.measured.ledger, world.measured.keyword_index)
    assert list(terms)[:2] == ["garden", "work pumps"]
    assert terms["garden"] == 2
    assert {"Cellar drain", "Float alarm", "Lettuce bed", "Slimy visitors"} <= terms.keys()
    assert terms["valve"] == terms["slugs"] == 2
    assert "copper" not in terms, "a word of one note"
    assert "water" not in terms, "a word of most notes"
    assert not {"and", "see", "4107", "e-4107", "2026 01 12", "2026"} & terms.keys()


async def test_a_note_that_is_linked_to_goes_before_one_that_is_not(opened):
    async with opened() as world:
        names = list(choose_terms(world.measured.ledger, world.measured.keyword_index))
    assert names.index("Lettuce bed") < names.index("Cellar drain") < names.index("Slimy visitors")


async def test_a_vault_has_so_many_concepts_and_no_more(opened, monkeypatch):
    monkeypatch.setattr("vaultseek.core.indexing.concepts.CONCEPT_TERMS", 5)
    monkeypatch.setattr("vaultseek.core.indexing.concepts.CONCEPT_NAMES", 3)
    async with opened() as world:
        terms = choose_terms(world.measured.ledger, world.measured.keyword_index)
    assert list(terms) == ["garden", "work pumps", "Lettuce bed", "salad", "slugs"]


@pytest.mark.parametrize(
    ("title", "terms"),
    [
        ("Sourdough", ["Sourdough"]),
        ("索道", ["索道"]),
        ("Everyday Sourdough for Two", ["Everyday Sourdough for Two"]),
        ("everyday_sourdough", ["everyday sourdough"]),
        ("A title that goes on and on like a sentence", []),
        ("RFC 2616", []),
        ("2026-01-12", []),
        ("42", []),
        ("How to", []),
        ("x" * 100, []),
    ],
)
async def test_which_titles_are_concepts(opened, title, terms):
    async with opened({"a.md": f"---\ntitle: '{title}'\n---\nText"}) as world:
        assert list(choose_terms(world.measured.ledger, world.measured.keyword_index)) == terms


async def test_a_name_is_counted_by_the_notes_that_bear_it(opened):
    bread = "---\naliases: [loaf, Bread, weekend loaf]\n---\n"
    async with opened({"a/Bread.md": bread, "b/Bread.md": "Flour", "c/loaf.md": "Rye"}) as world:
        terms = choose_terms(world.measured.ledger, world.measured.keyword_index)
    assert terms == {"loaf": 2, "Bread": 2, "weekend loaf": 1}


async def test_a_vault_without_notes_has_none(opened):
    async with opened({}) as world:
        assert choose_terms(world.measured.ledger, world.measured.keyword_index) == {}


# What they do to a query


async def test_near_concepts_join_the_query_and_the_answer_says_which(opened):
    async with opened() as world:
        answer = await world.ask("lettuce slimy")
        plain = await world.ask("lettuce slimy", settings={"expansion.enabled": False})
    told = answer["explain"]["expansion"]
    assert [concept["term"] for concept in told] == ["Lettuce bed", "Slimy visitors"]
    assert told[0]["similarity"] == pytest.approx(0.5, abs=0.01)
    assert told[0]["notes"] == 1
    assert plain["explain"]["expansion"] == []
    scores = [
        {result["path"]: result["lanes"]["semantic"]["score"] for result in found["results"]}
        for found in (answer, plain)
    ]
    assert scores[0]["Salad.md"] > scores[1]["Salad.md"], "the passage has the words that joined"


async def test_without_asking_for_it_nothing_is_made(opened):
    async with opened() as world:
        await Searcher(world.measured).search(SearchRequest("lettuce", SearchSettings()))
        assert not world.file.exists()
        assert world.worker.embedded == []


async def test_how_many_join_and_from_which_similarity(opened):
    async with opened() as world:
        assert len(await world.terms_for("lettuce slimy", **{"expansion.terms": 1})) == 1
        assert await world.terms_for("lettuce slimy", **{"expansion.floor": 0.9}) == []
        assert await world.terms_for("zeppelin quasar") == []


async def test_what_the_query_has_does_not_join_it_again(opened):
    async with opened() as world:
        assert "slugs" not in await world.terms_for("slug", **{"expansion.floor": 0.0, "expansion.terms": 10})
        assert "Lettuce bed" not in await world.terms_for("the lettuce beds")
        assert await world.terms_for("valve") == []


async def test_where_none_is_near_enough_the_explanation_says_so(opened):
    async def reason(query: str, mode: str = "hybrid", **settings: Any) -> str | None:
        asked = {f"expansion.{name}": value for name, value in settings.items()}
        return (await world.ask(query, mode=mode, settings=asked))["explain"]["not_expanded"]

    async with opened() as world:
        near = "no other term in the vault reaches the similarity search.expansion.floor (0.9)"
        assert await reason("lettuce slimy", floor=0.9) == near
        assert await reason("E-4107") == "identifiers are not expanded"
        assert await reason("lettuce slimy") is None
        assert await reason("lettuce slimy", floor=0.9, mode="keyword") is None
        assert await reason("lettuce slimy", enabled=False) is None
        assert await reason("tag:garden") is None


@pytest.mark.parametrize("mode", ["hybrid", "semantic"])
async def test_identifiers_are_not_expanded(opened, mode):
    async with opened() as world:
        answer = await world.ask("E-4107", mode=mode, settings={"expansion.floor": 0.0})
        assert answer["explain"]["expansion"] == []


async def test_confidence_and_words_are_those_of_the_query_alone(opened):
    async with opened() as world:
        more, plain = [
            {result["path"]: result for result in (await world.ask(q, settings=s))["results"]}
            for q, s in (("lettuce slimy", {}), ("lettuce slimy", {"expansion.enabled": False}))
        ]
    assert {path: result["confidence"] for path, result in more.items()} == {
        path: result["confidence"] for path, result in plain.items()
    }
    assert {path: (result["lanes"]["keyword"] or {}).get("score") for path, result in more.items()} == {
        path: (result["lanes"]["keyword"] or {}).get("score") for path, result in plain.items()
    }


async def test_filters_hold(opened):
    async with opened() as world:
        answer = await world.ask("lettuce slimy tag:work")
    assert [result["path"] for result in answer["results"]] == ["Pump.md"]


# Following the notes


async def test_it_follows_edits_names_and_removals_and_embeds_only_what_is_new(opened):
    async with opened() as world:
        await world.ask("lettuce")
        first = world.kept()
        assert set(world.worker.embedded) == first.keys()
        (world.root / "Pump.md").write_text("---\ntags: [garden]\n---\n# Rain barrel\n\nslugs", "utf-8")
        (world.root / "Slugs.md").unlink()
        (world.root / "Salad.md").rename(world.root / "Greens.md")
        await world.take_in()
        await world.ask("lettuce")
        second = world.kept()
    assert set(world.worker.embedded) == second.keys() - first.keys() == {"Rain barrel"}
    assert {"Cellar drain", "Float alarm", "work pumps", "Slimy visitors"} <= first.keys() - second.keys()
    assert (second["garden"], second["Lettuce bed"], second["slugs"]) == (2, 1, 2)


async def test_after_a_restart_nothing_is_embedded_again(opened):
    async with opened() as world:
        before = await world.terms_for("lettuce slimy")
        stamp = world.file.stat().st_mtime_ns
    async with opened() as world:
        assert await world.terms_for("lettuce slimy") == before
        assert world.worker.embedded == []
        assert world.file.stat().st_mtime_ns == stamp


@pytest.mark.parametrize("content", [b"", b'{"version": 1, "model": "hashing", "terms": [{"term": "pump"}]}'])
async def test_a_damaged_file_is_made_again(opened, content):
    async with opened() as world:
        before = await world.terms_for("lettuce slimy")
        kept = world.kept()
        world.file.write_bytes(content)
    async with opened() as world:
        assert await world.terms_for("lettuce slimy") == before
        assert world.kept() == kept


async def test_vectors_of_another_length_are_made_again(opened):
    async with opened() as world:
        await world.ask("lettuce")
        kept = world.kept()
        short = dict(zip(kept, HashingEncoder(8).encode(list(kept)), strict=True))
        concepts = concepts_of(world)
        write_vocabulary(ConceptVocabulary.build("hashing", kept, short), world.file)
        vector = HashingEncoder().encode(["lettuce"])[0]
        with pytest.raises(Unavailable, match="being built"):
            await concepts.near("lettuce", vector, 3, 0.3)
        await concepts.refresh()
        write_vocabulary(ConceptVocabulary.build("hashing", {"garden": 1}, short), world.file)
        concepts = concepts_of(world)
        await concepts.refresh()
        assert [concept.term for concept in await concepts.near("lettuce", vector, 3, 0.3)] == ["Lettuce bed"]


async def test_another_model_makes_it_anew(opened):
    async with opened() as world:
        await world.ask("lettuce")
        kept = world.kept()
    async with opened() as world:
        other = concepts_of(world, "hashing-32")
        world.worker.embedded.clear()
        await other.refresh()
        assert set(world.worker.embedded) == kept.keys()
        assert json.loads(world.file.read_text("utf-8"))["model"] == "hashing-32"


async def test_a_term_that_cannot_be_embedded_is_left_out(opened, monkeypatch):
    async with opened() as world:
        embed = world.worker.embed

        async def failing(texts: Any, **more: Any) -> Any:
            matrix = await embed(texts, **more)
            matrix[[text == "garden" for text in texts]] = float("nan")
            return matrix

        monkeypatch.setattr(world.worker, "embed", failing)
        await world.ask("lettuce")
        assert "garden" not in world.kept()
        assert "slugs" in world.kept()


async def test_a_disk_that_takes_nothing_costs_only_the_next_start(opened):
    async with opened() as world:
        world.file.mkdir()
        assert await world.terms_for("lettuce slimy") == ["Lettuce bed", "Slimy visitors"]


# In the background


def concepts_of(world: Open, model: str = "hashing") -> Concepts:
    vault = world.measured
    return Concepts(world.file.parent, model, vault.ledger, lambda: vault.keyword_index, world.worker)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """The background's pauses, shortened."""
    monkeypatch.setattr("vaultseek.core.indexing.concepts.CONCEPT_QUIET_SECONDS", 0.0)
    monkeypatch.setattr("vaultseek.core.indexing.concepts.RETRY_SECONDS", 0.01)
    monkeypatch.setattr("vaultseek.core.indexing.concepts.EMBED_RETRY_SECONDS", 0.01)


@asynccontextmanager
async def followed(concepts: Concepts, is_idle: Callable[[], bool] = lambda: True) -> AsyncIterator[None]:
    task = asyncio.create_task(follow(concepts, is_idle))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.mark.usefixtures("hurried")
async def test_the_first_that_asks_hears_that_it_is_being_made(opened):
    vector = HashingEncoder().encode(["lettuce"])[0]
    async with opened() as world:
        concepts = concepts_of(world)
        async with followed(concepts):
            concepts.wake.set()
            await until(lambda: not concepts.wake.is_set())
            assert not world.file.exists(), "nobody has asked yet"
            with pytest.raises(Unavailable, match="being built; try again"):
                await concepts.near("lettuce", vector, 3, 0.3)
            await until(lambda: concepts.is_built)
            found = await concepts.near("lettuce", vector, 3, 0.3)
    assert [concept.term for concept in found] == ["Lettuce bed"]


@pytest.mark.usefixtures("hurried")
async def test_passages_are_embedded_first(opened):
    settled: list[int] = []
    asked: list[int] = []

    def is_idle() -> bool:
        asked.append(1)
        return bool(settled)

    async with opened() as world:
        concepts = concepts_of(world)
        async with followed(concepts, is_idle):
            concepts.enable()
            await until(lambda: len(asked) > 3)
            assert world.worker.embedded == []
            settled.append(1)
            await until(lambda: concepts.is_built)


@pytest.mark.usefixtures("hurried")
async def test_a_change_of_many_notes_is_followed_soon(opened):
    async with opened() as world:
        concepts = concepts_of(world)
        async with followed(concepts):
            concepts.enable()
            await until(world.file.is_file)
            (world.root / "new.md").write_text("---\ntags: [kitchen]\n---\nFlour")
            await world.take_in()
            concepts.wake.set()
            await until(lambda: "kitchen" in world.kept())


@pytest.mark.usefixtures("hurried")
async def test_a_worker_that_is_down_is_asked_again(opened):
    async with opened() as world:
        world.worker.down = True
        concepts = concepts_of(world)
        async with followed(concepts):
            concepts.enable()
            await until(lambda: not concepts.wake.is_set())
            world.worker.down = False
            await until(lambda: concepts.is_built)


@pytest.mark.usefixtures("hurried")
async def test_what_fails_is_logged_once_and_tried_ever_more_rarely(opened, monkeypatch, caplog):
    tried: list[float] = []
    reasons = iter(["odd", "odd", "odd", "worse", "worse"])

    async def failing(texts: Any, **more: Any) -> Any:
        tried.append(time.monotonic())
        if (reason := next(reasons, None)) is not None:
            raise WorkerUnavailable(reason)
        return await WorkerHere.embed(world.worker, texts, **more)

    async with opened() as world:
        monkeypatch.setattr(world.worker, "embed", failing)
        concepts = concepts_of(world)
        async with followed(concepts):
            concepts.enable()
            await until(lambda: concepts.problem == "odd")
            with pytest.raises(Unavailable, match="cannot be built: odd"):
                await concepts.near("lettuce", None, 3, 0.3)
            concepts.wake.set()  # a note has changed
            await until(lambda: concepts.is_built)
            await until(lambda: concepts.problem is None)
    assert [
        record.args for record in caplog.records if record.name == "vaultseek.core.indexing.concepts"
    ] == [
        ("odd",),
        ("worse",),
    ]
    pauses = [later - sooner for sooner, later in pairwise(tried)]
    assert [pause >= 0.01 * 2**number for number, pause in enumerate(pauses)] == [True] * 5


async def test_a_change_of_few_notes_waits(opened):
    many = {f"{number}.md": f"# Note {number}\n\nrope" for number in range(100)}
    async with opened(many) as world:
        concepts = concepts_of(world)
        assert concepts.due_in() == 0.0
        await concepts.refresh()
        assert concepts.due_in() is None
        for number in range(5):
            (world.root / f"{number}.md").write_text("wheel")
        await world.take_in()
        due = concepts.due_in()
        assert due is not None
        assert 500.0 < due <= 600.0
        (world.root / "5.md").write_text("wheel")
        await world.take_in()
        assert concepts.due_in() == 0.0
        await concepts.refresh()
        for number in range(10, 16):
            (world.root / f"{number}.md").unlink()
        await world.take_in()
        assert concepts.due_in() == 0.0
