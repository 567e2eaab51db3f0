"""Remarks on an answer, worded the same for every door."""

import pytest

from vaultseek.protocol.messages.remarks import with_remarks

FOUND = [{"path": "a.md"}]
LOADING = {"lane": "semantic", "code": "loading", "reason": "the model is being loaded"}
READING = {"lane": "vault", "code": "being_read", "reason": "still reading, 75 of 1,100 notes"}


def remarks(results=(), partial=(), notes=(), **more):
    answer = {"partial": [*partial], "interpreted": {"notes": [*notes]}, "index": {"notes": 3}, **more}
    return [(each["code"], each["text"]) for each in with_remarks(answer, found=bool(results))["remarks"]]


def test_an_answer_that_is_whole_needs_no_remark():
    assert remarks(FOUND) == []


def test_nothing_found_names_the_closest_note_if_there_is_one():
    assert remarks() == [("no_match", "no note matches")]
    assert remarks(nearest={"path": "Bread.md", "confidence": 0.04}) == [
        ("no_match", "no note matches; the closest is Bread.md")
    ]


def test_results_that_are_only_close_are_no_match():
    assert remarks(FOUND, weak=True) == [("closest", "no note matches; these are the closest")]


def test_a_vault_without_notes_is_said_to_have_none():
    assert remarks(index={"notes": 0}) == [("no_match", "the vault has no notes yet")]
    several = [{"index": {"notes": 0}}, {"index": {"notes": 0}}]
    assert remarks(vaults=several) == [("no_match", "the vaults have no notes yet")]
    assert remarks(vaults=[*several, {"index": {"notes": 1}}]) == [("no_match", "no note matches")]


def test_what_was_not_understood_follows():
    assert remarks(FOUND, notes=["a quote was open"], weak=True)[1] == ("query", "a quote was open")


def test_a_note_that_may_mean_the_query_is_not_denied_while_the_model_loads():
    waiting = ("waiting", "search by meaning is not ready yet")
    assert remarks(partial=[LOADING]) == [("no_match", "no note has these words"), waiting]
    assert remarks(FOUND, weak=True, partial=[LOADING])[0] == (
        "closest",
        "no note has these words; these are the closest",
    )
    assert remarks(FOUND, partial=[LOADING]) == [waiting]


def test_a_note_that_has_no_vector_for_the_querys_language_yet_is_not_denied():
    building = {"lane": "vault", "code": "being_built", "reason": "no vectors for other languages yet"}
    missing = ("incomplete", "notes may be missing: no vectors for other languages yet")
    assert remarks(partial=[building]) == [("no_match", "no note matches yet"), missing]
    assert remarks(FOUND, weak=True, partial=[building]) == [
        ("closest", "no note matches yet; these are the closest"),
        missing,
    ]


def test_what_meaning_waits_for_is_one_remark():
    assert remarks(FOUND, partial=[LOADING], index={"notes": 3, "pending": 1}) == [
        ("waiting", "search by meaning is not ready yet: 1 vector left")
    ]
    index = {"notes": 3, "pending": 9, "state": "ready", "reason": "passages cannot be embedded: no room"}
    assert remarks(FOUND, index=index) == [
        (
            "waiting",
            "search by meaning is not complete yet: 9 vectors left (passages cannot be embedded: no room)",
        )
    ]


def test_a_search_by_word_does_not_wait_for_meaning():
    assert remarks(FOUND, mode="keyword", index={"notes": 3, "pending": 9}) == []


def test_an_index_that_is_still_read_may_have_more():
    assert remarks(FOUND, partial=[READING]) == [
        ("incomplete", f"{READING['reason']}: results may be missing")
    ]
    assert remarks(partial=[READING]) == [("no_match", f"no note matches yet: {READING['reason']}")]


@pytest.mark.parametrize(
    ("lane", "text"),
    [
        ({"lane": "graph", "reason": "too slow"}, "search by link was left out: too slow"),
        ({"lane": "semantic", "reason": "it crashed"}, "search by meaning was left out: it crashed"),
        ({"lane": "keyword", "reason": "a deadline"}, "search by word was left out: a deadline"),
        ({"lane": "expansion", "reason": "paused"}, "query expansion was left out: paused"),
        (
            {"lane": "keyword", "vault": "work", "reason": "a deadline"},
            "work: search by word was left out: a deadline",
        ),
        (
            {"lane": "vault", "vault": "work", "reason": "it is paused"},
            "work: notes may be missing: it is paused",
        ),
    ],
)
def test_what_was_left_out_is_named_with_the_reason(lane, text):
    assert remarks(FOUND, partial=[{"code": "deadline", **lane}]) == [("incomplete", text)]


def test_an_answer_that_is_no_search_has_no_match_to_remark_on():
    assert with_remarks({"partial": [LOADING]}, found=False)["remarks"] == [
        {"code": "waiting", "text": "search by meaning is not ready yet"}
    ]
