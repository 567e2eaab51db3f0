"""Pasted text that is not a query: a sentence with file extensions, or nothing but stop words."""

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


COMMANDS = {
    "Backup.md": "Copy it.\n\n```sh\nrsync -avz --delete src/ dst\ntar -xzf kiln.tgz\n```\n",
    "Release.md": 'Say `git commit -m "fix kiln"` first.\n',
    "Docker.md": "    docker run -d --rm -it image\n",
    "Film.md": "`ffmpeg in.mkv -c:v libx264 out.mp4`\n",
    "Warnings.md": "Compile with `-Wall -std=c99` to see warnings, publish with -p8080:80.\n",
    "Frost.md": "The shed was at -5 °C, then -12,5°C.\n",
    "Issues.md": "The filter is:open lists issues, after:lunch is mine, kind:tall too.\n",
    "Kiln.md": "A kiln and its glaze. The xzf of a tar.\n",
    "Pots.md": "A kiln without it.\n",
}


@pytest.mark.parametrize(
    ("query", "expected", "remark"),
    [
        ("rsync -avz --delete src/ dst", "Backup.md", "-avz was treated as a word"),
        ("tar -xzf kiln.tgz", "Backup.md", "-xzf was treated as a word"),
        ('git commit -m "fix kiln"', "Release.md", "-m was treated as a word"),
        ("docker run --rm -it image", "Docker.md", "-it was treated as a word"),
        ("ffmpeg in.mkv -c:v libx264 out.mp4", "Film.md", "-c:v was treated as a word"),
        ("-Wall warnings", "Warnings.md", "-Wall was treated as a word"),
        ("-std=c99", "Warnings.md", "-std=c99 was treated as a word"),
        ("port -p8080:80", "Warnings.md", "-p8080:80 was treated as a word"),
        ("-5 °C", "Frost.md", "-5 was treated as a word"),
        ("shed -12,5°C", "Frost.md", "-12,5°C was treated as a word"),
        ("kiln -glaze", "Pots.md", ""),
        ("-Wally kiln -glaze -2024", "Pots.md", ""),
        ("kiln -xzf", "Pots.md", ""),
        ('tar -"xzf"', None, ""),
    ],
)
def test_a_pasted_command_does_not_exclude_its_note(
    index_of: IndexOf, query: str, expected: str | None, remark: str
) -> None:
    given = answer(index_of(COMMANDS), query)
    paths = [result["path"] for result in given["results"]]
    assert paths[:1] == ([expected] if expected else [])
    assert [note for note in given["interpreted"]["notes"] if "-" in note[:2]] == (
        [f'{remark}; write -"{remark.split()[0][1:]}" to exclude it'] if remark else []
    )


@pytest.mark.parametrize("query", ["is:open issues", "is:open", "after:lunch", "kind:tall"])
def test_an_unknown_value_of_a_filter_is_words(index_of: IndexOf, query: str) -> None:
    given = answer(index_of(COMMANDS), query)
    assert [result["path"] for result in given["results"]][:1] == ["Issues.md"]
    (remark,) = given["interpreted"]["notes"]
    assert remark.startswith(f"{query.split()[0]} was treated as words; expected ")


GERMAN = "Das ist das Haus, das wir meinen. Es ist ein schönes Haus, und das wissen wir alle seit langem."


@pytest.mark.parametrize("query", ["das", "the", "it is the", "Das ist das"])
def test_stop_words_alone_are_never_certain(index_of: IndexOf, query: str) -> None:
    index = index_of({"German.md": GERMAN, "English.md": "This is the pump, and it is in the house."})
    certainties = [result["certainty"] for result in answer(index, query)["results"]]
    assert 0 < max(certainties) <= DOUBTFUL_CERTAINTY


def test_a_note_named_by_stop_words_is_certain(index_of: IndexOf) -> None:
    index = index_of({"The Who.md": "A band.", "Other.md": "This is the pump, and who has it?"})
    assert answer(index, "the who")["results"][0]["certainty"] > DOUBTFUL_CERTAINTY
