"""Notes are found by their rendered text; ``line:`` and expressions also find the source."""

import asyncio
import contextlib
from collections.abc import Iterator

import pytest

from semantic_here import index_here
from vaultseek.core.indexing.open_vault import OpenVault
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.settings.search import SearchSettings
from worlds import write_files

NOTES = {
    "Bold.md": "One **giant** stride.\n",
    "Link.md": "The [velvet](https://e.org/hidden-address) hammer.\n",
    "Wiki.md": "A [[Net|brass]] gasket.\n",
    "Quotes.md": "She said don’t panic.\n\n# A sailor’s “heading”\n",
    "Typed.md": "It's the sailor's knot.\n",
    "Tags.md": "H<sub>2</sub>O and an **un**important point.\n",
    "Entities.md": "# R&amp;D plan &ndash; K&ouml;ln\n\nCaf&eacute;&nbsp;chips.\n",
    "Escapes.md": "Set my\\_very\\_own\\_setting, or C\\#.\n",
    "Soft.md": "A her\u00adringbone on the co\u200bast.\n",
    "Data.md": f"![chart](data:image/png;base64,{'QlAgQ1YgSFI/' * 9000}) of the year.\n",
    "Tasks.md": "> [!todo] Yard\n> - [ ] keel\n>   - [ ] **rud**der\n",
    "Comment.md": "Flour %%buy the other brand%% and water.\n",
    "Property.md": '---\nteam: "[[Core|the core]] **crew**"\n---\nText.\n',
    "Accent.md": "We won´t, and she`d not.\n",
    "Letters.md": "A hawai\u02bban board, \u0130znik tiles.\n",
    "Marks.md": "A com\u034fpass and a bear\ufe0fing.\n",
    "Ruby.md": "<ruby>漢<rt>kan</rt>字<rp>(</rp><rt>ji</rt><rp>)</rp></ruby>\n",
    "Pandoc.md": "C~6~H~12~O~6~ and x^2^.\n",
    "Names.md": (
        '---\naliases: ["moto\u200brbike", "**quick** silver"]\n'
        'keywords: ["her\u00adring", "*sea* bass"]\n---\nA #mo\u200bped.\n'
    ),
    "Inside.md": (
        '---\naliases: ["**im**probable", "pan~~da~~"]\n'
        'role: "**under**growth <b>mead</b>ow &amp; co"\n---\nx\n'
    ),
    "Folder/wea\u00adther\u200bvane.md": "x\n",
    "Links.md": "See [[weathervane]].\n",
    "Wide.md": "Die ＡＢＣ prizes, room ＲＭ４１, wire 16mm²… maybe not.\n",
    "Code.md": "```\nvalue = a[0] ** 2\n```\n",
}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenVault]:
    folder = tmp_path_factory.mktemp("rendered")
    with contextlib.closing(index_here(write_files(folder / "vault", NOTES), folder / "index")) as index:
        yield index


def paths(index: OpenVault, query: str) -> set[str]:
    request = SearchRequest(query, SearchSettings(), mode="keyword")
    return {result["path"] for result in asyncio.run(Searcher(index).search(request))["results"]}


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ('"giant stride"', {"Bold.md"}),
        ('"velvet hammer"', {"Link.md"}),
        ('"brass gasket"', {"Wiki.md"}),
        ('"don\'t panic"', {"Quotes.md"}),
        ('content:"don\'t panic"', {"Quotes.md"}),
        ("line:(don't panic)", {"Quotes.md"}),
        ('heading:"a sailor\'s \\"heading\\""', {"Quotes.md"}),
        ('"sailor’s knot"', {"Typed.md"}),
        ('content:"sailor’s knot"', {"Typed.md"}),
        ("H2O", {"Tags.md"}),
        ("unimportant", {"Tags.md"}),
        ("café", {"Entities.md"}),
        ('heading:"R&D plan – Köln"', {"Entities.md"}),
        ("title:köln", {"Entities.md"}),
        ("nbsp", set()),
        ("my_very_own_setting", {"Escapes.md"}),
        ("herringbone", {"Soft.md"}),
        ('content:"herringbone on the coast"', {"Soft.md"}),
        ("BP", set()),
        ("chart", {"Data.md"}),
        ("task-todo:rudder", {"Tasks.md"}),
        ("task-todo:keel", {"Tasks.md"}),
        ('"the core crew"', {"Property.md"}),
        ('"we won\'t"', {"Accent.md"}),
        ("content:she’d", {"Accent.md"}),
        ('"hawai\'an board"', {"Letters.md"}),
        ('"iznik tiles"', {"Letters.md"}),
        ('"compass and a bearing"', {"Marks.md"}),
        ("漢字", {"Ruby.md"}),
        ('"漢字 (kan ji)"', {"Ruby.md"}),
        ('"C6H12O6 and x2"', {"Pandoc.md"}),
        ("C6H12O6", {"Pandoc.md"}),
        ("alias:motorbike", {"Names.md"}),
        ('alias:"quick silver"', {"Names.md"}),
        ("[keywords:herring]", {"Names.md"}),
        ('[keywords:"sea bass"]', {"Names.md"}),
        ("tag:moped", {"Names.md"}),
        ("alias:improbable", {"Inside.md"}),
        ("alias:panda", {"Inside.md"}),
        ('"improbable"', {"Inside.md"}),
        ('"undergrowth meadow & co"', {"Inside.md"}),
        ('[role:"undergrowth meadow & co"]', {"Inside.md"}),
        ("file:weathervane", {"Folder/wea\u00adther\u200bvane.md"}),
        ("path:folder/weather", {"Folder/wea\u00adther\u200bvane.md"}),
        ('"weathervane"', {"Folder/wea\u00adther\u200bvane.md", "Links.md"}),
        ("link:weathervane", {"Links.md"}),
        ('"ABC prizes"', {"Wide.md"}),
        ("content:rm41", {"Wide.md"}),
        ("content:16mm2", {"Wide.md"}),
        ('"16 mm²... maybe"', {"Wide.md"}),
        # as it is written
        ("hidden-address", set()),
        ('line:"hidden-address"', {"Link.md"}),
        ("/hidden-address/", {"Link.md"}),
        (r"/\*\*giant\*\*/", {"Bold.md"}),
        ("/&eacute;/", {"Entities.md"}),
        (r"/my\\_very/", {"Escapes.md"}),
        ("buy", set()),
        ("line:buy", {"Comment.md"}),
        ("/%%buy/", {"Comment.md"}),
        (r"/\[0\] \*\* 2/", {"Code.md"}),
    ],
)
def test_a_note_is_found_by_what_a_reader_sees(opened: OpenVault, query: str, found: set[str]) -> None:
    assert paths(opened, query) == found


PUNCTUATED = {
    "Commas.md": "The flag is *Red, white, and blue* (Smith 2019).\n",
    "Brackets.md": "As Smith (2019) found, e.g., “quick” foo; see [the] list.\n",
    "Dashes.md": "A stop—start way to Well-known places – by the sea … at night.\n",
    "Wide.md": "上海 abc，def。ghi （jkl）\n",
    "Wrapped.md": "They were (at the\nlast) moored. Then they sailed!\n",
    "Heading.md": "# Ropes, knots & sails\n\nx\n",
    "Codes.md": "Use A-11-2, at -5 degrees, 0.5 mg, f.e os.path and don't. C# code, 1,5 or 3.\n",
    "Items.md": "- (ash)\n- birch,\n- cedar\n\nDill,\n\nelder\n\n1. fir,\n2. gorse\n",
    "Cells.md": "| hazel, | iris |\n|---|---|\n| juniper, | kale |\n| larch | moss |\n",
    "Html.md": "<ul><li>lime,</li><li>maple</li></ul>\n<p>nut,</p><p>oak</p>\n",
    "Plain.txt": "- (pear)\n- quince\n* rose\n+ sage\n# Title\n> a quote\n> that wraps\n===\nthyme\n",
    "Property.md": "---\nrole: Head, deck crew\nteam: sea + shore\n---\nx\n",
    "Signs.md": "Salt + pepper, tea & scones; north / south, fish → chips.\n"
    "Cost = price, tom @ inn, near ~ far.\n"
    "Left * right, (up) -> down => out, buy 🎂 now, pay = $5, 7 + 8, 2 × 3. R&D a/b at -9 by #hats.\n",
    "Bars.md": "First • second, end | start\n\n* red\n+ violet\n\n| w + | x + |\n|---|---|\n| + y | + z |\n",
}


@pytest.fixture(scope="module")
def punctuated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenVault]:
    folder = tmp_path_factory.mktemp("punctuated")
    files = write_files(folder / "vault", PUNCTUATED)
    with contextlib.closing(index_here(files, folder / "index")) as index:
        yield index


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ('"red white and blue"', {"Commas.md"}),
        ('"red, white and blue"', {"Commas.md"}),
        ('"red; white and blue"', set()),
        ('"blue Smith 2019"', {"Commas.md"}),
        ('"Smith 2019"', {"Commas.md", "Brackets.md"}),
        ('"2019 found"', {"Brackets.md"}),
        ('"e.g. quick foo see the list"', {"Brackets.md"}),
        ('"stop start way"', {"Dashes.md"}),
        ('"well known places by the sea at night"', {"Dashes.md"}),
        ('"上海 abc def ghi jkl"', {"Wide.md"}),
        ('"at the last moored then they sailed"', {"Wrapped.md"}),
        ('-"red white"', {*PUNCTUATED} - {"Commas.md"}),
        ('content:"red white"', {"Commas.md"}),
        ('line:"red white"', {"Commas.md"}),
        ('block:"the last moored"', {"Wrapped.md"}),
        ('heading:"ropes knots"', {"Heading.md"}),
        ('"head deck crew"', {"Property.md"}),
        # signs between spaces
        ('"salt pepper tea scones north south"', {"Signs.md"}),
        ('"salt + pepper tea & scones"', {"Signs.md"}),
        ('"salt & pepper"', set()),
        ('"north / south"', {"Signs.md"}),
        ('"north/south, fish"', {"Signs.md"}),
        ('"R&D a / b"', {"Signs.md"}),
        ('"larch | moss"', {"Cells.md"}),
        ('"end | start"', {"Bars.md"}),
        ('"north | south"', set()),
        ('"fish chips cost price tom inn near far left right"', {"Signs.md"}),
        ('"up down out buy now pay $5"', {"Signs.md"}),
        ('"up down out buy 🎂 now"', {"Signs.md"}),
        ('"now pay $5 7 8"', {"Signs.md"}),
        ('"2 3"', {"Signs.md"}),
        ('"salt pepper" south', {"Signs.md"}),
        ('"team sea shore"', {"Property.md"}),
        ('heading:"knots sails"', {"Heading.md"}),
        ('"a quote that wraps"', {"Plain.txt"}),
        ('"R D"', set()),
        ('"a b"', set()),
        ('"at 9"', set()),
        ('"by hats"', set()),
        ('"first second"', {"Bars.md"}),
        ('"end start"', set()),
        # numbers and codes
        ('"A 12"', set()),
        ('"A 11"', set()),
        ('"at 5 degrees"', set()),
        ('"5 mg"', set()),
        ('"os path"', set()),
        ('"don t"', set()),
        ('"C code"', set()),
        ('"5 or 3"', set()),
        # blocks
        ('"ash birch"', set()),
        ('"birch cedar"', set()),
        ('"cedar dill"', set()),
        ('"dill elder"', set()),
        ('"fir gorse"', set()),
        ('"hazel iris"', set()),
        ('"iris juniper"', set()),
        ('"juniper kale"', set()),
        ('"kale larch"', set()),
        ('"lime maple"', set()),
        ('"nut oak"', set()),
        ('"pear quince"', set()),
        ('"quince rose"', set()),
        ('"rose sage"', set()),
        ('"sage title"', set()),
        ('"wraps thyme"', set()),
        ('"red violet"', set()),
        ('"w x"', set()),
        ('"x y"', set()),
        ('"y z"', set()),
    ],
)
def test_a_phrase_needs_no_punctuation_but_stays_in_its_block(
    punctuated: OpenVault, query: str, found: set[str]
) -> None:
    assert paths(punctuated, query) == found


def test_the_titles_and_previews_are_what_a_reader_sees(opened: OpenVault) -> None:
    request = SearchRequest("chips", SearchSettings(), mode="keyword")
    (result,) = asyncio.run(Searcher(opened).search(request))["results"]
    assert (result["title"], result["preview"]) == ("R&D plan – Köln", "Café chips.")
    assert (result["line"], result["column"]) == (3, 18)


def test_a_link_resolves_to_a_name_with_invisible_signs(opened: OpenVault) -> None:
    path = "Folder/wea\u00adther\u200bvane.md"
    rows = opened.ledger.select("SELECT title, target FROM notes JOIN links ON resolved = path")
    assert ("weathervane", "weathervane") in map(tuple, rows)
    assert [row.source for row in opened.ledger.links.to_paths([path])] == ["Links.md"]
