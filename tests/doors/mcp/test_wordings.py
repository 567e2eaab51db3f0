"""Several wordings of one question, and cursors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.doors.mcp.results import Cursor, merge_wordings, read_cursor, write_cursor
from vaultseek.errors import UsageError


def answer(certainty: float, *paths: str):
    results = [
        {"path": path, "score": 1 / rank, "certainty": certainty / rank, "preview": f"{path} {certainty}"}
        for rank, path in enumerate(paths, start=1)
    ]
    return {
        "vault": "notes",
        "results": results,
        "partial": [],
        "interpreted": {"notes": ["n"]},
        "index": {"notes": 3},
    }


def paths(merged):
    return [result["path"] for result in merged["results"]]


def test_a_note_of_several_wordings_comes_once_and_first():
    merged = merge_wordings([answer(0.8, "a.md", "both.md"), answer(0.8, "both.md", "b.md")])
    assert paths(merged) == ["both.md", "a.md", "b.md"]
    assert [result["certainty"] for result in merged["results"]] == [0.8, 0.8, 0.4]
    assert merged["less_certain"] == 0
    assert merged["interpreted"]["notes"] == ["n"]


def test_a_wording_that_nothing_answers_does_not_hide_the_sure_result_of_another():
    merged = merge_wordings([answer(0.05, "x.md", "y.md"), answer(0.9, "right.md"), answer(0.04, "y.md")])
    assert paths(merged)[0] == "right.md"


@given(st.lists(st.lists(st.sampled_from("abcdef"), unique=True, max_size=6), min_size=1, max_size=5))
def test_no_note_is_lost_or_doubled(lists):
    merged = merge_wordings([answer(0.5, *names) for names in lists])
    assert sorted(paths(merged)) == sorted({name for names in lists for name in names})
    certainties = [result["certainty"] for result in merged["results"]]
    assert certainties == sorted(certainties, reverse=True)


def test_the_nearest_note_is_named_only_if_no_wording_has_results():
    nothing = {**answer(0.5), "nearest": {"path": "n.md", "confidence": 0.01}}
    assert "nearest" in merge_wordings([nothing, nothing])
    assert "nearest" not in merge_wordings([nothing, answer(0.5, "a.md")])


@given(st.integers(0, 999_999), st.integers(0, 10**15), st.text(max_size=20))
def test_a_cursor_is_read_as_it_was_written_and_for_its_question_only(offset, revision, query):
    text = write_cursor(Cursor(offset, revision), [query], "hybrid", None)
    assert read_cursor(text, [query], "hybrid", None) == (offset, revision)
    with pytest.raises(UsageError):
        read_cursor(text + "x", [query], "hybrid", None)


def test_a_cursor_of_another_question_is_refused():
    text = write_cursor(Cursor(10, 3), ["pump"], "hybrid", None)
    assert read_cursor(None, ["tea"]) == Cursor()
    with pytest.raises(UsageError, match="a different search"):
        read_cursor(text, ["tea"], "hybrid", None)
