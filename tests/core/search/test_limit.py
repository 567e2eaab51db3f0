"""The limit only cuts: a shorter list is the beginning of a longer one."""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from semantic_here import index_here
from vaultseek.core.indexing.open_vault import OpenVault
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.settings.search import SearchSettings

SAMPLE = Path(__file__).parents[2] / "data" / "vault"
LONG = 50
SHORT = (1, 3, 5, 10, 20, 35)
WORDS_OF_NOTES = sorted(
    {word for path in SAMPLE.rglob("*.md") for word in re.findall(r"[a-z]{3,}", path.read_text("utf-8"))}
)


@dataclass
class Sample:
    """The sample vault, and the event loop in which it is searched."""

    index: OpenVault
    loop: asyncio.AbstractEventLoop

    def results(self, query: str, limit: int, **request: Any) -> list[tuple[str, float]]:
        asked = SearchRequest(query, limit=limit, **{"settings": SearchSettings(), **request})
        answer = self.loop.run_until_complete(Searcher(self.index).search(asked))
        return [(result["path"], result["score"]) for result in answer["results"]]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sample]:
    index = index_here(SAMPLE, tmp_path_factory.mktemp("sample") / "index")
    loop = asyncio.new_event_loop()
    yield Sample(index, loop)
    index.close()
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


@pytest.fixture(autouse=True)
def _own_directories() -> None:
    """Override the fixture of the same name, which runs for each test. Nothing here is written outside its
    temporary folder."""


@examples(80)
@given(
    words=st.lists(st.sampled_from(WORDS_OF_NOTES), min_size=1, max_size=6),
    mode=st.sampled_from(["hybrid", "hybrid", "keyword", "semantic"]),
    limit=st.sampled_from(SHORT),
    fused=st.sampled_from([{}, {}, {"fusion": "linear"}, {"rrf_ranks": "integer"}]),
)
def test_the_first_results_are_the_same_at_any_limit(sample, words, mode, limit, fused):
    request = {"mode": mode, "settings": SearchSettings(**fused)}
    query = " ".join(words)
    assert sample.results(query, limit, **request) == sample.results(query, LONG, **request)[:limit]
