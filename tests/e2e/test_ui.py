"""The page in the browser: a real Chromium, the real command, a real daemon."""

import http.server
import json
import re
import signal
import subprocess
import sys
import threading
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote_plus

import psutil
import pytest

from browsing import CHROMIUM, FOREIGN, NARROW, NO_CHROMIUM, PHONE, WIDE, Served, chromium, served
from daemons import eventually
from made_files import canvas, card, pdf
from vaultseek.base.paths import vault_data_directory
from vaultseek.doors.ui.gate import CONNECTIONS

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)

DOT = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
HOSTILE = """# Hostile kettle

<script>window.hit = 1</script>
<img src=x onerror="window.hit = 2"> <svg/onload="window.hit = 3">
<iframe srcdoc="<script>parent.hit = 4</script>"></iframe>
[press](javascript:window.hit=5) [press](data:text/html,<script>1</script>)
![far](http://notes.example/track.png) ![](//notes.example/x.png)
[[Pump|" onclick="window.hit = 6]] #tag"onclick="window.hit=7"
<style>* { display: none }</style><meta http-equiv="refresh" content="0;url=http://notes.example/">
<base href="http://notes.example/"><form action="http://notes.example/"><input name=q></form>
<a id="query" name="results">clobber</a>
"""
PUMP = """---
status: open
tags: [work/pumps]
---
# Pump

The 泵 float switch of the pump rings an alarm. Read [[Garden#Slugs]] and [[Nowhere]], #work/alarm.

![[Tea#Steeping]]

![[dot.png|40]]

> [!warning] Water
> Stand dry.
"""
DRAWING = """<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20" onload="window.hit = 8">
<script>window.hit = 9; parent.hit = 9</script><rect width="30" height="20"/>
<image href="http://notes.example/track.png"/></svg>"""
WINCH = f"""# Winch

![[drawing.svg]]

> [!tip]- Folded
> The capstan turns.

> [!note] Open
> The pawl clicks.

{"oil " * 12_000}needleword{" rope" * 6_000}
"""
FLEET = """filters: file.inFolder("Projects")
formulas: {people: "8336817.25", third: 1 / 3, tiny: 1 / 8192, here: this.file.name}
views:
  - {type: table, name: All, order: [file.name]}
  - {type: table, name: Pumps, order: [file.name, status], filters: 'status == "open"'}
  - {type: table, name: Formulas, order: [formula.people, formula.third, formula.tiny, formula.here]}
"""
BLOCK = """# Fleet

```base
filters: file.inFolder("log")
views:
  - {type: table, name: Logs, order: [file.name], limit: 3}
```

![[manual.pdf#page=2]]

![[fleet.base]]
"""
NOTES: dict[str, str | bytes] = {
    "Fleet.md": BLOCK,
    "fleet.base": FLEET,
    "Projects/Pump.md": PUMP,
    "Garden.md": "# Garden\n\nRoses.\n\n"
    + "\n\n".join(f"Line {n}" for n in range(60))
    + "\n\n## Slugs\n\nThey eat lettuce near the pump.\n",
    "sub/Tea.md": "# Tea\n\nNot this.\n\n## Steeping\n\nThree minutes in the pot.\n\n## Drinking\n\nHot.\n",
    "Lonely.md": "---\n- broken\n---\n# Lonely\n\nThe pump without a link.\n",
    "Hostile.md": HOSTILE,
    "dot.png": DOT,
    "Board.canvas": canvas(card("a1", "Nothing here."), card("b2", "The winch brake.")),
    "manual.pdf": pdf("First page.", "The winch drum on the second page."),
    "drawing.svg": DRAWING,
    "Winch.md": WINCH,
    ".obsidian/app.json": "{}",
    **{f"log/{n}.md": f"# Log {n}\n\nThe pump ran {n} hours. [[Pump]]\n" for n in range(8)},
}
OTHER = {
    "Boat.md": "# Boat\n\nThe bilge pump of the boat. #work/boat [[Anchor]]\n",
    **{
        f"dated/{day}.md": f"---\ncreated: {day}\ntags: [dated]\n---\nThe ferry left at noon.\n"
        for day in ("2024-11-03", "2025-01-05", "2025-01-31", "2025-03-09")
    },
}


class Reader:
    """A person using the page: keys, clicks, and the visible text."""

    def __init__(self, page, served: Served) -> None:
        from playwright.sync_api import expect

        expect.set_options(timeout=30_000)
        self.expect = expect
        self.page = page
        self.served = served
        self.said: list[str] = []
        self.requests: list[str] = []
        page.set_default_timeout(30_000)
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def go(self, address: str = "/") -> None:
        self.page.goto(self.served.root + address)
        self.expect(
            self.page.locator("#results li:visible, #state .vault:visible, #graph svg:visible").first
        ).to_be_visible()

    def type(self, query: str) -> None:
        self.page.locator("#query").fill("")
        self.page.locator("#query").press_sequentially(query)

    def menu(self) -> None:
        """Open the menu of the note."""
        self.page.get_by_role("button", name="More").click()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def sees(self, selector: str, text=None) -> None:
        place = self.page.locator(selector).first
        self.expect(place).to_be_visible()
        if text is not None:
            self.expect(place).to_contain_text(text)

    def sees_no(self, selector: str) -> None:
        self.expect(self.page.locator(selector)).to_have_count(0)

    def first(self, title: str) -> None:
        self.expect(self.page.locator("#results .title").first).to_have_text(title)


@pytest.fixture(scope="module")
def vault(indexed_vault):
    vault = indexed_vault(NOTES)
    other = vault.root.parent / "other"
    other.mkdir()
    for name, text in OTHER.items():
        (other / name).parent.mkdir(exist_ok=True)
        (other / name).write_text(text)
    assert vault.daemon.run("vault", "add", str(other), "--name", "other").returncode == 0
    assert vault.daemon.run("index", "--wait", "--vault", "other").returncode == 0
    return vault


@pytest.fixture(scope="module")
def browser() -> Iterator:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def command(vault) -> Iterator[Served]:
    with served(vault.daemon.environment, "--vault", str(vault.root), cwd=vault.root) as command:
        yield command


@pytest.fixture(scope="module")
def visitor(browser, command):
    """The browser that has opened the address, with its cookies and storage."""
    context = browser.new_context(viewport=WIDE)
    page = context.new_page()
    page.goto(command.address)
    page.locator("#results li").first.wait_for()
    assert page.url == command.root + "/", "the token is gone from the address"
    page.close()
    return context


@pytest.fixture(scope="module")
def tab(visitor, command) -> Iterator[Reader]:
    """A tab of the visitor's browser; each new one starts processes, which takes half a second."""
    reader = Reader(visitor.new_page(), command)
    yield reader
    reader.page.close()


@pytest.fixture
def page(tab) -> Iterator:
    """The tab's page, without what other tests left on it."""
    yield tab.page
    tab.page.unroute_all(behavior="ignoreErrors")
    tab.page.goto(tab.served.root + "/icon.svg")
    tab.page.evaluate("sessionStorage.clear()")
    tab.page.set_viewport_size(WIDE)
    tab.page.emulate_media(media="null", color_scheme="null")


@pytest.fixture
def reader(page, tab) -> Iterator[Reader]:
    tab.said.clear()
    tab.requests.clear()
    tab.go()
    yield tab
    assert tab.said == []
    assert all(url.startswith((tab.served.root, "blob:")) for url in tab.requests)


def test_results_follow_the_typing_and_back_leads_through_queries(reader):
    reader.type("float swi")
    reader.first("Pump")
    assert reader.page.locator("#results mark").first.inner_text().lower() in ("float", "switch")
    reader.sees("#results li:first-child .meta", "Projects/Pump.md")
    reader.expect(reader.page.locator("#results li").first).to_contain_text("#work/alarm")
    reader.sees("#results li:first-child .certainty")
    reader.expect(reader.page).to_have_url(re.compile(r"q=float\+swi$"))
    reader.press("ArrowDown")
    reader.sees("#note h1", "Pump")
    reader.page.locator("#query").fill("steeping tea")
    reader.first("Tea")
    reader.page.go_back()
    reader.first("Pump")
    reader.expect(reader.page.locator("#query")).to_have_value("float swi")
    reader.page.go_forward()
    reader.first("Tea")
    reader.page.reload()
    reader.first("Tea")
    reader.expect(reader.page.locator("#query")).to_have_value("steeping tea")


def test_less_certain_notes_are_counted_and_shown_on_demand(reader):
    reader.type("float swi")
    reader.first("Pump")
    fold = reader.page.locator("#less-certain")
    reader.expect(fold).to_have_text(re.compile(r"^\d+ less certain notes?$"))
    shown = reader.page.locator("#results li").count()
    folded = int(fold.inner_text().split()[0])
    fold.click()
    reader.expect(reader.page.locator("#results li")).to_have_count(shown + folded)
    reader.expect(fold).to_be_hidden()


def test_a_filter_completes_and_becomes_a_chip(reader):
    reader.type("pump tag:wo")
    reader.sees("#offers li", "work")
    reader.expect(reader.page.locator("#query")).to_have_attribute("aria-controls", "offers")
    reader.press("ArrowDown", "Enter")
    reader.sees("#chips li", "#work")
    reader.expect(reader.page.locator("#query")).to_have_value("pump ")
    reader.expect(reader.page.locator("#results li")).to_have_count(1)
    reader.first("Pump")
    reader.page.keyboard.type("[sta")
    reader.sees("#offers li", "status")
    reader.press("Tab")
    reader.sees("#offers li", "open")
    reader.press("Tab")
    reader.sees("#chips li:nth-child(2)", "status: open")
    reader.page.locator("#query").fill("")
    reader.press("Backspace")
    reader.expect(reader.page.locator("#chips li")).to_have_count(1)
    reader.page.get_by_role("button", name="Remove #work").click()
    reader.expect(reader.page.locator("#chips li")).to_have_count(0)


@pytest.mark.parametrize("query", ['"- [x] buy milk"', '"use tag:work now"', "milk /a [bc] d/"])
def test_phrases_and_regular_expressions_stay_whole_while_they_are_typed(reader, query):
    reader.type(query)
    reader.expect(reader.page.locator("#query")).to_have_value(query)
    reader.expect(reader.page.locator("#chips li")).to_have_count(0)
    reader.page.wait_for_url(lambda url: query in unquote_plus(url))


def test_a_filter_of_a_note_narrows_all_of_a_query_with_alternatives(reader):
    reader.type("lettuce OR alarm")
    reader.page.locator("#results li", has_text="Projects/Pump.md").click()
    reader.page.locator("#note article a.tag", has_text="#work/alarm").click()
    reader.expect(reader.page.locator("#query")).to_have_value("tag:work/alarm (lettuce OR alarm)")
    reader.expect(reader.page.locator("#results li")).to_have_count(1)


@contextmanager
def written(vault, name: str, text: str) -> Iterator[Path]:
    """A note that exists in the vault for a while."""
    note = vault.root / name
    note.write_text(text)
    vault.daemon.run("index", "--wait", "--vault", str(vault.root))
    yield note
    note.unlink()
    vault.daemon.run("index", "--wait", "--vault", str(vault.root))


def test_a_link_to_a_heading_opens_its_section(reader, vault):
    room = "\n" + "Some words.\n\n" * 60
    nested = f"## First\n### Same\n{room}## Second\n### Same\n{room}## C# notes\n{room}"
    links = "[[Quince#Second#Same|one]] [[Quince#C# notes|two]]\n"
    with written(vault, "Quince.md", nested), written(vault, "Medlar.md", links):
        for link, heading in (("one", "#note h3 >> nth=1"), ("two", "#note h2 >> nth=2")):
            reader.go("/?note=Medlar.md&of=vault")
            reader.page.locator("#note article a", has_text=link).click()
            reader.sees("#note h1", "Quince")
            reader.expect(reader.page.locator(heading)).to_be_in_viewport()


def test_who_looks_at_the_page_again_sees_what_has_changed_where_it_was(reader, vault):
    text = "# Sorb\n\nThe firstversionword.\n\n" + "Some words.\n\n" * 80
    with written(vault, "Sorb.md", text) as note:
        reader.type("firstversionword")
        reader.first("Sorb")
        reader.press("ArrowDown")
        reader.sees("#note article", "firstversionword")
        reader.page.evaluate("document.querySelector('#note').scrollTo(0, 500)")
        note.write_text(text.replace("firstversionword", "firstversionword, then secondversionword"))
        vault.daemon.run("index", "--wait", "--vault", str(vault.root))
        reader.page.evaluate("dispatchEvent(new Event('focus'))")
        reader.expect(reader.page.locator("#note article")).to_contain_text("secondversionword")
        reader.sees("#results li", "secondversionword")
        assert reader.page.evaluate("document.querySelector('#note').scrollTop") == 500


def test_folders_complete_and_every_vault_is_asked(reader):
    reader.type("path:pro")
    reader.sees("#offers li", "Projects/")
    reader.press("Tab")
    reader.sees("#chips li[title='path:Projects/']", "Projects")
    reader.page.locator("#vault").select_option(label="All vaults")
    reader.page.locator("#query").focus()
    reader.type("tag:work")
    reader.sees("#offers li:has-text('work/boat')")
    reader.sees("#offers li:has-text('work/pumps')")
    reader.expect(reader.page.locator("#offers li").first).to_have_text("work2")


def test_an_offer_also_replaces_what_was_typed_since(reader):
    reader.type("path:p")
    reader.sees("#offers li", "Projects/")
    typed = "const box = document.querySelector('#query'); box.setRangeText('ro', 6, 6, 'end')"
    reader.page.evaluate(typed)  # without an event, as if the offers had not come yet
    reader.press("Tab")
    reader.sees("#chips li[title='path:Projects/']", "Projects")


def test_a_new_query_begins_with_its_best_result(reader):
    reader.page.locator("#query").fill("float switch alarm")
    reader.sees("#results li:first-child mark:text('alarm')")
    reader.press("ArrowDown", "ArrowDown")
    reader.expect(reader.page.locator("#results li").nth(1)).to_have_attribute("aria-selected", "true")
    reader.page.locator("#query").fill("pump")
    reader.expect(reader.page).to_have_url(re.compile("q=pump&"))
    best = reader.page.locator("#results li").first
    reader.expect(best).to_have_attribute("aria-selected", "true")
    title = best.locator(".title").text_content()
    reader.press("ArrowDown")
    reader.expect(reader.page.locator("#note h1").first).to_have_text(title.split(" ")[0])


def test_files_that_are_no_notes_say_where_in_them_it_is(reader):
    reader.type("winch drum page")
    reader.first("manual")
    reader.sees("#results li:first-child .path", "manual.pdf page 2")
    reader.press("ArrowDown")
    reader.expect(reader.page.locator("#note .place")).to_have_text(["page 1", "page 2"])
    reader.sees("#note .passage", "drum")
    drawn = reader.page.get_by_role("img", name="page 2")
    reader.expect(drawn).to_have_attribute("src", re.compile("^blob:"))
    assert drawn.evaluate("image => image.decode().then(() => image.naturalWidth)") > 1000
    reader.expect(drawn).to_be_in_viewport()
    reader.type("winch brake")
    reader.sees("#results .path:has-text('Board.canvas #b2')")
    reader.page.goto(reader.served.root + "/?note=Board.canvas&of=vault&at=b2")
    reader.sees("#note .passage", "winch brake")


def test_bases_are_tables_and_what_notes_embed_is_shown(reader):
    reader.page.goto(reader.served.root + "/?note=Fleet.md&of=vault")
    table = reader.page.get_by_role("region", name="Logs")
    reader.expect(table.locator("tbody td:first-child")).to_have_text(["0", "1", "2"])
    reader.sees("#note .embedded img.page[src]")
    reader.page.locator("#note .embedded .base select").select_option("Pumps")
    reader.expect(reader.page.locator("#note .embedded .base td")).to_have_text(["Pump", "open"])
    reader.page.locator("#note .embedded .base select").select_option("Formulas")
    reader.expect(reader.page.locator("#note .embedded .base td")).to_have_text(
        ["8336817.25", "0.3333", "0.0001220703125", "Fleet"]
    )
    reader.page.locator("#note .embedded .base td a").click()
    reader.sees("#note h1", "Pump")
    reader.page.goto(reader.served.root + "/?note=fleet.base&of=vault&at=Pumps")
    reader.expect(reader.page.locator("#note .base td")).to_have_text(["Pump", "open"])
    reader.page.goto(reader.served.root + "/?note=drawing.svg&of=vault")
    reader.expect(reader.page.locator("#note article img")).to_have_attribute("src", re.compile("^data:"))


def test_drawings_are_pictures_and_callouts_fold(reader):
    reader.go("/?q=pawl&note=Winch.md&of=vault")
    image = reader.page.locator("#note img")
    reader.expect(image).to_have_attribute("src", re.compile("^data:image/svg"))
    assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") == 30
    assert reader.page.evaluate("() => window.hit") is None
    folded = reader.page.locator("#note details.callout")
    reader.expect(folded.locator("p")).to_be_hidden()
    folded.locator("summary").click()
    reader.expect(folded.locator("p")).to_have_text("The capstan turns.")
    reader.sees("#note blockquote.callout .title", "Open")


def test_the_match_in_a_line_without_end_is_shown(reader):
    reader.type("needleword")
    reader.first("Winch")
    reader.press("ArrowDown")
    word = reader.page.locator("#note mark.word")
    reader.expect(word).to_have_text("needleword")
    reader.expect(word).to_be_in_viewport()
    reader.sees("#note .cut", "Very long lines are truncated.")


def test_results_offer_what_narrows_them(reader):
    reader.type("pump")
    reader.page.locator("#facets button", has_text="log").click()
    reader.sees("#chips li[title='path:log/']", "log")
    reader.expect(reader.page.locator("#results li")).to_have_count(8)


def test_several_vaults_are_searched_by_a_switch(reader):
    reader.type("bilge boat")
    reader.page.locator("#vault").select_option("other")
    reader.first("Boat")
    reader.page.locator("#vault").select_option(label="All vaults")
    reader.sees("#results .path", "other / Boat.md")
    reader.page.locator("#results li", has_text="Boat.md").click()
    reader.sees("#note .where", "other / Boat.md")
    reader.page.go_back()
    reader.page.go_back()
    reader.expect(reader.page.locator("#vault")).to_have_value("other")


def test_a_note_opens_beside_the_list_with_its_passage_links_embeds_and_surroundings(reader):
    reader.type("float switch alarm")
    reader.first("Pump")
    reader.press("ArrowDown")
    reader.sees("#note p.passage", "float switch")
    reader.sees("#note .passage mark.word")
    reader.sees("#note .embedded", "Three minutes")
    reader.expect(reader.page.locator("#note .embedded")).not_to_contain_text("Not this")
    reader.expect(reader.page.locator("#note .embedded")).not_to_contain_text("Hot")
    reader.sees("#note blockquote.callout .title", "Water")
    reader.sees("#note a.lost", "Nowhere")
    reader.sees("#note summary", "2 properties")
    picture = reader.page.locator("#note img[data-file]")
    reader.expect(picture).to_have_attribute("src", re.compile("^blob:"))
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 1
    reader.sees("#note .around:nth-of-type(1) .count")
    reader.expect(reader.page.locator("#note details", has_text="Backlinks").locator("li")).to_have_count(8)
    reader.sees("#note details:has-text('Mentions')", "The pump without a link.")
    reader.sees("#note >> text=Related")

    reader.page.locator("#note article a", has_text="Slugs").click()
    reader.sees("#note h1", "Garden")
    reader.expect(reader.page.locator("#note h2", has_text="Slugs")).to_be_in_viewport()
    reader.page.go_back()
    reader.sees("#note h1", "Pump")
    reader.page.locator("#note article .embedded .from a").click()
    reader.sees("#note h1", "Tea")
    reader.page.go_back()
    reader.page.locator("#note article a.tag", has_text="#work/alarm").click()
    reader.sees("#chips li", "#work/alarm")
    reader.page.get_by_role("button", name="Close the note").click()
    reader.expect(reader.page.locator("#note")).to_be_hidden()


def test_enter_opens_obsidian_at_the_note(reader, vault):
    reader.type("float switch alarm")
    reader.first("Pump")
    reader.page.evaluate(
        """() => document.addEventListener("click", (event) => {
          const link = event.target.closest("a[href^='obsidian:']");
          if (link) { event.preventDefault(); document.title = link.getAttribute("href"); }
        }, true)"""
    )
    reader.press("Enter")
    place = str(vault.root / "Projects" / "Pump.md").replace("/", "%2F")
    reader.expect(reader.page).to_have_title(f"obsidian://open?path={place}")
    # From what was just typed, not from the query before it.
    reader.page.locator("#query").fill("slugs eat lettuce")
    reader.press("Enter")
    place = str(vault.root / "Garden.md").replace("/", "%2F")
    reader.expect(reader.page).to_have_title(f"obsidian://open?path={place}")


def test_every_bar_is_the_sum_of_its_parts_and_a_lost_note_is_explained(reader):
    reader.type("pump")
    reader.first("Pump")
    reader.press("Escape", "e")
    reader.sees("#results .stack")
    labels = [bar.get_attribute("aria-label") for bar in reader.page.locator("#results .stack").all()]
    assert len(labels) > 8
    for label in labels:
        score, *parts = [float(n.replace("−", "-")) for n in re.findall(r"[+−]?\d+\.\d+", label)]
        assert abs(sum(parts) - score) < 0.005, label
    assert "words" in labels[0]
    reader.page.locator("#why-note").press_sequentially("Lone")
    reader.expect(reader.page.locator("#why-notes option[value='Lonely.md']")).to_have_count(1)
    reader.page.goto(reader.page.url.replace("q=pump", "q=pump+tag%3Awork"))
    reader.page.locator("#why-note").fill("Lonely")
    reader.page.get_by_role("button", name="Explain").click()
    reader.sees("#verdict", "tag work")
    reader.sees("#verdict li", "✗")


def test_the_graph_shows_results_and_neighbours_and_leads_to_them(reader):
    reader.type("float switch alarm")
    reader.first("Pump")
    reader.press("Escape", "g")
    reader.sees("#graph svg")
    circles = reader.page.locator("#graph a.node")
    reader.expect(circles.first).to_have_attribute("aria-label", re.compile(r"Pump, certainty \d+%"))
    radii = circles.evaluate_all(
        "nodes => nodes.map(n => Number(n.querySelector('circle').getAttribute('r')))"
    )
    assert radii[0] == max(radii)
    reader.sees("#graph .legend", "words")
    drawing = reader.page.locator("#graph svg")
    whole = drawing.get_attribute("viewBox")
    circles.first.focus()
    reader.press("+", "+")
    reader.expect(drawing).not_to_have_attribute("viewBox", whole)
    closer = drawing.get_attribute("viewBox")
    assert float(closer.split()[2]) < float(whole.split()[2])
    reader.press("ArrowRight")
    reader.expect(drawing).not_to_have_attribute("viewBox", closer)
    assert float(drawing.get_attribute("viewBox").split()[0]) > float(closer.split()[0])
    box = drawing.bounding_box()
    place = box["x"] + box["width"] / 2, box["y"] + box["height"] - 20
    moved = drawing.get_attribute("viewBox")
    reader.page.mouse.move(*place)
    reader.page.mouse.down()
    reader.page.mouse.move(place[0] - 80, place[1] - 90, steps=4)
    reader.page.mouse.up()
    reader.expect(drawing).not_to_have_attribute("viewBox", moved)
    reader.page.get_by_role("button", name="Farther").click()
    reader.page.get_by_role("button", name="Everything").click()
    reader.expect(drawing).to_have_attribute("viewBox", whole)
    reader.page.get_by_role("link", name=re.compile("^Tea,")).focus()
    reader.press("Enter")
    reader.expect(reader.page.get_by_role("link", name=re.compile("^Tea,"))).to_have_attribute(
        "aria-current", ""
    )
    reader.sees("#note h1", "Tea")
    reader.sees("#graph svg")
    reader.page.go_back()
    reader.expect(reader.page.locator("#note")).to_be_hidden()


def test_without_a_query_the_graph_is_a_map_of_the_vault(reader):
    reader.press("Escape", "g")
    reader.sees("#graph svg")
    reader.sees("#graph .about", "18 notes")
    circles = reader.page.locator("#graph a.node")
    reader.expect(circles).to_have_count(18)
    cluster = reader.page.locator("#graph .legend button").first
    reader.expect(cluster).to_contain_text("Pump")
    words = (cluster.get_attribute("title") or "").removeprefix("Search ")
    reader.expect(reader.page.locator("#graph a.node.cluster-0").first).to_be_visible()
    reader.page.get_by_role("link", name=re.compile("^Tea")).first.focus()
    reader.press("Enter")
    reader.sees("#note h1", "Tea")
    cluster.click()
    reader.expect(reader.page.locator("#list")).to_be_visible()
    assert words in reader.page.evaluate("() => new URL(location).searchParams.get('q')")


def test_the_map_marks_the_path_from_the_open_note_and_a_reload_keeps_it(reader):
    reader.type("steeping pot")
    reader.first("Tea")
    reader.page.locator("#results li").first.click()
    reader.sees("#note h1", "Tea")
    reader.menu()
    reader.page.get_by_label("Path to").fill("Garden")
    reader.press("Enter")
    steps = reader.page.get_by_role("list", name="Path").get_by_role("link")
    reader.expect(steps).to_have_text(["Tea", "Pump", "Garden"])
    reader.sees("#graph .steps li:nth-child(2)", "![[Tea#Steeping]]")
    reader.sees("#graph .steps li:nth-child(3)", "Read [[Garden#Slugs]]")
    reader.expect(reader.page.locator("#graph line.step")).to_have_count(2)
    reader.expect(reader.page.locator("#graph a.node.step")).to_have_count(3)
    steps.nth(1).click()
    reader.sees("#note h1", "Pump")
    reader.expect(steps).to_have_text(["Tea", "Pump", "Garden"])
    reader.page.reload()
    reader.expect(steps).to_have_text(["Tea", "Pump", "Garden"])
    reader.menu()
    reader.page.get_by_label("Path to").fill("No such note")
    reader.press("Enter")
    reader.sees("#graph .trouble", "no note")
    reader.sees("#graph svg")
    reader.said.clear()  # the browser logs the 404 response
    reader.page.get_by_role("button", name="Without the path").click()
    reader.sees("#graph svg")
    reader.sees_no("#graph .route")
    reader.expect(reader.page.locator("#graph")).to_be_focused()


def test_a_late_answer_leaves_what_is_typed_beside_it(reader):
    held = []
    reader.page.route(
        "**/api/call",
        lambda route: held.append(route) if '"search"' in route.request.post_data else route.continue_(),
    )
    reader.page.goto(reader.served.root + "/?note=sub/Tea.md&of=vault")
    reader.sees("#note h1", "Tea")
    reader.menu()
    reader.page.get_by_label("Path to").fill("Garden")
    assert held
    for route in held:
        route.continue_()
    reader.page.locator("#results li").first.wait_for()
    reader.expect(reader.page.get_by_label("Path to")).to_have_value("Garden")
    reader.press("Enter")
    reader.expect(reader.page.get_by_role("list", name="Path")).to_be_visible()


def test_a_step_by_meaning_is_drawn_otherwise_than_a_link(reader):
    reader.page.goto(f"{reader.served.root}/?view=graph&vault=vault&from=Lonely.md&to=sub/Tea.md")
    reader.expect(reader.page.locator("#graph line.step.meaning")).to_have_count(1)
    reader.sees("#graph .steps", "similar in meaning")


def test_a_narrow_screen_shows_the_path_in_place_of_the_note(reader):
    reader.page.set_viewport_size({"width": 390, "height": 800})
    reader.page.goto(reader.served.root + "/?note=sub/Tea.md&of=vault")
    reader.sees("#note h1", "Tea")
    reader.menu()
    reader.page.get_by_label("Path to").fill("Garden")
    reader.press("Enter")
    steps = reader.page.get_by_role("list", name="Path").get_by_role("link")
    reader.expect(steps).to_have_text(["Tea", "Pump", "Garden"])
    reader.sees("#graph svg")
    reader.expect(reader.page.locator("#note")).to_be_hidden()
    reader.expect(reader.page.locator("#graph")).to_be_focused()
    assert reader.page.evaluate(WIDTH) <= 390
    steps.last.click()
    reader.sees("#note h1", "Garden")
    reader.page.go_back()
    reader.sees("#graph .steps")


def test_filters_alone_have_no_certainty_and_the_state_closes_the_note(reader):
    reader.type("tag:work")
    reader.expect(reader.page).to_have_url(re.compile("q=tag%3Awork$"))
    reader.page.locator("#results li:not(:has(.certainty))").first.wait_for()
    assert reader.page.locator("#results .certainty").count() == 0
    reader.page.locator("#results li").first.click()
    reader.page.locator("#note h1").first.wait_for()
    reader.press("Escape", "s")
    reader.expect(reader.page.locator("#state")).to_be_visible()
    reader.expect(reader.page.locator("#note")).to_be_hidden()


def test_the_state_names_what_is_wrong(reader, vault):
    report = {
        "model": "m",
        "queries": {"all": 7, "question": 3},
        "variants": {
            "yours": {
                "figures": {
                    name: {
                        m: {"mean": 0.5, "low": 0.4, "high": 0.6}
                        for m in ("nDCG@10", "MRR", "Recall@10", "P@5")
                    }
                    for name in ("all", "question")
                },
                "latency_ms": {"p50": 1.25, "p95": 3.5},
            }
        },
    }
    reader.press("Escape", "s")
    box = reader.page.locator("#state .vault", has_text=str(vault.root))
    reader.expect(box).to_contain_text("ready · 18 notes")
    reader.expect(box.locator(".problems")).to_contain_text("Lonely.md")
    box.locator("summary", has_text="Broken links").click()
    reader.expect(box).to_contain_text("[[Nowhere]]")
    box.locator("summary", has_text="Orphans").click()
    reader.expect(box.locator("details", has_text="Orphans")).to_contain_text("Lonely.md")
    box.locator("summary", has_text="Quality").click()
    reader.expect(box).to_contain_text("Not measured yet")
    data = Path(vault.daemon.environment["XDG_DATA_HOME"], "vaultseek")
    kept = data / "evaluate" / vault_data_directory(vault.root.resolve()).name
    kept.mkdir(parents=True)
    (kept / "report.json").write_text(json.dumps(report))
    box.locator("summary", has_text="Quality").click()
    box.locator("summary", has_text="Quality").click()
    reader.expect(box.get_by_role("img", name="yours: 0.500, from 0.400 to 0.600")).to_have_count(3)
    reader.expect(box.get_by_role("region", name="All queries")).to_contain_text("P@5")
    reader.expect(box.get_by_role("region", name="All queries")).to_contain_text("3.5")
    reader.expect(box.get_by_role("region", name="nDCG@10 by category")).to_contain_text("question")
    box.locator(".problems a").first.click()
    reader.sees("#note h1", "Lonely")


def test_keys_help_and_theme(reader):
    reader.press("Escape", "?")
    reader.sees("dialog[open] h2", "Keys")
    reader.press("Escape")
    reader.sees_no("dialog[open]")
    reader.press("/")
    reader.expect(reader.page.locator("#query")).to_be_focused()
    dark = reader.page.locator("#theme")
    dark.click()
    dark.click()
    colour = "getComputedStyle(document.body).backgroundColor"
    assert reader.page.evaluate(f"() => {colour}") == "rgb(23, 25, 29)"
    dark.click()
    assert reader.page.evaluate(f"() => {colour}") == "rgb(255, 255, 255)"


def test_nothing_of_a_hostile_note_acts(visitor, command):
    page = visitor.new_page()
    reader = Reader(page, command)
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    reader.go("/?q=kettle&note=Hostile.md&of=vault")
    reader.sees("#note article", "clobber")
    assert "hit = 1" not in page.locator("#note article").inner_text()
    for link in page.locator("#note article a").all():
        href = link.get_attribute("href") or ""
        assert re.match(r"(/\?|https?://notes\.example/)", href) or not href, href
    page.locator("#note article").get_by_text("press").first.click()
    assert page.evaluate("() => window.hit") is None
    allowed = {"a", "br", "div", "em", "h1", "li", "mark", "p", "span", "strong", "ul"}
    tags = page.locator("#note article *").evaluate_all("all => all.map(each => each.localName)")
    assert set(tags) <= allowed
    attributes = page.locator("#note article *").evaluate_all(
        "all => all.flatMap(each => each.getAttributeNames())"
    )
    assert not [name for name in attributes if name.startswith("on") or name in ("style", "src", "srcdoc")]
    assert asked == []
    assert all(url.startswith(command.root) for url in reader.requests)
    assert page.locator("#query").count() == 1
    page.close()


INTRUDER = """async () => {
  const stopped = [];
  const inline = document.createElement("script");
  const attempts = {
    html: () => { document.body.innerHTML = "<img src=x onerror='window.hit = 1'>"; },
    handler: () => {
      document.body.setAttribute("onclick", "window.hit = 2");
      document.body.click();
      if (!window.hit) throw 0;
    },
    policy: () => trustedTypes.createPolicy("other", {}),
    fetch: () => fetch("http://notes.example:1/"),
    script: () => { inline.textContent = "window.hit = 3"; document.head.append(inline); },
  };
  for (const [name, act] of Object.entries(attempts)) {
    try { await act(); } catch { stopped.push(name); }
  }
  return [stopped, window.hit ?? null];
}"""


def test_the_policy_stops_a_script_that_got_in(visitor, command):
    page = visitor.new_page()
    page.goto(command.root)
    page.locator("#results li").first.wait_for()
    stopped = page.evaluate(INTRUDER)
    assert stopped == [["html", "handler", "policy", "fetch", "script"], None]
    page.close()


class Foreign(http.server.BaseHTTPRequestHandler):
    """A foreign page that knows the port and tries everything."""

    target = ""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(FOREIGN_PAGE.replace("TARGET", self.target).encode())

    def log_message(self, *_: object) -> None:
        pass


FOREIGN_PAGE = """<!doctype html><title>foreign</title><iframe id=frame src="TARGET/?q=pump"></iframe>
<script src="TARGET/main.js" type=module></script><link rel=stylesheet href="TARGET/page.css">
<img src="TARGET/icon.svg" onload="got.push('image')">
<script>
const got = [];
const body = JSON.stringify({method: "search", params: {query: "pump"}});
const json = {"Content-Type": "application/json", "X-Vaultseek-Key": "x"};
const ways = {
  get: {},
  post: {method: "POST", body, headers: json},
  simple: {method: "POST", body},
  blind: {method: "POST", body, mode: "no-cors"},
};
async function attempt(name, act) {
  try {
    const seen = await act();
    if (seen) got.push(`${name}: ${seen}`);
  } catch {}
}
onload = async () => {
  for (const path of ["/", "/main.js", "/api/about", "/api/call", "/api/session"])
    for (const [way, options] of Object.entries(ways))
      await attempt(`${way} ${path}`, async () =>
        (await (await fetch("TARGET" + path, {credentials: "include", ...options})).text()).length);
  await attempt("frame", async () => document.getElementById("frame").contentDocument?.body.innerText);
  document.title = "done";
};
</script>"""


@contextmanager
def foreign_page(target: str) -> Iterator[int]:
    handler = type("Handler", (Foreign,), {"target": target})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("name", [FOREIGN, "127.0.0.1"])
def test_another_page_in_the_same_browser_gets_nothing(visitor, command, name):
    with foreign_page(command.root) as port:
        page = visitor.new_page()
        page.goto(f"http://{name}:{port}/")
        page.wait_for_function("document.title === 'done'", timeout=60_000)
        assert page.evaluate("got") == []
        frame = page.frames[1]
        assert "Pump" not in (frame.locator("html").inner_text() if frame.url.startswith("http") else "")
        page.close()


def test_a_name_that_is_pointed_here_gets_nothing(visitor, command):
    page = visitor.new_page()
    answer = page.goto(f"http://{FOREIGN}:{command.port}/")
    assert answer.status == 421
    got = page.evaluate(
        """async () => {
          const options = {method: "POST", headers: {"Content-Type": "application/json"}, body: "{}"};
          return (await fetch("/api/about", options)).status;
        }"""
    )
    assert got == 421
    page.close()


def test_nobody_gets_in_without_the_token_nor_with_a_used_one(visitor, browser, command):
    for address in (command.root, command.address, f"{command.root}/#token=wrong"):
        context = browser.new_context()
        page = context.new_page()
        page.goto(address)
        page.locator("#trouble:not([hidden])").wait_for()
        assert "vaultseek ui" in page.locator("#trouble").inner_text()
        assert page.locator("#results li").count() == 0
        assert context.cookies() == []
        context.close()


WIDTH = """() => Math.max(...[...document.querySelectorAll("html, main, main > section")]
  .map((each) => each.scrollWidth))"""
UNNAMED = """() => [...document.querySelectorAll(
    "a[href], button, input:not([type=checkbox]), select, summary, [role=img], [role=listbox]")]
  .filter((each) => each.checkVisibility())
  .filter((each) => !each.getAttribute("aria-label") && !each.textContent.trim())
  .filter((each) => !each.labels?.length && !each.title)
  .map((each) => each.outerHTML)"""


@pytest.mark.parametrize("size", [NARROW, WIDE], ids=["narrow", "wide"])
def test_everything_has_a_name_and_nothing_is_wider_than_the_screen(reader, command, size):
    page = reader.page
    page.set_viewport_size(size)
    for address in (
        "/?q=pump",
        "/?q=pump&why=1",
        "/?q=pump&view=graph",
        "/?view=graph&from=sub/Tea.md&to=Garden.md",
        "/?view=state",
        "/?q=pump&note=Projects/Pump.md&of=vault",
    ):
        reader.go(address) if "note=" not in address else page.goto(command.root + address)
        if "note=" in address:
            reader.sees("#note .embedded")
        assert page.evaluate(WIDTH) <= size["width"], address
        unnamed = page.evaluate(UNNAMED)
        assert unnamed == []
        assert page.locator("main, header, h1, [role=search]").count() >= 3


SCREENS = (
    *(
        "/",
        "/?q=pump",
        "/?q=tag%3Awork",
        "/?q=pump&why=1",
        "/?q=zzzqqq",
        "/?q=pump&view=graph",
        "/?view=graph",
    ),
    *("/?view=graph&from=sub/Tea.md&to=Garden.md", "/?view=state", "/?q=tea&note=Nowhere.md&of=vault"),
    *("/?q=pump&note=Projects/Pump.md&of=vault", "/?q=capstan&note=Winch.md&of=vault"),
    *("/?note=Fleet.md&of=vault", "/?note=fleet.base&of=vault", "/?note=drawing.svg&of=vault"),
    *("/?q=winch+drum&note=manual.pdf&of=vault", "/?q=winch&note=Board.canvas&of=vault"),
)


ABOUT_COLOURS = """() => axe.run(
    {runOnly: ["color-contrast", "link-in-text-block"], resultTypes: ["violations"]}
)"""
"""The rules that see what a page looks like; all others see the same page, whatever its colours."""


@pytest.fixture(params=[PHONE, WIDE], ids=["phone", "wide"])
def checked(request, page):
    """The page, and a function that asserts that axe finds nothing on it in light and dark colours."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")
    page.set_viewport_size(request.param)

    def check(screen: str, dark: bool = True) -> None:
        page.wait_for_load_state("networkidle")
        page.emulate_media(color_scheme="light")
        found = axe.Axe().run(page).response["violations"]
        if dark:
            page.emulate_media(color_scheme="dark")
            found += page.evaluate(ABOUT_COLOURS)["violations"]
        assert [(each["id"], each["nodes"][0]["html"]) for each in found] == [], screen

    return page, check


@pytest.mark.parametrize("screens", [SCREENS[:9], SCREENS[9:]], ids=["lists", "notes"])
def test_axe_finds_nothing_on_any_screen(checked, command, screens):
    page, check = checked
    for screen in screens:
        page.goto(command.root + screen)
        check(screen, dark=page.viewport_size == WIDE)  # its colours do not depend on the width


def test_axe_finds_nothing_in_what_a_screen_opens(checked, command):
    page, check = checked
    page.goto(command.root + SCREENS[-1])
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    check("keys")
    page.keyboard.press("Escape")
    page.goto(command.root)
    page.locator("#results li").first.wait_for()
    page.locator("#query").press_sequentially("tag:wo")
    page.locator("#offers li").first.wait_for()
    check("completions")
    page.goto(command.root + "/?q=capstan&note=Winch.md&of=vault")
    page.get_by_role("button", name="More").click()
    check("the note's menu")
    page.get_by_role("button", name="Keep open").click()
    check("open notes")
    if page.viewport_size == PHONE:
        page.get_by_role("button", name="Menu").click()
        check("menu")
    page.goto(command.root + "/?q=tag%3Adated&in=other")
    page.locator("#months summary").click()
    page.locator("#bars button").first.wait_for()
    check("by month")


def test_the_page_goes_on_when_the_daemon_is_restarted_under_it(reader, vault):
    reader.type("pump")
    reader.first("Pump")
    vault.daemon.kill()
    reader.page.locator("#query").fill("steeping tea")
    reader.first("Tea")
    reader.expect(reader.page.locator("#trouble")).to_be_hidden()
    vault.daemon.stop()
    reader.page.locator("#query").fill("float switch alarm")
    reader.first("Pump")


def test_a_vault_of_the_command_alone_outlives_the_daemon(browser, vault):
    pantry = vault.root.parent / "pantry"
    pantry.mkdir()
    (pantry / "Jam.md").write_text("# Jam\n\nQuinces and sugar.\n")
    with served(vault.daemon.environment, "--vault", str(pantry), cwd=vault.root) as command:
        context = browser.new_context(viewport=WIDE)
        reader = Reader(context.new_page(), command)
        reader.page.goto(command.address)
        reader.first("Jam")
        vault.daemon.stop()
        reader.page.goto(command.root + "/?q=quinces&note=Jam.md&of=pantry")
        reader.sees("#note article", "sugar")
        context.close()
    vault.daemon.run("vault", "remove", str(pantry))


KINDS = """# First
Text.

### Third before second
## Second
#### Fourth
# Another first
###### Sixth

- [ ] open
- [x] done
- [/] half
  - [-] dropped
- [!] urgent

> [!WARNING|wide] Water
> Stand dry.

> [!faq]- Why
> So.

> [!mine] Own
> So.

```mermaid
graph TD; A-->B
```

```js
const a = 1; // one
```
"""
SIZES = """() => [...document.querySelectorAll("#note h1, #note [data-level]")].map((each) =>
  [each.localName[1], each.dataset.level ?? 0, parseFloat(getComputedStyle(each).fontSize)].map(Number))"""


def test_a_note_looks_as_its_writer_expects(reader, vault):
    with written(vault, "Kinds.md", KINDS):
        reader.page.goto(reader.served.root + "/?note=Kinds.md&of=vault")
        reader.sees("#note article .callout")
        title, *headings = reader.page.evaluate(SIZES)
        outline = [place for place, _, _ in headings]
        assert outline == [2, 3, 3, 4, 2, 3], "under the title, none a level too deep"
        sizes = {level: size for _, level, size in headings}
        assert [title[2], *(sizes[level] for level in sorted(sizes))] == sorted(
            {title[2], *sizes.values()}, reverse=True
        )
        article = reader.page.locator("#note article")
        for name in ("In progress", "Cancelled", "Important"):
            reader.expect(article.get_by_role("img", name=name)).to_be_visible()
        reader.expect(article.locator("s")).to_have_text(["done", "dropped"])
        assert article.locator("li ul").evaluate("each => getComputedStyle(each).marginTop") == "0px"
        colours = {
            kind: article.locator(f".callout[data-kind={kind}] > :first-child").evaluate(
                "each => [getComputedStyle(each).color, getComputedStyle(each, '::before').maskImage]"
            )
            for kind in ("warning", "question", "note")
        }
        assert colours["warning"][0] == colours["question"][0] != colours["note"][0]
        assert len({icon for _, icon in colours.values()} - {"none"}) == 3
        reader.sees("#note article .note", "Obsidian can draw it")


def test_an_open_note_and_the_notes_around_it_say_that_they_are_outdated(reader, vault):
    old = "---\nsuperseded_by: '[[New winch]]'\nstatus: open\n---\n# Old winch\n\nIts pawl broke.\n"
    new = "# New winch\n\nIts pawl holds, unlike that of the [[Old winch]].\n"
    with written(vault, "Old winch.md", old), written(vault, "New winch.md", new):
        reader.page.goto(reader.served.root + "/?note=Old winch.md&of=vault")
        reader.sees("#note > .currency", "superseded by New winch")
        reader.page.goto(reader.served.root + "/?note=New winch.md&of=vault")
        reader.sees(
            "#note .around:has-text('Related') li:has-text('Old winch') .currency", "superseded by New winch"
        )
        reader.sees_no("#note > .currency")


def test_a_phone_has_one_row_of_controls_above_a_note(reader):
    reader.page.set_viewport_size({"width": 390, "height": 844})
    reader.page.goto(reader.served.root + "/?q=float+switch&note=Projects/Pump.md&of=vault")
    reader.sees("#note article p", "float switch")
    assert reader.page.locator("#note article p").first.bounding_box()["y"] < 210
    reader.menu()
    reader.sees("#note-menu button", "Keep open")
    inside = reader.page.locator("#note-menu").bounding_box()
    assert inside["x"] >= 0
    assert inside["x"] + inside["width"] <= 390
    reader.press("Escape")
    reader.expect(reader.page.locator("#note-menu")).to_be_hidden()
    reader.sees("#note h1", "Pump")
    reader.page.get_by_role("button", name="Menu").click()
    reader.page.get_by_role("link", name="State").click()
    reader.sees("#state .vault")
    reader.expect(reader.page.locator("#views")).to_be_hidden()


def test_an_empty_answer_leads_on(reader):
    reader.go("/?q=pump")
    reader.page.locator("#query").fill("zzzqqq tag:work2")
    reader.sees("#summary", "No note matches")
    steps = reader.page.locator("#summary .next a")
    reader.expect(steps).to_have_text(["Without filters", "In all vaults", "The latest notes"])
    reader.press("Escape", "Escape")
    steps.first.click()
    reader.expect(reader.page.locator("#query")).to_have_value("zzzqqq")
    reader.expect(steps.filter(has_text="Without filters")).to_have_count(0)  # the next answer has arrived
    nearest = reader.page.locator("#summary a").first
    name = nearest.inner_text()
    nearest.click()
    reader.sees("#note .where", name)


def test_print_shows_the_note_alone(reader):
    reader.go("/?q=pump&note=Winch.md&of=vault")
    reader.sees("#note article")
    reader.page.emulate_media(media="print")
    for hidden in ("#search", "#list", "#note .close", "#note .around"):
        reader.expect(reader.page.locator(hidden).first).to_be_hidden()
    reader.expect(reader.page.locator("#note details.callout p")).to_be_visible()
    reader.expect(reader.page.locator("#note h1").first).to_be_visible()


def test_print_keeps_what_is_drawn_as_background(reader, vault):
    with written(vault, "Kinds.md", KINDS + "\n==Marked==\n"):
        reader.page.goto(reader.served.root + "/?note=Kinds.md&of=vault")
        reader.sees("#note article .callout")
        reader.page.emulate_media(media="print")
        for drawn in (".task[data-task='/']", ".callout > .title", ".callout > summary", "mark"):
            first = reader.page.locator(f"#note article {drawn}").first
            assert first.evaluate("each => getComputedStyle(each).printColorAdjust") == "exact", drawn


def test_print_has_pages_of_a_pdf_or_their_text_and_no_empty_sheet(reader):
    reader.page.set_viewport_size({"width": 1280, "height": 500})
    reader.page.goto(reader.served.root + "/?note=manual.pdf&of=vault")
    sheet = reader.page.locator("#note .sheet").first
    reader.expect(sheet.locator("img")).to_be_visible()
    reader.page.emulate_media(media="print")
    assert sheet.bounding_box()["height"] <= 500
    sheet.locator("img").evaluate("each => each.removeAttribute('src')")
    reader.expect(sheet).to_be_hidden()
    reader.expect(reader.page.locator("#note .drawn p").first).to_be_visible()


def test_a_page_of_a_pdf_is_an_empty_sheet_until_it_is_drawn(reader):
    held = []
    reader.page.route("**/api/picture", lambda route: held.append(route))
    reader.page.goto(reader.served.root + "/?note=manual.pdf&of=vault")
    sheet = reader.page.locator("#note .sheet").first
    reader.expect(sheet).to_be_visible()
    assert sheet.bounding_box()["height"] > 300
    reader.expect(sheet.locator("img")).to_be_hidden()
    eventually(lambda: reader.page.wait_for_timeout(20) or held)
    for route in held:
        route.continue_()
    reader.expect(sheet.locator("img")).to_be_visible()


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_the_page_ends_with_its_terminal_and_says_so(browser, vault, number):
    with served(vault.daemon.environment, "--all-vaults", cwd=vault.root) as command:
        context = browser.new_context(viewport=NARROW)
        reader = Reader(context.new_page(), command)
        reader.page.goto(command.address)
        reader.sees("#results li")
        reader.expect(reader.page.locator("#vault")).to_have_value("*")
        command.end(number)
        reader.page.locator("#query").fill("tea")
        reader.sees("#trouble", "vaultseek ui")
        context.close()


@pytest.mark.skipif(not CONNECTIONS.exists(), reason="here no kernel says who is at the other end")
def test_a_browser_that_was_let_in_needs_no_token_when_the_page_is_started_again(browser, vault):
    context = browser.new_context(viewport=NARROW)
    page = context.new_page()
    with served(vault.daemon.environment, cwd=vault.root) as command:
        page.goto(command.address)
        page.locator("#results li").first.wait_for()
    with served(vault.daemon.environment, "--port", str(command.port), cwd=vault.root) as again:
        page.goto(again.root + "/?q=pump")
        page.locator("#results li").first.wait_for()
        stranger = browser.new_context().new_page()
        stranger.goto(again.root)
        stranger.locator("#trouble:not([hidden])").wait_for()
        stranger.context.close()
    context.close()


def test_the_queries_before_are_offered_in_an_empty_box(reader):
    reader.type("steeping tea")
    reader.first("Tea")
    reader.page.locator("#results li").first.click()
    reader.sees("#note h1", "Tea")
    reader.page.locator("#query").fill("")
    reader.page.locator("#query").focus()
    reader.press("ArrowUp")
    reader.sees("#offers li", "steeping tea")
    reader.press("ArrowDown", "Enter")
    reader.expect(reader.page.locator("#query")).to_have_value("steeping tea")


def test_a_search_is_saved_and_offered_first(reader):
    save = reader.page.get_by_role("button", name="Save this search")
    reader.expect(save).to_be_hidden()
    reader.type("steeping tea")
    reader.first("Tea")
    save.click()
    reader.expect(save).to_have_attribute("aria-pressed", "true")
    reader.page.locator("#query").fill("capstan")
    reader.first("Winch")
    reader.press("ArrowDown")
    reader.sees("#note h1", "Winch")
    reader.page.locator("#query").fill("")
    reader.press("ArrowUp")
    reader.sees("#offers li", "steeping teasaved")
    reader.press("ArrowDown", "Enter")
    reader.first("Tea")
    save.click()
    reader.expect(save).to_have_attribute("aria-pressed", "false")


def test_notes_stay_open_beside_others(reader):
    reader.go("/?q=capstan&note=Winch.md&of=vault")
    reader.menu()
    reader.page.get_by_role("button", name="Keep open").click()
    reader.go("/?q=steeping&note=sub/Tea.md&of=vault")
    reader.sees("#note h1", "Tea")
    reader.press("Escape", "k")
    names = reader.page.get_by_role("navigation", name="Open notes").get_by_role("link")
    reader.expect(names).to_have_text(["Winch", "Tea"])
    reader.expect(names.nth(1)).to_have_attribute("aria-current", "page")
    names.nth(0).click()
    reader.sees("#note h1", "Winch")
    reader.menu()
    reader.page.get_by_role("button", name="Keep open").click()
    reader.expect(names).to_have_text(["Tea"])
    names.nth(0).click()
    reader.sees("#note h1", "Tea")


def test_a_result_opens_in_a_tab_of_its_own(reader):
    reader.type("steeping tea")
    reader.first("Tea")
    with reader.page.context.expect_page() as opened:
        reader.page.locator("#results li").first.click(modifiers=["Control"])
    reader.expect(opened.value.locator("#note header h1")).to_have_text("Tea")
    opened.value.close()
    reader.sees_no("#note:visible")


def test_an_answer_by_month_narrows_the_search(reader):
    reader.type("capstan")
    reader.first("Winch")
    reader.page.locator("#months summary").click()
    bars = reader.page.get_by_role("group", name="Narrow the search to a period").get_by_role("button")
    reader.expect(bars.first).to_have_attribute("aria-label", re.compile(r"^\w+ \d{4}: \d+ notes?$"))
    reader.go("/?q=tag%3Adated&in=other")
    reader.page.locator("#months summary").click()
    reader.expect(bars).to_have_count(5)
    labels = [bar.get_attribute("aria-label") for bar in bars.all()]
    assert labels == [
        *("November 2024: 1 note", "December 2024: 0 notes", "January 2025: 2 notes"),
        *("February 2025: 0 notes", "March 2025: 1 note"),
    ]
    reader.sees("#span", "November 2024 – March 2025")
    bars.nth(2).click()
    reader.sees("#chips li:nth-child(2)", "from January 2025")
    reader.expect(reader.page.locator("#results li")).to_have_count(2)
    reader.expect(bars).to_have_count(1)
    reader.page.locator("#months summary").click()


def test_a_missing_note_is_made_by_the_editor(browser, vault, tmp_path):
    editor = tmp_path / "code"
    editor.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/opened\n')
    editor.chmod(0o755)
    environment = {**vault.daemon.environment, "VISUAL": str(editor)}
    with served(environment, cwd=vault.root) as command:
        page = browser.new_context(viewport=WIDE).new_page()
        page.goto(command.address)
        page.locator("#results li").first.wait_for()
        page.goto(command.root + "/?note=Boat.md&of=other")
        page.locator("#note a.lost", has_text="Anchor").click()
        eventually(
            lambda: (tmp_path / "opened").exists() and (tmp_path / "opened").read_text().endswith("\n")
        )
        page.context.close()
    made = vault.root.parent / "other" / "Anchor.md"
    assert (tmp_path / "opened").read_text().split() == ["--goto", f"{made}:1"]
    assert not made.exists()


def test_the_page_ends_with_its_parent_and_when_nobody_uses_it(vault):
    program = (
        "import subprocess, sys\n"
        "command = [sys.executable, '-m', 'vaultseek', 'ui', '--no-browser']\n"
        "page = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)\n"
        "print(page.pid, page.stdout.readline())\n"
    )
    environment = vault.daemon.environment
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        cwd=vault.root,
        capture_output=True,
        text=True,
        check=True,
    )
    pid = int(done.stdout.split()[0])
    if psutil.pid_exists(pid):
        psutil.wait_procs([psutil.Process(pid)], timeout=60)
    assert not psutil.pid_exists(pid)
    served = "application.UNUSED_SECONDS = 0; application.serve(lambda: None, print, lambda *_: None)"
    unused = f"from vaultseek.doors.ui import application; {served}"
    ended = subprocess.run(
        [sys.executable, "-c", unused],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "#token=" in ended.stdout
