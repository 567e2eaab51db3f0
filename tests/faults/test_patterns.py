"""Searches of other clients while regular expressions wait for the processes that match them."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psutil
import pytest

from daemons import Daemon
from vaultseek.client import Client
from worlds import write_files

pytestmark = pytest.mark.slow
NOTES = {"Pump.md": "---\ntags: [outside]\n---\n# Pump\n\nThe bilge pump hums.\n"}
CLIENTS = 6


def long_pattern(letter: str) -> str:
    return f"/(?i){letter * 300}/"


@contextmanager
def stopped_processes(daemon: Daemon) -> Iterator[None]:
    """Stop the matching processes, as if others took all processor time."""
    children = psutil.Process(daemon.pid()).children()
    matching = [child.pid for child in children if "vaultseek.base.pattern_process" in child.cmdline()]
    assert matching
    for pid in matching:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in matching:
            os.kill(pid, signal.SIGCONT)


@pytest.mark.fault("L2")
def test_l2_other_searches_go_on_while_patterns_wait(daemon, tmp_path):
    root = str(daemon.indexed(write_files(tmp_path / "vault", NOTES)))

    def search(query: str) -> list[str]:
        with Client(daemon.socket, timeout=60) as client:
            return [result["path"] for result in client.search(query, vault=root)["results"]]

    with ThreadPoolExecutor(CLIENTS) as pool:
        warm = [pool.submit(search, long_pattern(letter)) for letter in "yz"]
        assert [each.result() for each in warm] == [[], []]
        with stopped_processes(daemon), Client(daemon.socket, timeout=5) as client:
            waiting = [pool.submit(search, long_pattern(letter)) for letter in "abcdef"]
            for _ in range(10):
                for query in ("pump", "tag:outside", "path:Pump"):
                    assert [note["path"] for note in client.search(query, vault=root)["results"]] == [
                        "Pump.md"
                    ]
            assert not all(each.done() for each in waiting)
        assert [each.result() for each in waiting] == [[]] * CLIENTS
