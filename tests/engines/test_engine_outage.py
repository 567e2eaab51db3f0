"""An engine that is frozen, for several vaults at once: no request waits long, and all say that it is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from engines import NEEDS_MILVUS
from vaultseek.engines.milvus import connection as milvus_connection
from vaultseek.engines.milvus.backend import MilvusBackend
from vaultseek.errors import Unavailable
from vaultseek.settings.engine import EngineOptions

pytestmark = [NEEDS_MILVUS, pytest.mark.long]
VAULTS, THREADS = 4, 2
FOREVER = 60.0
"""Seconds after which a request is taken to hang."""


class FreezableServer:
    """A server of Milvus in a process of its own."""

    def __init__(self, folder: Path) -> None:
        script = Path(__file__).parents[1] / "milvus_server.py"
        command = [sys.executable, str(script), str(folder / "a.db"), "0"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.uri = f"http://127.0.0.1:{int(self.process.stdout.readline())}"

    def freeze(self) -> None:
        os.kill(self.process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[FreezableServer]:
    running = FreezableServer(tmp_path)
    with running.process:
        yield running
        running.process.kill()


def ask(backend: MilvusBackend) -> str:
    """Return what an engine says that does not answer, "" if it does."""
    try:
        backend.position()
    except Unavailable as error:
        return str(error)
    return ""


def test_a_frozen_engine_holds_up_no_request_of_any_vault(server, monkeypatch):
    monkeypatch.setattr(milvus_connection, "PAUSE_SECONDS", 0.1)
    options = [EngineOptions(uri=server.uri, seconds=1.0, shard=str(n)) for n in range(VAULTS)]
    with ExitStack() as files:
        backends = [files.enter_context(closing(MilvusBackend(each))) for each in options]
        assert [ask(backend) for backend in backends] == [""] * VAULTS
        server.freeze()
        said: list[str] = []
        over = threading.Event()

        def ask_often(backend: MilvusBackend) -> None:
            while not over.is_set():
                said.append(ask(backend))

        busy = [threading.Thread(target=ask_often, args=[each]) for each in backends for _ in range(THREADS)]
        for thread in busy:
            thread.start()
        for _ in range(3):
            asked = threading.Thread(target=lambda: said.append(ask(backends[0])))
            asked.start()
            asked.join(FOREVER)
            assert not asked.is_alive()
        over.set()
        for thread in busy:
            thread.join(FOREVER)
            assert not thread.is_alive()
        late = f"Milvus at {server.uri} does not answer: nothing came within 1 s; it is asked again by itself"
        assert late in said
        assert all(text.startswith(f"Milvus at {server.uri} does not answer") for text in said)
        assert all(backend.connection.outage is not None for backend in backends)

        server.thaw()
        for backend in backends:
            while ask(backend):
                over.wait(0.1)
            assert backend.connection.outage is None
