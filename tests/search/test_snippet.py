"""Previews: what is shown and what of it is marked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.search.snippet import preview

FILLER = "lorem ipsum dolor sit amet consectetur " * 8


def shown(text: str, *terms: str, width: int = 60) -> str:
    """The preview with its marks in angle brackets."""
    found = preview(text, terms, width)
    out, at = "", 0
    for start, end in found.highlights:
        out += f"{found.text[at:start]}<{found.text[start:end]}>"
        at = end
    return out + found.text[at:]


@pytest.mark.parametrize(
    ("text", "terms", "expected"),
    [
        ("The Rope is old", ["rope"], "The <Rope> is old"),
        ("ropes, roped and roping", ["rope"], "<ropes>, <roped> and <roping>"),
        ("he runs and was running", ["run"], "he <runs> and was <running>"),
        ("run to the study", ["running", "studies"], "<run> to the <study>"),
        ("safety requirements", ["safeti", "requir"], "<safety> <requirements>"),
        ("contract or contrast", ["contract"], "<contract> or contrast"),
        ("Café cafe", ["café"], "<Café> <cafe>"),
        ("linked linking", ["link*"], "<linked> <linking>"),
        ("E-4107 not E-4170, E-41077", ["E-4107"], "<E-4107> not E-4170, E-41077"),
        ("D40 and D401 and D41", ["d40"], "<D40> and D401 and D41"),
        ("in snake_case or snake", ["snake_case"], "in <snake_case> or snake"),
        ("see 30 CFR 75.1725 there", ["30 CFR 75.1725"], "see <30 CFR 75.1725> there"),
        ("the rope of the keel", ["the", "of", "keel"], "the rope of the <keel>"),
        ("to be or not", ["to", "be"], "<to> <be> or not"),
        ("索道的安全要求是每月检查", ["安全要求是什么"], "索道的<安全要求是>每月检查"),
        ("索道的安全", ["索"], "<索>道的安全"),
        ("nothing here", ["rope"], "nothing here"),
        ("nothing here", [], "nothing here"),
        ("a **rope**", ["rope"], "a <rope>"),
    ],
)
def test_what_is_marked(text, terms, expected):
    assert shown(text, *terms) == expected


def test_the_window_with_most_distinct_terms_is_shown():
    text = f"rope rope rope. {FILLER} the keel and the rope. {FILLER}"
    assert "<keel> and the <rope>" in shown(text, "rope", "keel")


def test_cuts_fall_between_words_and_show():
    line = shown(f"{FILLER} the keel is here {FILLER}", "keel")
    assert line.startswith("…")
    assert line.endswith("…")
    assert set(line.strip("…").replace("<keel>", "keel").split()) <= {
        *FILLER.split(),
        "the",
        "keel",
        "is",
        "here",
    }


def test_without_a_match_the_beginning_is_shown():
    assert shown(FILLER, "rope", width=30) == "lorem ipsum dolor sit amet…"


def test_a_short_text_is_shown_whole():
    assert preview("keel", ["keel"], 4).text == "keel"


def test_a_word_longer_than_the_window_is_cut():
    found = preview("x" * 500, ["x" * 500], 40)
    assert len(found.text) <= 40
    assert found.highlights


@pytest.mark.parametrize("width", [-1, 0, 1, 2, 5])
def test_a_narrow_window_holds_no_more_than_its_width(width):
    assert len(preview(f"{FILLER} keel", ["keel"], width).text) <= max(width, 0)


HOSTILE = [
    "[[a|",
    "[a](",
    "`",
    "> ",
    " ",
    "-",
    "|",
    "- - ",
    "\t^a",
    "[x ",
    "<a ",
    "*",
    "\x1b[0",
    "\n",
    "~~~",
    "=",
    "--|",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_text_takes_linear_time(piece):
    """Quadratic patterns would take minutes here and meet the test's time limit."""
    assert len(preview(piece * 40_000 + "x", ["rope", "a b", "x"], 80).text) <= 80


words = st.sampled_from(
    ["rope", "ropes", "keel", "the", "E-4107", "安全要求", "e\u0301te\u0301", "x" * 30, "**b**", "\n- "]
)


@given(
    st.lists(words | st.text(max_size=10), max_size=60).map(" ".join),
    st.lists(words | st.text(max_size=10), max_size=6),
    st.integers(-2, 120),
)
def test_a_preview_is_one_clean_line_within_its_width(text, terms, width):
    found = preview(text, terms, width)
    assert len(found.text) <= max(width, 0)
    assert found.text == found.text.replace("\n", "").replace("\x00", "")
    found.text.encode()
    at = -1
    for start, end in found.highlights:
        assert at < start < end <= len(found.text)
        at = end


@given(
    st.lists(st.sampled_from(["lorem", "ipsum", "dolor"]), max_size=80),
    st.integers(0, 80),
    st.integers(20, 80),
)
def test_a_word_that_is_there_is_shown_and_marked(filler, place, width):
    text = " ".join([*filler[:place], "keelson", *filler[place:]])
    found = preview(text, ["keelson"], width)
    assert [found.text[start:end] for start, end in found.highlights] == ["keelson"]
