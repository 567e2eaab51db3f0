"""The output of `vaultseek search`."""

import re
from typing import Any

import pytest

from vaultseek.doors.cli.search_page import page
from vaultseek.doors.cli.terminal import Terminal, width_of
from vaultseek.protocol.messages.remarks import with_remarks

NOW = 1_700_000_000.0
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def result(**more: Any) -> dict[str, Any]:
    return {
        "rank": 1,
        "path": "house/Boiler.md",
        "title": "Boiler",
        "heading_path": ["Boiler", "Descaling"],
        "chunk_id": "c1",
        "start_line": 12,
        "end_line": 20,
        "score": 1.0,
        "certainty": 1.0,
        "preview": "To descale the boiler, close both valves first.",
        "tags": ["house/heating"],
        "modified": NOW - 3 * 86_400,
        "lanes": {"keyword": {"rank": 1, "score": 12.345}},
        "recency": 1.2,
        **more,
    }


def answer(*results: dict[str, Any], **more: Any) -> dict[str, Any]:
    index = {"notes": 1003, "chunks": 6000, "embedded": 6000, "pending": 0, "revision": 4}
    found = {
        "query": "descale boiler",
        "vault": "notes",
        "mode": "hybrid",
        "took_ms": 41.7,
        "results": list(results),
        "partial": [],
        "index": index,
        "interpreted": {},
        **more,
    }
    return with_remarks(found, found=bool(results))


def test_a_result_in_three_lines_and_a_footer() -> None:
    text = page(answer(result()), Terminal(width=70), now=NOW)
    assert text.splitlines() == [
        " 1  Boiler › Descaling" + " " * 35 + "████████ 100%",
        "    house/Boiler.md:12 · #house/heating · 3 days ago",
        "    To descale the boiler, close both valves first.",
        "",
        "1 note · 42 ms · hybrid · notes",
    ]


def test_further_passages_stand_below_the_best() -> None:
    further = {"place": None, "heading_path": ["Boiler", "Valves"], "line": 30, "preview": "Two valves."}
    page_of_pdf = {**further, "place": "page=3", "heading_path": [], "preview": "Three."}
    text = page(answer(result(passages=[further, page_of_pdf])), Terminal(width=70), now=NOW)
    assert text.splitlines()[2:7] == [
        "    To descale the boiler, close both valves first.",
        "    :30 Boiler › Valves",
        "    Two valves.",
        "    #page=3",
        "    Three.",
    ]


def test_a_file_name_that_is_not_the_title_stands_beside_it() -> None:
    text = page(answer(result(title="Hot water", file_name="Boiler")), Terminal(width=70), now=NOW)
    assert text.splitlines()[0].startswith(" 1  Hot water (Boiler) › Boiler › Descaling ")


def test_a_listing_has_no_scores() -> None:
    listed = answer(result(), interpreted={"rank_text": "", "filters": ['not text "boat"']}, total=1)
    explained = {**listed, "explain": {"weights": {"keyword": 0.0}, "filters": [{"notes_left": 1}]}}
    text = page(explained, Terminal(width=70), now=NOW, explain=True)
    assert text.splitlines() == [
        " 1  Boiler › Descaling",
        "    house/Boiler.md:12 · #house/heating · 3 days ago",
        "    To descale the boiler, close both valves first.",
        "",
        "1 note · 42 ms · hybrid · notes",
        'filters: not text "boat"',
        "filters: notes left 1",
    ]


def marked(preview: str, *words: str) -> dict[str, Any]:
    spans = [[match.start(), match.end()] for word in words for match in re.finditer(word, preview)]
    return result(preview=preview, highlights=spans)


def set_off(found: dict[str, Any], width: int = 40) -> list[str]:
    text = page(answer(found), Terminal(color=True, width=width), now=NOW)
    return re.findall(r"\x1b\[1;35m(.*?)\x1b\[0m", text)


def test_what_matched_is_set_off_wherever_the_line_breaks() -> None:
    preview = "To descale the boiler, close both valves; the boiler must be cold, and valves are shut again."
    assert set_off(marked(preview, "boiler", "valves")) == ["boiler", "valves", "boiler", "valves"]
    assert set_off(marked("温水器 " * 30, "温水器")) == ["温水器"] * 15
    assert set_off(marked("x" * 25 + " close both valves", "close both valves")) == ["close both", "valves"]


def test_marks_that_make_no_sense_are_left_out() -> None:
    assert set_off(result(preview="short", highlights=[[3, 99], [-5, 1], [2, 2], [4, 3]])) == ["s", "rt"]
    assert set_off(result(preview="a\x1b[1m boiler", highlights=[[6, 12]])) == []


@pytest.mark.parametrize("width", [40, 57, 120])
@pytest.mark.parametrize("color", [True, False])
def test_no_line_is_wider_than_the_terminal(width: int, color: bool) -> None:
    long = result(
        title="温水器の掃除" * 20,
        preview="温水器 boiler " * 90,
        tags=["very/long/tag/name"] * 9,
        lanes={"graph": {"rank": 3, "score": 0.5, "through": "a/very/long/path/of/a/note.md" * 3}},
    )
    text = page(answer(long, partial=[]), Terminal(color=color, width=width), now=NOW, explain=True)
    assert max(width_of(ESCAPES.sub("", line)) for line in text.splitlines()) <= width


def test_the_path_of_a_result_can_be_clicked_on() -> None:
    text = page(answer(result(), vault_path="/home/me/my notes"), Terminal(links=True), now=NOW)
    line = text.splitlines()[1]
    assert "/home/me/my%20notes/house/Boiler.md\x1b\\house/Boiler.md:12\x1b]8;;\x1b\\ · #house" in line
    assert "\x1b" not in page(answer(result()), Terminal(links=True), now=NOW)


def test_a_program_that_reads_the_output_gets_whole_titles_and_paths() -> None:
    long = result(title="Long title " * 20, path="folder/" * 30 + "a.md")
    text = page(answer(long), Terminal(width=40, screen=False), now=NOW)
    assert ("Long title " * 20).strip() in text
    assert "folder/" * 30 + "a.md:12 · #house/heating · 3 days ago" in text


def test_nothing_from_a_note_reaches_the_terminal_as_a_command() -> None:
    hostile = "\x1b]0;owned\x07\x9b31m\u202e"
    bad = result(
        title=hostile, path=hostile, preview=hostile, tags=[hostile], heading_path=[hostile], modified=hostile
    )
    text = page(answer(bad, query=hostile), Terminal(), now=NOW, explain=True)
    assert not set(text) & set("\x1b\x07\x9b\u202e")
    assert r"\x1b]0;owned\x07" in text


def test_what_was_left_out_stands_below_the_results() -> None:
    partial = [{"lane": "semantic", "code": "loading", "reason": "..."}]
    text = page(answer(result(), partial=partial), Terminal(), now=NOW)
    assert text.splitlines()[-2:] == [
        "1 note · 42 ms · hybrid · notes",
        "search by meaning is not ready yet",
    ]


def test_nothing_found_is_one_friendly_line() -> None:
    text = page(answer(query="flux capacitor"), Terminal(screen=False), now=NOW)
    assert text == "No match for flux capacitor in 1,003 notes; try other or fewer words."
    assert "--mode hybrid" in page(answer(mode="keyword"), Terminal(screen=False), now=NOW)
    near = {"path": "Bread.md", "confidence": 0.04}
    assert page(answer(query="flux capacitor", nearest=near), Terminal(screen=False), now=NOW) == (
        "No match for flux capacitor in 1,003 notes; the closest is Bread.md."
    )
    empty = {"notes": 0, "chunks": 0, "embedded": 0, "pending": 0, "revision": 0}
    assert page(answer(index=empty), Terminal(screen=False), now=NOW) == (
        "No match: the vault has no notes yet."
    )
    filtered = {"filters": ["tag is house"], "notes": []}
    assert "without the filters" in page(answer(interpreted=filtered), Terminal(screen=False), now=NOW)
    alone = {"rank_text": "", "filters": ["tag is house", "path has x"], "notes": []}
    assert page(answer(query="", interpreted=alone), Terminal(screen=False), now=NOW) == (
        "No note (of 1,003) matches: tag is house, path has x; see `vaultseek tags`."
    )
    filling = {"notes": 9, "chunks": 9, "embedded": 0, "pending": 9, "revision": 1}
    assert "use --wait to wait for it" in page(answer(index=filling), Terminal(screen=False), now=NOW)


def test_the_first_search_of_a_vault_says_how_far_it_is_read() -> None:
    reason = "still reading, 1,024 of 6,000 notes so far"
    reading = [{"lane": "vault", "code": "being_read", "reason": reason}]
    assert page(answer(partial=reading), Terminal(screen=False), now=NOW) == (
        f"No match yet: {reason}; use --wait to wait for the rest."
    )
    text = page(answer(result(), partial=reading), Terminal(screen=False), now=NOW)
    assert f"{reason}: results may be missing" in text


def test_explain_shows_each_lane_with_what_it_added() -> None:
    lanes = {
        "keyword": {"rank": 1, "score": 12.345, "weight": 1.0, "contribution": 0.0164},
        "semantic": {"rank": 2, "score": 0.61, "weight": 0.5, "contribution": 0.0081},
        "graph": {"rank": 1, "score": 0.2, "through": "Heating.md"},
        "none": {},
    }
    text = page(answer(result(lanes=lanes)), Terminal(), now=NOW, explain=True)
    assert [line.split() for line in text.splitlines()[3:8]] == [
        ["lane", "rank", "score", "weight", "adds"],
        ["keyword", "1", "12.35", "1", "0.0164"],
        ["semantic", "2", "0.61", "0.5", "0.0081"],
        ["graph", "1", "0.2", "through", "Heating.md"],
        ["recency", "x", "1.2"],
    ]


def test_explain_also_tells_of_the_query_as_a_whole() -> None:
    told = answer(
        result(),
        interpreted={
            "rank_text": "boiler",
            "phrases": [],
            "filters": ["tag is house"],
            "notes": ["a quote was open"],
        },
        explain={
            "profile": "short",
            "weights": {"keyword": 1.5, "semantic": 0.5},
            "milliseconds": {"keyword": 1.25},
        },
    )
    lines = page(told, Terminal(), now=NOW, explain=True).splitlines()
    assert lines[:2] == ["a quote was open", ""]
    assert lines[-5:] == [
        "rank text: boiler",
        "filters: tag is house",
        "profile: short",
        "weights: keyword 1.5, semantic 0.5",
        "milliseconds: keyword 1.25",
    ]


def test_a_phrase_that_no_note_has_is_advised_without_its_marks() -> None:
    interpreted = {"rank_text": "a b", "phrases": ["a b"], "filters": ['text "a b"'], "notes": []}
    text = page(answer(interpreted=interpreted), Terminal(), now=NOW)
    assert "; no note contains this exact phrase; try it without quotation marks." in text.replace("\n", " ")
    tagged = {**interpreted, "filters": ['text "a b"', "tag is x"]}
    assert "try without the filters" in page(answer(interpreted=tagged), Terminal(), now=NOW)


def test_an_answer_with_the_least_that_can_be_in_it() -> None:
    assert page({"results": [{"path": "a.md"}]}, Terminal(width=40), now=NOW).splitlines()[1] == "    a.md:1"
    assert page({}, Terminal(), now=NOW).startswith("No match")


def test_a_list_of_nothing_certain_says_so_above_it() -> None:
    far = result(lanes={"semantic": {"rank": 1, "score": 0.2}}, certainty=0.04)
    lines = page(answer(far, weak=True), Terminal(width=70), now=NOW).splitlines()
    assert lines[:2] == ["no note matches; these are the closest", ""]
    assert lines[2].endswith(" ▍·······   4%")
    assert "no note matches" not in page(answer(far, weak=False), Terminal(width=200), now=NOW)


def test_the_bar_shows_how_certain_a_result_is() -> None:
    text = page(answer(result(score=1.0, confidence=0.7, certainty=0.5)), Terminal(width=70), now=NOW)
    assert text.splitlines()[0].endswith(" ████····  50%")
    related = {name: value for name, value in result(score=0.25).items() if name != "certainty"}
    text = page(answer(related), Terminal(width=70), now=NOW)
    assert text.splitlines()[0].endswith(" ██······  25%")


def test_a_list_that_folds_counts_the_less_certain_notes_at_its_end() -> None:
    three = answer(result(), result(certainty=0.04), result(certainty=0.01), less_certain=2)
    lines = page(three, Terminal(width=70), now=NOW, folds=True).splitlines()
    assert lines[3:] == ["", "    2 less certain notes: --all", "", "3 notes · 42 ms · hybrid · notes"]
    assert page(three, Terminal(width=70), now=NOW).count("house/Boiler.md") == 3


def test_a_result_that_a_link_led_to_says_via_what() -> None:
    linked = result(via={"path": "house/Pump.md", "title": "Pump care"})
    lines = page(answer(linked), Terminal(width=80), now=NOW).splitlines()
    assert lines[1] == "    house/Boiler.md:12 · via Pump care · #house/heating · 3 days ago"


def test_explain_adds_up_to_the_score() -> None:
    lanes = {"keyword": {"rank": 1, "score": 12.3, "weight": 1.0, "contribution": 0.02, "gain": 0.01}}
    steps = {"gain": 0.01, "recency": 1.2, "anchors": 1.0, "bound": 1.0, "name": 0.0}
    told = result(score=0.6, lanes=lanes, arithmetic={**steps, "best": 0.02})
    lines = [line.split() for line in page(answer(told), Terminal(), now=NOW, explain=True).splitlines()]
    assert lines[3:8] == [
        ["lane", "rank", "score", "weight", "adds"],
        ["keyword", "1", "12.3", "1", "0.01"],
        ["recency", "x", "1.2"],
        ["best", "/", "0.02"],
        ["score", "=", "0.6"],
    ]
