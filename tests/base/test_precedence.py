"""Searches come first: while one runs, no background process begins another step."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from vaultseek.base import precedence
from vaultseek.base.child_process import ChildEnded, ChildProcess
from vaultseek.base.precedence import give_way, searching, set_on_battery

STEPS = """
import sys
from vaultseek.base import child_process, precedence

precedence.WAIT_SECONDS = 600.0
while True:
    precedence.give_way()
    child_process.write(sys.stdout.buffer, {})
"""
QUIET_SECONDS = 0.3


@contextmanager
def background_process() -> Iterator[ChildProcess]:
    """A child process that reports each of its steps, as fast as they are read."""
    process = ChildProcess((sys.executable, "-c", STEPS), stderr=subprocess.DEVNULL)
    try:
        process.receive()
        yield process
    finally:
        process.end()


def steps_until_quiet(process: ChildProcess) -> None:
    """Read the steps of a process until it takes none."""
    try:
        while True:
            process.receive(QUIET_SECONDS)
    except ChildEnded:  # no step arrived
        assert not process.has_ended


def test_no_process_begins_a_step_during_a_search_and_all_continue_afterwards() -> None:
    with background_process() as one, background_process() as other:
        with searching(), searching():
            steps_until_quiet(one)  # the steps already in its pipe
            steps_until_quiet(other)
        for process in (one, other):
            process.receive()


def test_a_step_begins_when_the_last_of_several_searches_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precedence, "WAIT_SECONDS", 600.0)
    first, second = searching(), searching()
    first.__enter__()
    second.__enter__()
    working = threading.Thread(target=give_way)
    working.start()
    first.__exit__(None, None, None)
    working.join(QUIET_SECONDS)
    assert working.is_alive()
    second.__exit__(None, None, None)
    working.join()


def test_background_work_advances_during_endless_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    now, looks = [100.0], list[float]()
    monkeypatch.setattr(precedence.time, "monotonic", lambda: now[0])

    def sleep(seconds: float) -> None:
        now[0] += seconds
        looks.append(seconds)

    monkeypatch.setattr(precedence.time, "sleep", sleep)
    with searching():
        for _ in range(3):
            give_way()
            assert sum(looks) == pytest.approx(precedence.WAIT_SECONDS, abs=0.01)  # only the first one waits
        now[0] += precedence.FREE_SECONDS
        give_way()
        assert sum(looks) == pytest.approx(2 * precedence.WAIT_SECONDS, abs=0.01)


def test_on_battery_each_step_is_followed_by_as_long_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    now, slept = [100.0], list[float]()
    monkeypatch.setattr(precedence.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(precedence.time, "sleep", slept.append)
    set_on_battery(True)
    try:
        for seconds in (0.0, 0.2, 3600.0):
            now[0] += seconds
            give_way()
    finally:
        set_on_battery(False)
    assert slept == [0.0, pytest.approx(0.2), precedence.WAIT_SECONDS]
    give_way()
    assert len(slept) == 3


def test_another_program_s_variable_is_ignored(tmp_path) -> None:
    code = "from vaultseek.base.precedence import give_way, searching\nwith searching(): pass\ngive_way()"
    for number in ("999", "x", "0"):
        environment = {"PYTHONPATH": ":".join(sys.path), precedence.VARIABLE: number}
        subprocess.run([sys.executable, "-c", code], env=environment, check=True, stdin=subprocess.DEVNULL)
