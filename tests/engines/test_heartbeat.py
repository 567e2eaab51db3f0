"""Reasons that a searcher gives from the heartbeat of an indexer."""

from dataclasses import replace

import pytest

from vaultseek.base.model import Reason
from vaultseek.engines.heartbeat import SILENCE_SECONDS, STOPPED, Heartbeat, ReceivedHeartbeat

BEAT = Heartbeat(1_000_000.0, "indexer-1", "ready", 1_000_000.0)


def test_a_frozen_indexer_is_named_after_a_minute_by_the_clock_of_the_searcher():
    heartbeat = ReceivedHeartbeat()
    # The clock of the indexer is ten minutes ahead, which says nothing about its silence.
    heartbeat.update(replace(BEAT, at=BEAT.at + 600), now=0.0, wall=BEAT.at)
    assert heartbeat.reason(now=SILENCE_SECONDS) is None
    heartbeat.update(replace(BEAT, at=BEAT.at + 610), now=30.0, wall=BEAT.at)
    heartbeat.update(replace(BEAT, at=BEAT.at + 610), now=90.0, wall=BEAT.at)
    assert heartbeat.reason(now=90.0) is None
    reason = heartbeat.reason(now=30.0 + SILENCE_SECONDS + 1)
    assert reason is not None
    assert reason.code == "behind"
    assert "indexer-1 has been silent since 1970-01-12" in reason.text
    assert "last up to date with its folder 1970-01-12 13:46:40 UTC" in reason.text
    heartbeat.update(replace(BEAT, at=BEAT.at + 700), now=100.0)
    assert heartbeat.reason(now=100.0) is None


@pytest.mark.parametrize(
    ("ahead", "text"), [(7200.0, "120 min ahead of"), (-300.0, "5 min behind"), (20.0, "")]
)
def test_a_clock_that_differs_is_said_with_its_times(ahead, text):
    heartbeat = ReceivedHeartbeat()
    for seconds in range(0, 40, 10):
        heartbeat.update(
            replace(BEAT, at=BEAT.at + ahead + seconds), now=5.0 + seconds, wall=BEAT.at + seconds
        )
    assert heartbeat.reason(now=40.0) is None
    heartbeat.update(replace(BEAT, at=BEAT.at + ahead + 40, state=STOPPED), now=45.0, wall=BEAT.at + 40)
    assert text in str(heartbeat.reason(now=45.0))
    assert ("clock" in str(heartbeat.reason(now=45.0))) == bool(text)
    # A word that is new here only because nobody asked for an hour says nothing of the clock.
    heartbeat = ReceivedHeartbeat()
    heartbeat.update(BEAT, now=0.0, wall=BEAT.at)
    heartbeat.update(replace(BEAT, at=BEAT.at + 10, state=STOPPED), now=3600.0, wall=BEAT.at + 3600)
    assert "clock" not in str(heartbeat.reason(now=3600.0))


def test_a_searcher_that_starts_late_knows_that_the_last_word_is_old():
    heartbeat = ReceivedHeartbeat()
    heartbeat.update(BEAT, now=5.0, wall=BEAT.at + 3600)
    assert "silent" in str(heartbeat.reason(now=5.0))


def test_a_shard_that_nobody_speaks_for_is_named_after_a_minute():
    heartbeat = ReceivedHeartbeat()
    heartbeat.update(None, now=0.0)
    assert heartbeat.reason(now=1.0) is None
    assert "no heartbeat from its indexer yet" in str(heartbeat.reason(now=SILENCE_SECONDS + 1))


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
            replace(BEAT, reason=Reason("being_read", "40 of 90 notes"), synced_at=None),
            "being_read",
            "40 of 90",
        ),
    ],
)
def test_a_searcher_repeats_what_an_indexer_says(beat, code, text):
    assert Heartbeat.of_text(beat.as_text()) == beat
    heartbeat = ReceivedHeartbeat()
    heartbeat.update(beat, now=0.0, wall=beat.at)
    reason = heartbeat.reason(now=1.0)
    assert reason is not None
    assert reason.code == code
    assert text in reason.text


@pytest.mark.parametrize("text", [None, "", "{}", "[]", "[1]", '["x", 1, 2, 3, 4, 5]', "null", "[[[["])
def test_what_is_no_heartbeat_is_none(text):
    assert Heartbeat.of_text(text) is None
