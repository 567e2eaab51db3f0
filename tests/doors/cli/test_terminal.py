"""Text for a terminal: width, wrapping, numbers in plain words, and no control sequences from notes."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.doors.cli.terminal import (
    Terminal,
    age,
    clean,
    clean_json,
    count,
    cut,
    duration,
    size,
    table,
    terminal,
    width_of,
    without_links,
    wrap,
)

DAY = 86_400.0


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _colour_is_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)


def test_colour_only_where_it_is_wanted_and_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (terminal(Screen()).color, terminal(Screen()).links) == (True, True)
    assert not terminal(Screen(), color=False).color
    assert not terminal(io.StringIO()).color
    monkeypatch.setenv("NO_COLOR", "1")
    assert not terminal(Screen()).color
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "linux")
    assert (terminal(Screen()).color, terminal(Screen()).links) == (True, False)
    monkeypatch.setenv("TERM", "dumb")
    assert not terminal(Screen()).color
    monkeypatch.delenv("TERM")
    assert not terminal(Screen()).color


def test_a_path_can_be_clicked_on_and_a_name_cannot_break_out_of_the_link() -> None:
    screen = Terminal(links=True)
    shown = screen.link("shown", "/v/a \x1b]8;;http:evil\x1b\\ü%.md")
    assert shown.count("\x1b") == 4
    address = shown.removeprefix("\x1b]8;;file://").partition("\x1b")[0]
    assert address.endswith("/v/a%20%1B%5D8%3B%3Bhttp%3Aevil%1B%5C%C3%BC%25.md")
    assert without_links(shown) == "shown"
    assert Terminal().link("shown", "/v/a.md") == screen.link("shown", "a.md") == "shown"


def test_only_what_is_read_on_a_screen_is_cut_or_broken() -> None:
    parts = ["one two three", "four five six", "seven"]
    assert Terminal(width=30).listed(parts) == ["one two three · four five six", "  seven"]
    assert Terminal(width=30, screen=False).listed(parts) == ["one two three · four five six · seven"]
    assert Terminal().fit("four five six", 6) == "four…"
    assert terminal(io.StringIO()).fit("four five six", 6) == "four five six"


def test_what_is_longer_than_a_line_is_broken_at_spaces_on_a_screen_alone() -> None:
    narrow, pipe = Terminal(color=True, width=14), Terminal(width=14, screen=False)
    assert narrow.wrapped("one two three four", hanging=" ") == ["one two three", " four"]
    assert narrow.wrapped(narrow.paint("one two three four", "dim"))[0] == "\x1b[2mone two three"
    assert narrow.wrapped("/a/path/of/one/word") == ["/a/path/of/one/word"]
    assert narrow.listed(["a", "one two three four"]) == ["a", "  one two", "  three four"]
    assert pipe.wrapped("one two three four", margin=" ") == [" one two three four"]
    assert pipe.listed(["a", "one two three four"]) == ["a · one two three four"]


def test_a_table_that_is_too_wide_has_its_last_columns_below() -> None:
    rows = [["name", "size", "digest"], ["one", "7", "3c28bf"], ["two", "12", ""]]
    wide = ["name  size  digest", "one      7  3c28bf", "two     12"]
    assert Terminal(width=18).tabled(rows, right=(1,)) == wide
    assert Terminal(width=10, screen=False).tabled(rows, right=(1,)) == wide
    below = ["name  size", "  digest", "one      7", "  3c28bf", "two     12"]
    assert Terminal(width=12).tabled(rows, right=(1,)) == below


def test_rows_that_are_no_table_are_lines_on_a_narrow_screen() -> None:
    rows = [["key", "a long value", "default"], ["other", "1", "file"]]
    assert Terminal(width=30).tabled_or_listed(rows) == [
        "key    a long value  default",
        "other  1             file",
    ]
    assert Terminal(width=20).tabled_or_listed(rows) == ["key  a long value", "  default", "other  1  file"]
    assert Terminal(width=20, screen=False).tabled_or_listed([]) == []


@pytest.mark.parametrize(
    ("columns", "width"), [("", 80), ("100", 100), ("5", 40), ("1000", 120), ("wide", 80)]
)
def test_width_is_that_of_the_terminal_within_reason(
    monkeypatch: pytest.MonkeyPatch, columns: str, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert terminal(Screen()).width == width


@pytest.mark.fault("D11")
@given(st.text())
def test_clean_text_is_one_line_that_no_terminal_acts_on(text: str) -> None:
    cleaned = clean(text)
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in cleaned)
    assert not set(cleaned) & set("\u202a\u202e\u2066\u2069\u2028\ufeff")
    cleaned.encode("utf-8")


def test_clean_text_shows_what_was_there() -> None:
    assert clean("a\x1b[31mb\x07\u202ec") == r"a\x1b[31mb\x07\u202ec"
    assert clean("one\r\ntwo\tthree") == "one two three"
    assert (
        clean("caf\u00e9 \u6e29\u3000\u5668 \U0001f469\u200d\U0001f52c")
        == "caf\u00e9 \u6e29\u3000\u5668 \U0001f469\u200d\U0001f52c"
    )


@given(st.dictionaries(st.text(), st.text(st.characters(exclude_categories=()))))
def test_clean_json_means_the_same(value: dict[str, str]) -> None:
    text = clean_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(text) == value
    assert not any(127 <= ord(c) < 160 for c in text)
    text.encode("utf-8")


def test_wide_and_combining_characters_are_counted_by_columns() -> None:
    assert [width_of(text) for text in ("abc", "温水", "e\u0301", "")] == [3, 4, 1, 0]
    assert cut("温水器の掃除", 7) == "温水器…"
    assert cut("short", 5) == "short"


@given(st.text(st.sampled_from("ab \u6e29\u0301-")), st.integers(4, 20), st.integers(1, 4))
def test_wrapped_lines_fit_and_lose_nothing_but_the_end(text: str, columns: int, lines: int) -> None:
    made = wrap(text, columns, lines)
    assert len(made) <= lines
    assert all(width_of(line) <= columns for line in made)
    joined = "".join(made).replace(" ", "")
    whole = text.replace(" ", "")
    assert joined == whole or (joined.endswith("…") and whole.startswith(joined[:-1]))


def test_a_bar_is_as_wide_as_it_says() -> None:
    plain = Terminal()
    assert [plain.bar(share, 4) for share in (0, 0.5, 1, -1, 7)] == ["····", "██··", "████", "····", "████"]
    assert plain.bar(0.28, 4) == "█▏··"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (10, "just now"),
        (-10, "just now"),
        (-4000, "in the future"),
        (300, "5 min ago"),
        (7300, "2 h ago"),
        (DAY, "1 day ago"),
        (6.9 * DAY, "6 days ago"),
        (15 * DAY, "2 weeks ago"),
        (70 * DAY, "2 months ago"),
        (800 * DAY, "2 years ago"),
    ],
)
def test_age_in_words(seconds: float, words: str) -> None:
    now = 1_700_000_000.0
    assert age(now - seconds, now) == words


def test_age_of_written_dates_and_of_nothing() -> None:
    now = 1_700_000_000.0
    assert age("2023-11-12T22:13:20+00:00", now) == "2 days ago"
    assert [age(value, now) for value in (None, "soon", True, [])] == ["", "", "", ""]


def test_numbers_in_words() -> None:
    assert [duration(s) for s in (0, 59, 3723, 90_061, 86_400)] == [
        "0 s",
        "59 s",
        "1 h 2 min",
        "1 d 1 h",
        "1 d",
    ]
    assert [size(n) for n in (5, 2048, 412 * 1024**2, 3 * 1024**3)] == ["5 B", "2 kB", "412 MB", "3.0 GB"]
    assert [count(1, "note"), count(1003, "note"), count(2, "box", "boxes")] == [
        "1 note",
        "1,003 notes",
        "2 boxes",
    ]


def test_tables_are_aligned_by_columns() -> None:
    assert table([["a", "1"], ["温水", "100"]], right=(1,)) == ["a       1", "温水  100"]
