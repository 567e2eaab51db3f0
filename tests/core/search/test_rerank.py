"""Reranking of the first results by a cross-encoder."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from semantic_here import WorkerHere, measured_here, open_here
from vaultseek.core.library import index_vault
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.settings.search import SearchSettings

NOTES = {
    "Rope.md": "# Rope\n\nrope rope rope rope",
    "Both.md": "# Both\n\nrope and wheel among many other words that stand here",
    "Wheel.md": "# Wheel\n\nwheel wheel wheel wheel",
    "Slug.md": "# Slug\n\nwheel slugs eat salad",
}


@pytest.fixture
def ask(vault: Callable[[dict[str, str]], Path], tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Search the notes with these settings."""
    with measured_here(vault(NOTES), tmp_path) as asked:
        yield lambda query, limit=10, **settings: asked(query, SearchSettings(**settings), limit)


def order(answer: Any) -> list[str]:
    return [result["path"] for result in answer["results"]]


AGAIN = {"rerank_enabled": True, "rerank_model": "shared words"}


def test_the_model_that_reads_both_decides_the_order(ask):
    answer = ask("rope wheel", **AGAIN)
    first = answer["results"][0]
    assert order(answer)[0] == "Both.md"
    assert first["rerank"]["score"] == 1.0
    assert first["score"] == 1.0
    assert answer["partial"] == []


def test_it_reads_more_than_is_answered(ask):
    plain = ask("rope wheel", keyword_weight=0.0, semantic_weight=1.0)
    last = order(plain)[-1]
    best = ask(f"rope wheel {Path(last).stem}", limit=1, rerank_top_n=10, **AGAIN)
    assert len(best["results"]) == 1
    assert best["results"][0]["rerank"]["rank_before"] >= 1


def test_only_the_first_are_read_again(ask):
    answer = ask("rope wheel", rerank_top_n=2, **AGAIN)
    assert [bool(result["rerank"]) for result in answer["results"]] == [True, True, False, False][
        : len(order(answer))
    ]


@pytest.mark.fault("I9")
def test_without_the_model_the_order_is_as_it_was_and_the_answer_says_so(ask):
    answer = ask("rope wheel", rerank_enabled=True, rerank_model="none")
    assert order(answer) == order(ask("rope wheel"))
    assert answer["partial"] == [
        {
            "lane": "rerank",
            "code": "worker_unavailable",
            "reason": "the results were not reranked: there is no model none",
        }
    ]
    assert all(result["rerank"] is None for result in answer["results"])


@pytest.mark.fault("I9")
def test_what_is_scored_in_time_is_reordered_and_the_rest_keeps_its_place(ask, monkeypatch):
    before = order(ask("rope wheel"))
    scores = {before[0]: 0.1, before[1]: None, before[2]: 0.9}

    async def some(self, query, texts, model, **_):
        stems = {Path(path).stem: score for path, score in scores.items()}
        values = (stems.get(text.partition("\n")[0]) for text in texts)
        return np.array([np.nan if value is None else value for value in values])

    monkeypatch.setattr(WorkerHere, "rerank", some)
    answer = ask("rope wheel", **AGAIN)
    assert order(answer)[:3] == [before[2], before[1], before[0]]
    assert [result["rerank"] is not None for result in answer["results"][:3]] == [True, False, True]
    values = [result["score"] for result in answer["results"]]
    assert values == sorted(values, reverse=True)
    assert [(part["lane"], part["code"]) for part in answer["partial"]] == [("rerank", "deadline")]
    assert f"only 2 of {len(before)} results" in answer["partial"][0]["reason"]


def test_a_deadline_of_the_request_leaves_time_for_what_is_scored_by_then(
    vault, tmp_path: Path, monkeypatch
) -> None:
    given = []

    async def some(self, query, texts, model, *, deadline):
        given.append(deadline)
        return np.array([0.5, *[np.nan] * (len(texts) - 1)])

    monkeypatch.setattr(WorkerHere, "rerank", some)
    settings = SearchSettings(**AGAIN, rerank_seconds=5.0)
    with asyncio.Runner() as runner:
        opened = open_here(vault(NOTES), tmp_path / "index")
        runner.run(index_vault(opened))
        for seconds in (None, 30.0, 2.0):
            request = SearchRequest("rope wheel", settings, seconds=seconds)
            runner.run(Searcher(opened).search(request))
        opened.close()
    assert given[:2] == [5.0, 5.0]
    assert 1.0 < given[2] < 2.0
