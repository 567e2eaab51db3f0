"""Titles shared by many notes."""

import asyncio
import contextlib

import pytest

from semantic_here import index_here
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.settings.search import SearchSettings


def titles(root, query, place):
    with contextlib.closing(index_here(root, place)) as opened:
        answer = asyncio.run(Searcher(opened).search(SearchRequest(query, SearchSettings(), mode="keyword")))
    return [result["title"] for result in answer["results"]]


@pytest.mark.parametrize(("count", "title"), [(9, "Context"), (10, "Backend")])
def test_a_heading_that_many_notes_share_is_no_title(vault, tmp_path, count, title):
    notes = {f"Record {number}.md": f"# Context\n\nText {number}.\n" for number in range(1, count)}
    root = vault({**notes, "Backend.md": "# Context\n\nIt is written in Go.\n"})
    assert titles(root, "written Go", tmp_path / "index")[0] == title


def test_a_title_that_is_a_property_stays(vault, tmp_path):
    root = vault({f"{number}.md": "---\ntitle: Meeting\n---\nText.\n" for number in range(12)})
    assert set(titles(root, "text", tmp_path / "index")) == {"Meeting"}
