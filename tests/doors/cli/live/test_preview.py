"""The preview beside the list: where it begins, what it marks, how far it scrolls."""

from hypothesis import given
from hypothesis import strategies as st

from vaultseek.base.text import acts_on_terminal
from vaultseek.doors.cli.live.preview import Preview, written_words
from vaultseek.doors.cli.terminal import width_of

LINES = tuple(f"line {n}" for n in range(1, 101))


def texts(rows):
    return ["".join(text for _, text in row) for row in rows]


def test_the_line_that_matches_stands_in_the_upper_third():
    rows = Preview(LINES, first=1, line=50).page(40, 12)
    assert texts(rows)[4] == " 50▌ line 50"
    assert rows[4][0][0] == "match"
    assert len(rows) == 12


def test_long_lines_above_do_not_push_it_out_of_the_window():
    lines = ("words " * 200, "words " * 200, "here")
    rows = texts(Preview(lines, first=1, line=3).page(40, 12))
    assert any(row.endswith("here") for row in rows)


def test_words_are_marked_whole_and_whatever_their_case():
    (row,) = Preview(("Pump, pump and pumps; 京都の水",), 1, 0, ("pump", "水")).page(60, 1)
    assert [text for style, text in row if style == "word"] == ["Pump", "pump", "水"]


def test_it_scrolls_to_both_ends_and_no_further():
    preview = Preview(LINES, first=1, line=50)
    scroll = 0
    for _ in range(30):
        scroll = preview.scrolled(10, 40, 12, scroll)
    assert texts(preview.page(40, 12, scroll))[-1].endswith("line 100")
    assert len(preview.page(40, 12, scroll)) == 12
    back = preview.scrolled(-10, 40, 12, scroll)
    assert texts(preview.page(40, 12, back)) != texts(preview.page(40, 12, scroll))
    for _ in range(30):
        scroll = preview.scrolled(-10, 40, 12, scroll)
    assert texts(preview.page(40, 12, scroll))[0].endswith("line 1")


def test_the_words_are_those_that_the_result_marks():
    result = {"preview": "Slugs eat the slugs' lettuce", "highlights": [[0, 5], [14, 19], [21, 28]]}
    assert written_words(result) == ("Slugs", "slugs", "lettuce")
    assert written_words({}) == ()


@given(
    st.lists(st.text(max_size=120), min_size=1, max_size=20),
    st.integers(0, 25),
    st.integers(5, 80),
    st.integers(1, 30),
    st.integers(-50, 50),
)
def test_no_row_is_too_wide_or_holds_a_control_character(lines, line, columns, height, scroll):
    rows = texts(Preview(tuple(lines), 1, line, ("a",)).page(columns, height, scroll))
    assert 0 < len(rows) <= height
    assert not any(acts_on_terminal(character) for row in rows for character in row)
    assert all(width_of(row) <= max(columns, 14) for row in rows)
