"""The line that shows the progress of indexing."""

from vaultseek.cli import progress


def test_progress_in_one_line() -> None:
    state = {
        "vault": "notes",
        "notes_done": 90,
        "notes_total": 1003,
        "embedded": 12,
        "chunks": 400,
    }
    assert progress.summary(state) == "notes: 90/1,003 notes · 12/400 passages embedded"
    assert progress.summary({**state, "rate": 33.3, "eta_seconds": 70}).endswith(" · 33/s · 1 min 10 s left")
    notes_left = {**state, "embedded": 400, "pending": 60}
    assert progress.summary(notes_left).endswith("400/400 passages embedded · 60 texts to go")
    done = {"notes": 1003, "notes_done": 0, "notes_total": 0, "embedded": 0, "chunks": 0}
    assert progress.summary(done) == "1,003/1,003 notes"
    assert progress.summary({}) == "0 notes"
