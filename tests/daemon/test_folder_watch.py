"""The watch on a vault's folder begins and ends in threads that continue when nobody waits for them."""

import asyncio
import threading

import pytest
from watchdog.utils import BaseThread

from vaultseek.content.files.watch import Watcher
from vaultseek.daemon.folder_watch import FolderWatch


def watching() -> int:
    """Return the number of watching threads."""
    return sum(isinstance(thread, BaseThread) for thread in threading.enumerate())


@pytest.mark.fault("L9")
async def test_l9_a_watch_that_is_stopped_while_it_starts_is_not_left_running(tmp_path, monkeypatch, until):
    begun, may_go_on, ended = threading.Event(), threading.Event(), threading.Event()
    start = Watcher.start

    def start_late(watcher: Watcher) -> None:
        begun.set()
        assert may_go_on.wait(30)
        start(watcher)
        ended.set()

    monkeypatch.setattr(Watcher, "start", start_late)
    before = watching()
    watch = FolderWatch(tmp_path, lambda: False, 3600.0)
    starting = asyncio.create_task(watch.start())
    await until(begun.is_set)
    starting.cancel()
    stopping = asyncio.create_task(watch.stop())
    await asyncio.sleep(0)
    may_go_on.set()
    await stopping
    await until(ended.is_set)
    assert watching() == before
    begun.clear()
    await watch.start()
    assert not begun.is_set(), "it is stopped for good"
