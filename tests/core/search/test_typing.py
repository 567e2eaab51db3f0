"""Searches during typing: the last word is a prefix, names come first, and nothing flickers."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from semantic_here import index_here
from vaultseek.core.indexing.open_vault import OpenVault
from vaultseek.core.notes.complete import VaultCompleter
from vaultseek.daemon.follow import VaultFollower
from vaultseek.daemon.methods.search import SearchMethods
from vaultseek.protocol.messages.params import AllVaultsParams, SearchParams, read
from vaultseek.protocol.wire.context import RequestContext
from vaultseek.settings.model import Settings
from vaultseek.store.ledger.opens import Open

SAMPLE = Path(__file__).parents[2] / "data" / "vault"
FIRST = 3

Search = Callable[..., list[str]]


class Typist:
    """A client that sends the method `search` what a picker would send, without the daemon."""

    def __init__(self, index: OpenVault) -> None:
        self.index = index
        self._follower = SimpleNamespace(
            vault=index,
            completer=VaultCompleter(index.ledger),
            wait_if_new=self._nothing,
            wait_for_first_scan=self._has_scanned,
            degraded_reason=lambda: None,
            keep_names_ranked=lambda: None,
        )
        self._methods = SearchMethods(self._find, self._every, Settings)

    async def _has_scanned(self, seconds: float) -> bool:
        return True

    def __call__(self, query: str, **options: Any) -> list[str]:
        """Return the paths of the results for an unfinished query."""
        return paths(self.answer(query, **{"typing": True, **options}))

    def answer(self, query: str, **options: Any) -> dict[str, Any]:
        """Return the answer to a finished query."""
        params = {"query": query, "limit": 10, **options}
        return asyncio.run(self._methods.search(read(SearchParams, params), RequestContext()))

    async def _nothing(self) -> None:
        return None

    async def _find(self, _: Any) -> VaultFollower:
        return cast(VaultFollower, self._follower)

    async def _every(self, call: AllVaultsParams) -> dict[str, VaultFollower | Exception]:
        return {"notes": cast(VaultFollower, self._follower)}


def paths(answer: dict[str, Any]) -> list[str]:
    return [result["path"] for result in answer["results"]]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Typist]:
    index = index_here(SAMPLE, tmp_path_factory.mktemp("sample") / "index")
    yield Typist(index)
    index.close()


@pytest.fixture
def typing(vault: Callable[[dict[str, str]], Path], tmp_path: Path) -> Iterator[Callable[..., Typist]]:
    opened: list[OpenVault] = []

    def make(notes: dict[str, str]) -> Typist:
        opened.append(index_here(vault(notes), tmp_path / "index"))
        return Typist(opened[-1])

    yield make
    for index in opened:
        index.close()


@pytest.mark.parametrize("titles", [10, pytest.param(30, marks=pytest.mark.long)])
def test_a_note_whose_title_is_typed_never_leaves_the_first_three_once_it_has_come(sample, titles):
    rows = sample.index.ledger.notes.by_id(sample.index.ledger.notes.ids()).values()
    spread = sorted(rows, key=lambda row: row.path)
    for row in spread[:: len(spread) // titles][:titles]:
        come = False
        for end in range(1, len(row.title) + 1):
            first = sample(row.title[:end])[:FIRST]
            assert not come or row.path in first, (row.title[:end], first)
            come = come or row.path in first
        assert come, row.title


NOTES = {
    "Slip-box.md": "# Slip-box\n\nLuhmann called it Zettelkasten, a box of paper slips.",
    "Index.md": "# Index\n\nA zettel about lists, and one more zettel.",
    "Soup.md": "# Soup\n\nTomatoes, basil and water.",
    "Zoo.md": "# Zoo\n\nThe lists of animals that we saw.",
}


@pytest.mark.parametrize("typed", ["zette", "zettel", "zettelk", "paper zettel", "Zettelkasten"])
def test_the_last_word_is_a_prefix_whether_a_note_has_it_or_not(typing, typed):
    assert "Slip-box.md" in typing(NOTES)(typed, mode="keyword")[:2]


def test_the_word_itself_counts_more_than_a_longer_one(typing):
    assert typing(NOTES)("zettel", mode="keyword") == ["Index.md", "Slip-box.md"]


def test_only_the_last_word_goes_on_and_none_after_a_space(typing):
    type_ = typing(NOTES)
    assert type_("tomat", mode="keyword", typing=False) == ["Soup.md"]  # no note contains the word itself
    assert "Slip-box.md" not in type_("zettel ", mode="keyword")
    assert "Slip-box.md" not in type_("zettel lists", mode="keyword")
    assert "Slip-box.md" not in type_("zettel", mode="keyword", typing=False)


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_a_finished_query_without_a_match_finds_the_words_that_begin_with_its_last(typing, mode):
    search = typing(NOTES).answer
    for query, word in (("zet", "zet"), ("Zet", "Zet"), ("qq Zet?", "Zet")):
        answer = search(query, mode=mode)
        assert {"Index.md", "Slip-box.md"} <= set(paths(answer)), query
        assert answer["interpreted"]["notes"] == [
            f'no note has "{word}"; words that begin with it were searched for instead'
        ]
        marked = {
            result["preview"][start:end].lower()
            for result in answer["results"]
            for start, end in result["highlights"]
        }
        assert marked == {"zettel", "zettelkasten"}
    inside = search("zet path:Index", mode=mode)
    assert paths(inside) == ["Index.md"]
    assert inside["interpreted"]["notes"][0].startswith('none of these notes has "zet"; words that')


def test_a_word_that_no_note_has_and_its_substitute_are_named_as_they_are_written(typing):
    answer = typing({"Eis.md": "Das Eis ist im Kühlschrank und der Kühlschrank ist kalt."}).answer
    for query in ("Küehlschrank", "Küehlschrank kalt"):
        assert answer(query, mode="keyword")["interpreted"]["notes"] == [
            'no note has "Küehlschrank"; searched for "Kühlschrank" instead'
        ]


def test_words_that_begin_with_the_last_count_only_where_nothing_else_matches(typing):
    search = typing({**NOTES, "Code.md": "Alarm E-4107 at noon."}).answer
    for query in ("zet soup", "soup zet", "lists zet"):
        answer = search(query, mode="keyword")
        assert "Slip-box.md" not in paths(answer), query
        assert answer["interpreted"]["notes"] == []
    # "ze" is a word of another language.
    for query in ("z", "ze", "xq"):
        answer = search(query, mode="keyword")
        assert answer["results"] == []
        assert answer["interpreted"]["notes"] == []
    answer = search("E-41", mode="keyword")
    assert paths(answer) == ["Code.md"]
    assert answer["interpreted"]["notes"] == ["no note has E-41; similar notes are shown"]


def test_names_that_begin_with_what_is_typed_come_first_the_shortest_before_the_others(typing):
    notes = {
        "Pump.md": "---\naliases: [Bilge pump]\n---\nwater",
        "Pumpkin soup.md": "pump pump pump pump",
        "Pumps.md": "",
        "Garden.md": "The pump, the pump, the pump. A pump.",
    }
    type_ = typing(notes)
    assert type_("pum") == ["Pump.md", "Pumps.md", "Pumpkin soup.md", "Garden.md"]
    assert type_("bil")[0] == "Pump.md"
    assert type_("pump -water") == ["Pumps.md", "Pumpkin soup.md", "Garden.md"]
    assert type_("PUMPK")[0] == "Pumpkin soup.md"


def test_of_names_that_begin_with_what_is_typed_those_that_are_opened_often_come_first(typing):
    type_ = typing({"Pump.md": "", "Pumps.md": "", "Pumpkin soup.md": "", "Garden.md": "A pump."})
    for place in (1, 2):
        type_.index.ledger.opens.add("dinner", Open("dinner", "Pumpkin soup.md", place, 1.0, "vaultseek.cli"))
    type_.index.ledger.opens.add("water", Open("water", "Garden.md", 1, 1.0, "vaultseek.cli"))
    assert type_("pum") == ["Pumpkin soup.md", "Pump.md", "Pumps.md", "Garden.md"]
    assert type_("pump") == ["Pump.md", "Pumpkin soup.md", "Pumps.md", "Garden.md"]


def test_what_is_typed_is_answered_by_every_vault(typing):
    type_ = typing({"Pump.md": "water", "Garden.md": "The pump. " * 9})
    call = AllVaultsParams(query="pum", typing=True)
    answer = asyncio.run(type_._methods.search_all(call, RequestContext()))
    assert [result["path"] for result in answer["results"]] == ["Pump.md", "Garden.md"]


def test_filters_alone_list_every_note_of_every_vault(typing):
    type_ = typing({f"{number}.md": "#pump" for number in range(15)})
    answer = asyncio.run(type_._methods.search_all(AllVaultsParams(query="tag:pump"), RequestContext()))
    assert (len(answer["results"]), answer["total"]) == (15, 15)
