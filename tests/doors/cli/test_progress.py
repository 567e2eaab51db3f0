"""The line with the progress of indexing, and when it appears."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.core.indexing.status import Activity
from vaultseek.doors.cli import progress
from vaultseek.store.ledger import Counts

READING = {"vault": "notes", "phase": "reading", "notes_done": 90, "notes_total": 1003, "share": 0.0429}
EMBEDDING = {"vault": "notes", "phase": "embedding", "share": 0.678}


@pytest.mark.parametrize(
    ("state", "line"),
    [
        (READING, "notes: 4 % · reading files, 90 of 1,003"),
        ({**READING, "notes_total": 0}, "notes: 4 % · looking for changes"),
        (EMBEDDING, "notes: 67 % · computing vectors"),
        (
            {**EMBEDDING, "rate": 33.3, "eta_seconds": 70},
            "notes: 67 % · computing vectors, 33/s, 1 min 10 s left",
        ),
        (
            {**EMBEDDING, "waiting_for": "the model is being loaded"},
            "notes: 67 % · waiting: the model is being loaded",
        ),
        ({"phase": "done", "share": 1.0}, "100 %"),
        ({}, "0 %"),
    ],
)
def test_progress_is_one_number_and_what_is_being_done(state: dict[str, Any], line: str) -> None:
    assert progress.summary(state) == line


def test_who_waits_only_for_a_moment_is_told_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.progress(after=60) as show:
        show(READING)
    with progress.progress(quiet=True) as show:
        show(READING)
    assert capsys.readouterr().err == ""
    with progress.progress() as show:
        show(READING)
        show(READING)
    assert capsys.readouterr().err == "notes: 4 % · reading files, 90 of 1,003\n"


counts = st.integers(0, 10_000)


@given(counts, counts, counts, counts)
def test_the_share_is_a_share_and_all_of_it_is_there_when_nothing_is_left(
    notes: int, chunks: int, pending: int, left: int
) -> None:
    pending = min(pending, notes + chunks)
    now = Counts(notes, chunks, max(0, chunks - pending), pending)
    activity = Activity("ready", notes_done=0, notes_total=left)
    assert 0.0 <= activity.share(now, vectors=False) <= 1.0
    assert 0.0 <= activity.share(now) <= 1.0
    assert (activity.share(now) == 1.0) == (not (pending or left))
    assert (activity.share(now, vectors=False) == 1.0) == (not left)


@given(st.integers(1, 1000), st.integers(1, 5), st.data())
def test_the_share_grows_with_what_is_done(notes: int, of_a_note: int, data: st.DataObject) -> None:
    def share(read: int, embedded: int) -> float:
        now = Counts(read, read * of_a_note, 0, read * (of_a_note + 1) - embedded)
        return Activity("indexing", notes_done=read, notes_total=notes).share(now)

    read = data.draw(st.integers(1, notes))
    embedded = data.draw(st.integers(0, read * (of_a_note + 1)))
    assert share(read, embedded) >= share(read, embedded // 2) >= share(max(1, read // 2), 0)


def test_lines_become_rarer_and_count_the_files_read_in_a_second(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    with progress.progress() as show:
        for second in range(480):
            now = float(second)
            show({**READING, "notes_done": 10 * second, "notes_total": 5000})
    lines = capsys.readouterr().err.splitlines()
    assert 10 < len(lines) < 25
    assert lines[1] == "notes: 4 % · reading files, 50 of 5,000, 10/s"


def test_each_of_several_vaults_has_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.progress() as show:
        for state in (READING, {**READING, "vault": "work"}, READING, {**READING, "vault": "work"}):
            show(state)
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["notes: 4 % · reading files, 90 of 1,003", "work: 4 % · reading files, 90 of 1,003"]


@pytest.mark.parametrize("columns", [60, 80, 100, 160])
@pytest.mark.parametrize("name", ["notes", "The long notebook of a boat and of its winters"])
def test_a_step_is_shown_whole_however_narrow_the_screen_is(monkeypatch, columns, name):
    monkeypatch.setenv("COLUMNS", str(columns))
    state = {"vault": name, "phase": "embedding", "share": 0.97, "rate": 1234, "eta_seconds": 659.0}
    bars = progress._bars(color=False)
    progress._Bars(bars).show(state)
    with bars.console.capture() as capture:
        bars.console.print(bars.get_renderable())
    shown = capture.get()
    assert "97 % · computing vectors, 1,234/s, 10 min 59 s left" in " ".join(shown.split())
    assert shown.startswith(name[:7])
    assert shown.count("\n") == (1 if columns >= 80 else 2)
