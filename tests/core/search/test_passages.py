"""The passage of a note that a result shows."""

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from semantic_here import index_here
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.settings.search import SearchSettings

PUMPS = "Pumps and valves of the house move water from the pit to the tank. " * 12
HEADINGS = "\n\n".join(f"## Part {number}\n\n{PUMPS}" for number in range(4))


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
def test_a_passage_without_words_is_not_shown(
    vault: Callable[[dict[str, str]], Path], tmp_path: Path, mode: str
):
    cell = '<a href="https://mill.org/mill" title="mill of the mill"><img src="mill.png"/>💻</a>'
    text = f"# Mill\n\n{HEADINGS}\n\n## Other\n\n<table><tr><td>{cell * 6}</td></tr></table>\n"
    with contextlib.closing(
        index_here(vault({"Mill.md": text, "Other.md": "Bread."}), tmp_path / "index")
    ) as index:
        for query in ("mill", "who helped"):
            request = SearchRequest(query, SearchSettings(nothing_below=0.0), mode=mode)
            results = asyncio.run(Searcher(index).search(request))["results"]
            shown = next(each["preview"] for each in results if each["path"] == "Mill.md")
            assert "Pumps" in shown, query


@pytest.mark.parametrize(
    "line", ["#tool/mill #wind", '<span class="pages">#tool/mill</span>', "https://e.org"]
)
def test_a_note_found_by_its_name_shows_more_than_tags_or_an_address(
    vault: Callable[[dict[str, str]], Path], tmp_path: Path, line: str
):
    text = f"# How to build a mill out of wood and of stone\n\n{line}\n\n{HEADINGS}\n"
    with contextlib.closing(index_here(vault({"Mill.md": text}), tmp_path / "index")) as index:
        request = SearchRequest("how to build a mill out of wood and of stone", SearchSettings())
        (result,) = asyncio.run(Searcher(index).search(request))["results"]
        assert "Pumps" in result["preview"]


@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
def test_a_result_has_as_many_passages_as_asked_for_the_best_first(
    vault: Callable[[dict[str, str]], Path], tmp_path: Path, mode: str
):
    parts = [f"## Part {number}\n\n{PUMPS}" for number in range(3)]
    text = "# Mill\n\n" + "\n\n".join([*parts, "## Flour\n\n" + "Flour of rye. " * 40])
    with contextlib.closing(index_here(vault({"Mill.md": text}), tmp_path / "index")) as index:

        def found(query: str, **more: int) -> dict[str, Any]:
            request = SearchRequest(query, SearchSettings(nothing_below=0.0), mode=mode, **more)
            (result,) = asyncio.run(Searcher(index).search(request))["results"]
            return result

        assert "passages" not in found("pumps valves")
        two, all_ = found("pumps valves", passages=2), found("pumps valves", passages=20)
        assert two["passages"] == all_["passages"][:1]
        shown = [two["chunk_id"], *(each["chunk_id"] for each in all_["passages"])]
        assert len(set(shown)) == len(shown) >= 3
        assert all("Pumps" in each["preview"] for each in all_["passages"][:2])
        assert all_["passages"][0]["heading_path"][0] == "Mill"
        for each in all_["passages"]:
            assert each["start_line"] <= each["line"] <= each["end_line"]


@pytest.mark.parametrize("query", ["sump pump", "what is a sump pump?", "sump pumps", "Sump.md"])
def test_a_note_found_by_its_name_shows_its_first_lines(
    vault: Callable[[dict[str, str]], Path], tmp_path: Path, query: str
):
    opening = "# Sump pump\n\nIt keeps a cellar dry.\n\n" + "A float starts the motor of a sump pump. " * 9
    limits = "## Limitations\n\n" + "A sump pump is a pump, and a pump of the sump is no sump. " * 9
    notes = {"Sump.md": f"{opening}\n\n{HEADINGS}\n\n{limits}", "Other.md": "Bread of rye."}
    with contextlib.closing(index_here(vault(notes), tmp_path / "index")) as index:

        def shown(text: str) -> dict[str, Any]:
            found = asyncio.run(Searcher(index).search(SearchRequest(text, SearchSettings(), mode="keyword")))
            result: dict[str, Any] = found["results"][0]
            return result

        assert shown(query)["preview"].startswith("It keeps a cellar dry.")
        assert shown(query)["line"] == 3
        assert shown("sump pump limitations")["heading_path"][-1] == "Limitations"
        assert shown("/is no sump/ sump pump")["heading_path"][-1] == "Limitations"


@pytest.mark.parametrize("query", ["cistern", "pump", "cistern pump", "what is a cistern?"])
def test_a_short_note_whose_name_has_the_words_shows_its_first_lines(
    vault: Callable[[dict[str, str]], Path], tmp_path: Path, query: str
):
    text = (
        "# Cistern pump station\n\nIt keeps a cellar dry.\n\nA float starts the motor.\n\n## Limitations\n\n"
    )
    text += (
        "A cistern pump is a pump, and a pump of the cistern is no cistern.\n\n## Upgrading\n\nPump first.\n"
    )
    notes = {"Cistern pump station.md": text, "Other.md": "Bread of rye."}
    with contextlib.closing(index_here(vault(notes), tmp_path / "index")) as index:
        found = asyncio.run(Searcher(index).search(SearchRequest(query, SearchSettings(), mode="keyword")))
    assert found["results"][0]["preview"].startswith("It keeps a cellar dry.")
    assert found["results"][0]["line"] == 3


def test_badges_and_pictures_are_no_preview(vault: Callable[[dict[str, str]], Path], tmp_path: Path):
    badges = "[![Build](https://ci.org/b.svg)](https://ci.org) [![Docs][d]][d]\n![License][d]\n\n[d]: x.svg\n"
    picture = f"![chart](data:image/png;base64,{'iVBOR' * 999})"
    notes = {
        "Gizmo.md": f"# Gizmo\n\n{badges}\nIt grinds coffee.\n",
        "Sales.md": f"# Sales\n\n{picture}\n\nCoffee sold well.\n",
        "Sunset.md": "# Sunset\n\n![harbour with coffee](pic.png)\n",
    }
    found = previews_of(vault(notes), tmp_path / "index", "coffee")
    assert found == {
        "Gizmo.md": "It grinds coffee.",
        "Sales.md": "Coffee sold well.",
        "Sunset.md": "harbour with coffee",
    }


FOOTER = (
    "\n\n## This note\n\n[Edit it](https://mill.org/edit/Note%20{0}) | [Copy it](https://mill.org/copy/{0})\n"
)


def previews_of(vault: Path, index_at: Path, query: str) -> dict[str, str]:
    with contextlib.closing(index_here(vault, index_at)) as index:
        request = SearchRequest(query, SearchSettings(nothing_below=0.0), mode="keyword", limit=50)
        results = asyncio.run(Searcher(index).search(request))["results"]
    return {each["path"]: each["preview"] for each in results}


def test_a_footer_that_many_notes_share_is_no_preview(
    vault: Callable[[dict[str, str]], Path], tmp_path: Path
):
    notes = {}
    for number in range(10):
        own = HEADINGS.replace("Pumps", f"Pumps {number}")
        notes[f"N{number}.md"] = f"# Note {number}\n\n{own}{FOOTER.format(number)}"
    notes["Short.md"] = f"# Zander\n\nA fish.{FOOTER.format(10)}"
    folder = vault(notes)
    assert "Pumps" in previews_of(folder, tmp_path / "index", "copy")["N3.md"]
    assert previews_of(folder, tmp_path / "index", "zander")["Short.md"] == "A fish."


def test_a_shared_line_is_shown_where_the_words_are_nowhere_else(
    vault: Callable[[dict[str, str]], Path], tmp_path: Path
):
    notes = {
        f"N{number}.md": f"# Note {number}\n\nHerring {number}.\n\nTo be salted.\n" for number in range(10)
    }
    found = previews_of(vault(notes), tmp_path / "index", "salted")
    assert len(found) == 10
    assert all("salted" in shown for shown in found.values())


def test_few_notes_share_no_boilerplate(vault: Callable[[dict[str, str]], Path], tmp_path: Path):
    notes = {f"N{number}.md": f"# Herring {number}\n\nTo be salted.\n" for number in range(5)}
    found = previews_of(vault(notes), tmp_path / "index", "herring")
    assert set(found.values()) == {"To be salted."}
