"""The rows and the remarks of the live search."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.base.text import acts_on_terminal
from vaultseek.doors.cli.live.preview import remarks, row
from vaultseek.doors.cli.live.screen import _STYLE, KEYS, _keys_line, status_rows
from vaultseek.doors.cli.terminal import width_of

INDEX = {"notes": 3, "pending": 0}


def said(answer, message=""):
    return [text for _, text in remarks(answer, message)]


def text_of(result, columns):
    return "".join(text for _, text in row(result, columns, selected=True))


def test_a_row_has_title_heading_and_folder():
    result = {"path": "Areas/Garden/Slugs.md", "title": "Slugs", "heading_path": ["Slugs", "Traps"]}
    assert text_of(result, 40) == "▌ Slugs › Traps             Areas/Garden"
    assert text_of({**result, "vault": "home"}, 40).endswith("home: Areas/Garden")


@given(st.text(), st.text(), st.integers(10, 120))
def test_every_row_is_as_wide_as_the_list_and_harmless(title, path, columns):
    text = text_of({"title": title, "path": path}, columns)
    assert width_of(text) <= columns
    assert not any(acts_on_terminal(character) for character in text)


def test_the_line_below_the_list_has_figures_and_remarks():
    results = [{"path": "a.md", "confidence": 0.9, "lanes": {"keyword": {"rank": 1}}}]
    answer = {"results": results, "index": INDEX, "took_ms": 4.2, "search_method": "hybrid", "vault": "notes"}
    assert said(answer) == ["1 note · 4 ms · hybrid · notes"]
    remark = {"code": "waiting", "text": "search by meaning is not ready yet"}
    assert said({**answer, "remarks": [remark]})[1:] == ["search by meaning is not ready yet"]
    assert said({"results": [], "remarks": [remark]}) == ["search by meaning is not ready yet"]
    assert said(answer, "query too deep") == ["query too deep"]


@pytest.mark.parametrize("columns", [30, 40, 80, 120])
def test_remarks_are_never_cut(columns):
    parts = [
        ("figures", "107 notes · 51 ms"),
        ("warning", "search by meaning is not ready yet: 887 vectors left"),
    ]
    rows = ["".join(text for _, text in row) for row in status_rows(parts, columns)]
    assert all(width_of(row) <= columns for row in rows)
    assert " ".join(" ".join(rows).split()) == " ".join(text for _, text in parts)
    assert len(rows) == 1 or columns < 80


def test_a_row_of_a_ranked_list_ends_with_its_certainty():
    result = {"path": "Garden/Slugs.md", "title": "Slugs", "certainty": 0.5}
    text = "".join(part for _, part in row(result, 50, selected=False, scored=True))
    assert text.endswith("Garden ██··  50%")
    assert width_of(text) == 50
    assert "%" not in "".join(part for _, part in row(result, 30, selected=False, scored=True))


@pytest.mark.parametrize("columns", [20, 40, 60, 80, 120])
def test_the_line_of_keys_keeps_the_most_important_ones(columns):
    text = "".join(part for _, part in _keys_line(columns))
    assert len(text) <= columns
    assert "Enter open" in text
    assert columns < 30 or "Esc leave" in text
    assert columns < 45 or "Tab filter" in text
    assert columns < 100 or all(f"{key} {action}" in text for key, action, _ in KEYS)


def test_no_style_takes_a_colour_that_a_light_ground_swallows():
    colours = {part for _, style in _STYLE.style_rules for part in style.split() if part.startswith("ansi")}
    assert colours == {"ansimagenta"}
