"""Reasons that a searcher gives from the heartbeat of an indexer."""

import time
from dataclasses import replace

import pytest

from vaultseek.base.model import Reason
from vaultseek_server.engines.heartbeat import SILENCE_SECONDS, STOPPED, Heartbeat

BEAT = Heartbeat("indexer-1", "ready", 20.0, age=1.0)


@pytest.fixture(autouse=True)
def _clock(monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 1_000_000.0 + SILENCE_SECONDS)


def test_an_indexer_counts_as_silent_after_a_while():
    assert replace(BEAT, age=SILENCE_SECONDS).behind() is None
    assert not replace(BEAT, age=SILENCE_SECONDS).is_last
    silent = replace(BEAT, age=SILENCE_SECONDS + 1)
    assert silent.is_last
    reason = silent.behind()
    assert reason is not None
    assert reason.code == "behind"
    assert "indexer-1 has been silent since 1970-01-12 13:46:39+00:00" in reason.text
    assert "last up to date with its folder 1970-01-12 13:46:19+00:00" in reason.text


@pytest.mark.parametrize(
    ("beat", "code", "text"),
    [
        (replace(BEAT, state=STOPPED), "behind", "indexer-1 was stopped 1970-01-12"),
        (
            replace(BEAT, state="vault_missing", reason=Reason("vault_missing", "the folder is gone")),
            "vault_missing",
            "indexer-1 reports: the folder is gone; the shard was last up to date",
        ),
        (
            replace(BEAT, reason=Reason("being_read", "40 of 90 notes"), lag=None),
            "being_read",
            "40 of 90",
        ),
    ],
)
def test_a_searcher_repeats_what_an_indexer_says(beat, code, text):
    assert Heartbeat.of_state({"heartbeat": beat.as_text(), "heartbeat age": "1.0"}) == beat
    reason = beat.behind()
    assert reason is not None
    assert reason.code == code
    assert text in reason.text


@pytest.mark.parametrize("text", ["", "{}", "[]", "[1]", '[1, 2, "x", 4]', "null", "[[[["])
def test_what_is_no_heartbeat_is_none(text):
    assert Heartbeat.of_state({"heartbeat": text, "heartbeat age": "1.0"}) is None
    assert Heartbeat.of_state({}) is None
