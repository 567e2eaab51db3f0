"""Invariants of every answer, over random vaults, queries and settings."""

import asyncio
import itertools
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from semantic_here import WorkerHere, open_vault
from vaultseek.core.indexing.open_vault import OpenVault, VaultOptions
from vaultseek.core.library import index_vault
from vaultseek.core.notes.why import why
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.semantic.models.catalogue import find_model
from vaultseek.settings.load import with_overrides
from vaultseek.settings.search import RecencySettings, SearchSettings

WORDS = [
    "rope",
    "wheel",
    "brake",
    "pump",
    "valve",
    "slug",
    "salad",
    "lettuce",
    "bread",
    "flour",
    "E-4107",
    "D40",
    "snake_case",
    "索道",
]
TAGS = ["work", "work/pumps", "garden", "kitchen"]


@dataclass
class World:
    """A vault generated from a seed, and the contents of its notes."""

    loop: asyncio.AbstractEventLoop
    vault: OpenVault
    tags: dict[str, str]

    def ask(self, query: str, **request: Any) -> dict[str, Any]:
        chosen = request.pop("settings", SearchSettings())
        return self.loop.run_until_complete(
            Searcher(self.vault).search(SearchRequest(query, chosen, **request))
        )


def note(chance: random.Random, names: list[str]) -> tuple[str, str]:
    tag = chance.choice(TAGS)
    parts = [f"---\ntags: [{tag}]\n---"]
    for _ in range(chance.randint(1, 3)):
        parts.append(f"## {chance.choice(WORDS)}")
        parts.append(" ".join(chance.choices(WORDS, k=chance.randint(1, 12))))
        parts.append(f"See [[{chance.choice(names)}]]." if chance.random() < 0.5 else "")
    return "\n\n".join(parts), tag


@contextmanager
def world(seed: int) -> Iterator[World]:
    chance = random.Random(seed)
    names = [f"{chance.choice(WORDS)} {number}" for number in range(chance.randint(1, 40))]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "vault"
        root.mkdir()
        tags = {}
        for name in names:
            text, tags[f"{name}.md"] = note(chance, names)
            (root / f"{name}.md").write_text(text, encoding="utf-8")
        loop = asyncio.new_event_loop()
        measured = open_vault(
            VaultOptions("notes", root), Path(folder) / "cache", WorkerHere(), find_model("hashing")
        )
        try:
            loop.run_until_complete(index_vault(measured))
            yield World(loop, measured, tags)
        finally:
            measured.close()
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()


@pytest.fixture(scope="module", params=range(4))
def made_up(request) -> Iterator[World]:
    with world(request.param) as made:
        yield made


@pytest.fixture(autouse=True)
def _own_directories() -> None:
    """Override the fixture of the same name, which runs for each test. Nothing here is written outside its
    temporary folder."""


queries = st.lists(
    st.sampled_from([*WORDS, "how", "the", "zeppelin", "lettuec"]), min_size=1, max_size=8
).map(" ".join)
wishes = st.fixed_dictionaries(
    {},
    optional={
        "fusion": st.sampled_from(["rrf", "linear"]),
        "rrf_ranks": st.sampled_from(["score", "integer"]),
        "rrf_k": st.floats(1, 100),
        "keyword_weight": st.floats(0, 3),
        "semantic_weight": st.floats(0, 3),
        "graph_weight": st.floats(0, 3),
        "graph": st.booleans(),
        "alpha": st.floats(0, 1),
        "adaptive": st.booleans(),
        "profile": st.sampled_from(["auto", "length", "code", "conceptual", "balanced"]),
        "min_confidence": st.sampled_from([0.0, 0.1, 0.5]),
        "anchor_boost": st.floats(1, 5),
        "recency.enabled": st.booleans(),
        "expansion.enabled": st.booleans(),
        "expansion.floor": st.sampled_from([0.0, 0.4]),
        "expansion.terms": st.integers(1, 5),
        "rerank_enabled": st.booleans(),
        "rerank_model": st.sampled_from(["shared words", "none"]),
        "rerank_top_n": st.integers(2, 20),
    },
).map(lambda wished: with_overrides(SearchSettings(recency=RecencySettings()), wished))
modes = st.sampled_from(["hybrid", "keyword", "semantic"])
limits_ = st.integers(1, 30)
few = examples(60)


@few
@given(query=queries, chosen=wishes, mode=modes, limit=limits_)
def test_results_are_few_in_order_and_each_there_once(made_up, query, chosen, mode, limit):
    answer = made_up.ask(query, settings=chosen, mode=mode, limit=limit, explain=True)
    results = answer["results"]
    scores = [result["score"] for result in results]
    assert len(results) <= limit
    assert all(0.0 <= score <= 1.0 for score in scores)
    assert scores == sorted(scores, reverse=True)
    assert not scores or scores[0] == 1.0
    for key in ("path", "chunk_id"):
        values = [result[key] for result in results if result[key] is not None]  # None for a property
        assert len(set(values)) == len(values)
    assert all(chosen.min_confidence <= result["confidence"] <= 1.0 for result in results)
    assert [result["rank"] for result in results] == list(range(1, len(results) + 1))


@few
@given(query=queries, chosen=wishes, limit=limits_)
def test_no_lane_puts_forward_more_than_it_may(made_up, query, chosen, limit):
    answer = made_up.ask(query, settings=chosen, limit=limit, explain=True)
    most = max(200, 2 * limit)
    assert answer["explain"]["candidates_per_lane"] == most
    for name in ("keyword", "semantic"):
        ranks = [part["rank"] for result in answer["results"] if (part := result["lanes"][name])]
        given_ = [rank for rank in ranks if rank is not None]
        assert len(set(given_)) == len(given_)
        assert all(1 <= rank <= most for rank in given_)


@few
@given(query=queries, chosen=wishes, mode=modes, limit=limits_)
def test_the_same_request_twice_gives_the_same_answer(made_up, query, chosen, mode, limit):
    once, again = (made_up.ask(query, settings=chosen, mode=mode, limit=limit) for _ in range(2))
    assert once["results"] == again["results"]


@few
@given(query=queries, chosen=wishes, mode=modes, tag=st.sampled_from(TAGS), limit=limits_)
def test_every_result_satisfies_every_filter(made_up, query, chosen, mode, tag, limit):
    answer = made_up.ask(f"{query} tag:{tag} -path:wheel", settings=chosen, mode=mode, limit=limit)
    for result in answer["results"]:
        of_note = made_up.tags[result["path"]]
        assert of_note == tag or of_note.startswith(f"{tag}/")
        assert "wheel" not in result["path"]


@few
@given(query=queries, mode=modes)
def test_confidence_does_not_grow_by_words_that_joined(made_up, query, mode):
    free = {"graph": False, "fusion": "linear", "nothing_below": 0.0}
    plain, expanded = (
        made_up.ask(query, settings=with_overrides(SearchSettings(), free | more), mode=mode, limit=200)
        for more in ({}, {"expansion.enabled": True, "expansion.floor": 0.0})
    )
    known = {result["path"]: result["confidence"] for result in plain["results"]}
    assert all(result["confidence"] == known[result["path"]] for result in expanded["results"])


@few
@given(
    query=queries, filters=st.lists(st.sampled_from(["tag:work", "-tag:work/pumps", "path:rope"]), max_size=3)
)
def test_another_filter_never_adds_a_result(made_up, query, filters):
    free = SearchSettings(graph=False, nothing_below=0.0)
    found = [
        {result["path"] for result in made_up.ask(text, settings=free, limit=200)["results"]}
        for text in itertools.accumulate([query, *filters], lambda before, more: f"{before} {more}")
    ]
    assert all(after <= before for before, after in itertools.pairwise(found))


@few
@given(query=queries, chosen=wishes, few_notes=st.sampled_from([1, 3, 10]))
def test_the_order_does_not_depend_on_how_many_are_asked_for(made_up, query, chosen, few_notes):
    """A shorter answer is the longer one, cut. Whether it counts as a match may differ."""
    fixed = {"rrf_ranks": "score", "fusion": "rrf", "nothing_below": 0.0, "rerank_enabled": False}
    chosen = with_overrides(chosen, fixed)
    few_, many = (made_up.ask(query, settings=chosen, limit=limit)["results"] for limit in (few_notes, 100))
    kept = {result["path"] for result in few_}
    shared = [result["path"] for result in many if result["path"] in kept]
    assert [result["path"] for result in few_] == shared


def recomputed(result: dict[str, Any], explain: dict[str, Any]) -> float:
    """The score of a result, recomputed from its explanation."""
    steps = result["arithmetic"]
    total = 0.0
    for name, part in result["lanes"].items():
        if part is not None:
            if name != "graph" and explain["fusion"] == "rrf":
                reciprocal = part["weight"] / (explain["rrf_k"] + part["fused_rank"])
                assert part["contribution"] == pytest.approx(reciprocal)
            assert part["gain"] == pytest.approx(part["contribution"] - part["baseline"])
            total += part["gain"]
    assert total == pytest.approx(steps["gain"])
    value = total * steps["recency"] * steps["anchors"] * steps["bound"]
    value *= steps["joined"]
    return min(1.0, (value + steps["name"]) / steps["best"]) if steps["best"] else 1.0


@few
@given(query=queries, chosen=wishes, mode=modes, limit=limits_)
def test_every_score_is_what_its_explanation_comes_to(made_up, query, chosen, mode, limit):
    answer = made_up.ask(query, settings=chosen, mode=mode, limit=limit, explain=True)
    own = []
    for result in answer["results"]:
        own.append(recomputed(result, answer["explain"]))
        shown = (result["rerank"] or {}).get("score_before", result["score"])
        assert own[-1] == pytest.approx(shown, abs=2e-6)
    if limit >= chosen.rerank_top_n:  # a cross-encoder reorders the notes; the scores stay with their ranks
        shown = [result["score"] for result in answer["results"]]
        assert sorted(own, reverse=True) == pytest.approx(shown, abs=2e-6)


@few
@given(query=queries, chosen=wishes, mode=modes, limit=limits_, data=st.data())
def test_why_explains_a_score_by_the_same_arithmetic(made_up, query, chosen, mode, limit, data):
    path = data.draw(st.sampled_from(sorted(made_up.tags)))
    row = made_up.vault.ledger.notes.by_path(path)
    request = SearchRequest(query, chosen, mode=mode, limit=limit, explain=True)
    answer = made_up.loop.run_until_complete(why(row, request, made_up.vault))
    result = answer.get("result")
    if result is not None:
        shown = (result["rerank"] or {}).get("score_before", result["score"])
        assert recomputed(result, answer["explain"]) == pytest.approx(shown, abs=2e-6)


@few
@given(query=queries, chosen=wishes, limit=limits_)
def test_a_note_that_no_lane_proposes_names_the_note_whose_link_led_to_it(made_up, query, chosen, limit):
    for result in made_up.ask(query, settings=chosen, limit=limit)["results"]:
        proposed = any(part and part["rank"] for name, part in result["lanes"].items() if name != "graph")
        assert (result["via"] is not None) == (not proposed and result["lanes"]["graph"] is not None) or (
            result["path"].removesuffix(".md") == query
        )
        if result["via"]:
            ids = {
                made_up.vault.ledger.notes.by_path(path).id
                for path in (result["path"], result["via"]["path"])
            }
            linked = any(set(edge) == ids for edge in made_up.vault.graph.edges())
            assert result["via"]["kind"] == ("link" if linked else "mention")


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "semantic"])
def test_a_query_about_nothing_is_not_answered_with_confidence(made_up, mode):
    results = made_up.ask("zeppelin quasar", mode=mode)["results"]
    assert all(result["confidence"] < 0.2 for result in results)


def test_what_has_nothing_to_do_with_the_query_is_not_found(made_up):
    asked = made_up.ask("zeppelin quasar nebula", settings=SearchSettings(nothing_below=0.2))
    assert asked["results"] == []
    assert asked["nearest"]["path"] in made_up.tags
    assert 0 <= asked["nearest"]["confidence"] < 0.2


@pytest.mark.parametrize("query", ["zeppelin quasar nebula tag:work", "zeppelin quasar nebula -tag:none"])
def test_what_filters_leave_is_found_however_far_it_is(made_up, query):
    assert made_up.ask(query, settings=SearchSettings(nothing_below=0.2))["results"]


@pytest.mark.parametrize("mode", ["keyword", "semantic"])
def test_one_lane_alone_does_not_say_that_there_is_nothing(made_up, mode):
    asked = made_up.ask("zeppelin pump", settings=SearchSettings(nothing_below=1.0), mode=mode)
    assert asked["results"]


def test_a_note_of_that_name_is_found_with_confidence(made_up):
    name = min(made_up.tags).removesuffix(".md")
    best = made_up.ask(name)["results"][0]
    assert (best["path"], best["confidence"] >= 0.95) == (f"{name}.md", True)
