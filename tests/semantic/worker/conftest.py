"""Workers for tests: real child processes that start quickly, and fake ones that misbehave."""

import sys
import textwrap
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from vaultseek.semantic.worker import SemanticWorker, WorkerSettings, WorkerState

FAKE = """
import os, signal, sys, time
import numpy as np
from vaultseek.semantic.worker import pipe

incoming, outgoing = sys.stdin.buffer, sys.stdout.buffer

def send(header, arrays=()):
    outgoing.write(pipe.pack(header, arrays))
    outgoing.flush()

def ready():
    send({"ready": True, "model": "fake", "dimension": 2, "window": 8})

def vectors(frame):
    count = len(frame.header["texts"])
    send({"id": frame.header["id"], "failed": []}, [np.tile(np.float32([0.6, 0.8]), (count, 1))])

hello = pipe.read(incoming)
"""


@dataclass(frozen=True)
class Named:
    name: str = "hashing"
    directory: Path | None = None
    fault: str | None = None
    service: Any = None


class Workers:
    """A factory of workers that are stopped at the end of the test."""

    def __init__(self) -> None:
        self.states: list[WorkerState] = []
        self._made: list[SemanticWorker] = []

    def real(self, name: str = "hashing", *, log: Path | None = None, **settings: Any) -> SemanticWorker:
        """Return a worker with the stand-in model, and vectors in memory by default."""
        return self._make(name, settings, log)

    def fake(self, script: str, *, log: Path | None = None, **settings: Any) -> SemanticWorker:
        """Return a worker whose child runs ``script``, which may use ``send`` and ``ready``."""
        command = (sys.executable, "-c", FAKE + textwrap.dedent(script))
        return self._make("fake", {"command": command, **settings}, log)

    def _make(self, name: str, settings: dict[str, Any], log: Path | None) -> SemanticWorker:
        chosen = replace(WorkerSettings(backoff_seconds=(0.01, 0.02, 0.3)), **settings)
        worker = SemanticWorker(Named(name), log=log, settings=chosen, on_state=self.states.append)
        self._made.append(worker)
        return worker

    async def stop(self) -> None:
        for worker in self._made:
            await worker.stop()


@pytest.fixture
async def workers() -> AsyncIterator[Workers]:
    factory = Workers()
    yield factory
    await factory.stop()
