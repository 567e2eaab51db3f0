"""Text of another kind than a query: extensions in a sentence, and nothing but stop words."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from vaultseek.core.indexing.open_vault import OpenVault
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.core.search.selection import DOUBTFUL_CERTAINTY
from vaultseek.settings.search import SearchSettings

IndexOf = Callable[[Mapping[str, str]], OpenVault]


def answer(index: OpenVault, query: str) -> Any:
    return asyncio.run(Searcher(index).search(SearchRequest(query, SearchSettings(), mode="keyword")))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("how do I open a .txt file", ["Guide.md"]),
        ("open .txt files", ["Guide.md"]),
        ("open .txt", ["plain.txt"]),
        (".txt open", ["plain.txt"]),
        ("open ext:txt", ["plain.txt"]),
    ],
)
def test_an_extension_in_a_sentence_is_a_word(index_of: IndexOf, query: str, expected: list[str]) -> None:
    index = index_of({"Guide.md": "How to open a txt file in the editor.", "plain.txt": "to open"})
    given = answer(index, query)
    assert [result["path"] for result in given["results"]][:1] == expected
    remark = ".txt was treated as a word; write ext:txt to filter by it"
    assert (remark in given["interpreted"]["notes"]) == (expected == ["Guide.md"])


GERMAN = "Das ist das Haus, das wir meinen. Es ist ein schönes Haus, und das wissen wir alle seit langem."


@pytest.mark.parametrize("query", ["das", "the", "it is the", "Das ist das"])
def test_stop_words_alone_are_never_certain(index_of: IndexOf, query: str) -> None:
    index = index_of({"German.md": GERMAN, "English.md": "This is the pump, and it is in the house."})
    certainties = [result["certainty"] for result in answer(index, query)["results"]]
    assert 0 < max(certainties) <= DOUBTFUL_CERTAINTY


def test_a_note_named_by_stop_words_is_certain(index_of: IndexOf) -> None:
    index = index_of({"The Who.md": "A band.", "Other.md": "This is the pump, and who has it?"})
    assert answer(index, "the who")["results"][0]["certainty"] > DOUBTFUL_CERTAINTY
