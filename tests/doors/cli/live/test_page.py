"""The rows and the remarks of the live search."""

from hypothesis import given
from hypothesis import strategies as st

from vaultseek.base.text import acts_on_terminal
from vaultseek.doors.cli.live.preview import remarks, row
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


def test_the_remarks_say_what_was_found_and_what_is_missing():
    results = [{"path": "a.md", "confidence": 0.9, "lanes": {"keyword": {"rank": 1}}}]
    answer = {"results": results, "index": INDEX, "took_ms": 4.2, "search_method": "hybrid", "vault": "notes"}
    assert said(answer) == ["1 note · 4 ms · hybrid · notes"]
    assert said({**answer, "index": {"notes": 3, "pending": 2}})[1].startswith("2 texts not yet embedded")
    partial = [{"lane": "semantic", "code": "loading", "reason": "x"}]
    assert "semantic search is still loading" in said({**answer, "partial": partial})[1]
    assert said(answer, "query too deep") == ["query too deep"]


def test_nothing_certain_is_no_match():
    weak = [{"path": "a.md", "confidence": 0.02, "lanes": {"keyword": None}}]
    assert said({"results": weak, "weak": True, "index": INDEX})[0].startswith("No match. The closest notes")
    assert said({"results": [], "index": INDEX}) == ["No note matches"]
    assert said({"results": [], "index": INDEX, "nearest": {"path": "a.md"}}) == [
        "No note matches; the nearest is a.md"
    ]
    assert said({"results": [], "index": {"notes": 0}}) == ["the vault has no notes yet"]
