"""Keeps a child process alive: started, watched, started again, given up for a while.

The child may crash, hang or be killed at any time. Whoever waits for it then gets `WorkerUnavailable` at
once, and it is started again after a while, later each time; after some failures in a row only every few
minutes (the breaker). A child that dies twice over the same store makes that store count as damaged.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vaultseek.errors import IndexDamaged, WorkerUnavailable
from vaultseek.model import JSON, Reason
from vaultseek.worker.child import Child, Death, Flight
from vaultseek.worker.state import Model, Status, WorkerSettings, WorkerState
from vaultseek.worker.suspects import Suspects

WORKER_BREAKER_FAILURES = 5
WORKER_STORE_DEATHS = 2
"""So many deaths of the worker at the same work on one store, and the store counts as damaged."""

log = logging.getLogger(__name__)


class Supervisor:
    """One child at a time, for one event loop. ``suspects`` knows the texts that killed one."""

    def __init__(
        self,
        model: Model,
        settings: WorkerSettings,
        log: Path | None,
        on_state: Callable[[WorkerState], None] | None,
    ) -> None:
        self._model = model
        self._log = log
        self._settings = settings
        self._on_state = on_state
        self._status: Status = "down"
        self._reason: Reason | None = Reason("worker_unavailable", "it was not started")
        self._child: Child | None = None
        self._hello: JSON = {}
        self._spawned = 0
        self._failures = 0
        self._stopped = False
        self._supervising: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self.suspects = Suspects()
        self._deaths: dict[tuple[str, str], int] = {}
        self._damaged: set[str] = set()

    @property
    def state(self) -> WorkerState:
        """How the worker is at this moment."""
        child = self._child
        return WorkerState(
            status=self._status,
            reason=self._reason,
            pid=child.pid if child else None,
            model=self._hello.get("model"),
            dimension=self._hello.get("dimension"),
            window=self._hello.get("window"),
            memory_bytes=child.memory_bytes() if child else None,
            restarts=max(0, self._spawned - 1),
            doing=self._doing(child),
        )

    @property
    def running(self) -> bool:
        """Whether there is a child, ready or not."""
        return self._child is not None

    @property
    def dimension(self) -> int:
        """Of the model's vectors; known once the child was ready."""
        return int(self._hello["dimension"])

    async def start(self) -> None:
        """Begin to start the child; do not wait until it is ready. Starting twice is once."""
        self._stopped = False
        if self._model.fault is not None:
            self._become("broken", Reason("model_unusable", self._model.fault))
        elif self._supervising is None:
            self._become("starting", _LOADING)
            self._supervising = asyncio.create_task(self._supervise())

    async def stop(self) -> None:
        """End the child and with it all calls under way. Only `start` brings it back, no call does."""
        self._stopped = True
        supervising, self._supervising = self._supervising, None
        if supervising is None:
            return
        supervising.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await supervising
        if self._child is not None:
            await self._child.stop()
        self._child = None
        self._become("down", Reason("worker_unavailable", "it was stopped"))

    async def ready_child(self, seconds: float | None) -> Child:
        """The child, once it is ready. Raises `WorkerUnavailable` if that takes longer than ``seconds``."""
        if not self._stopped:
            await self.start()
        seconds = self._settings.start_seconds if seconds is None else seconds
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._status in ("down", "starting") and seconds > 0 and not self._stopped:
                    await self._changed.wait()
        if self._status != "ready" or self._child is None:
            reason = self._reason
            why = f": {reason.text}" if reason else ""
            cause = reason.code if reason else "loading"
            raise WorkerUnavailable(f"the semantic worker is {_WORDS[self._status]}{why}", cause)
        return self._child

    def check(self, store: Path) -> None:
        """Raise `IndexDamaged` if the store is known to kill the child."""
        if str(store) in self._damaged:
            raise IndexDamaged(_CRASHES)

    def succeeded(self, call: str, store: str | None) -> None:
        """The child did ``call`` at ``store`` and lives: earlier deaths over it mean nothing."""
        self._deaths.pop((call, store or ""), None)

    def forgive(self, store: Path) -> None:
        """The store is being thrown away: nothing is held against it any more."""
        self._damaged.discard(str(store))
        for key in [key for key in self._deaths if key[1] == str(store)]:
            del self._deaths[key]

    async def _supervise(self) -> None:
        """Start the child, again and again, until `stop`."""
        while True:
            pause = self._settings.backoff_seconds
            try:
                death = await self._live()
            except WorkerUnavailable as error:
                death = Death(str(error))
            log.warning("the semantic worker is down: %s", death.reason)
            self._failures = WORKER_BREAKER_FAILURES if death.permanent else self._failures + 1
            broken = self._failures >= WORKER_BREAKER_FAILURES
            self._become("broken" if broken else "down", _reason(death))
            await asyncio.sleep(pause[-1] if broken else pause[min(self._failures, len(pause)) - 1])

    async def _live(self) -> Death:
        """One life of a child, from its start to its death."""
        self._become("starting", _LOADING)
        self._spawned += 1
        hello = {
            "model": self._model.name,
            "directory": str(self._model.directory) if self._model.directory else None,
            "precision": self._settings.precision,
            "stores": self._settings.stores,
        }
        child = await Child.spawn(hello, self._mourn, command=self._settings.command, log=self._log)
        self._child = child
        ends: list[asyncio.Future[Any]] = [child.ready, child.ended]
        await asyncio.wait(ends, timeout=self._settings.start_seconds, return_when="FIRST_COMPLETED")
        if not child.ready.done():
            child.kill("it did not become ready in time")
        elif not child.ready.cancelled():
            self._hello = child.hello
            self._become("ready", None)
            await asyncio.wait({child.ended}, timeout=self._settings.stable_seconds)
            if not child.ended.done():
                self._failures = 0
        return await asyncio.shield(child.ended)

    def _mourn(self, death: Death) -> None:
        """Answer what the dead child left behind, and learn from it."""
        self._child = None
        if self._status == "ready":
            self._become("down", _reason(death))
        for flight in death.flights:
            if flight.began:
                self._learn(flight)
        for flight in death.flights:
            store = flight.request.store
            if flight.began and store in self._damaged:
                flight.fail(IndexDamaged(_CRASHES))
            else:
                flight.fail(WorkerUnavailable(f"the semantic worker is down: {death.reason}"))

    def _learn(self, flight: Flight) -> None:
        request = flight.request
        if request.call == "embed":
            self.suspects.died_over(request.header["texts"])
        elif request.store is not None and request.call != "drop":
            key = (request.call, request.store)
            self._deaths[key] = self._deaths.get(key, 0) + 1
            if self._deaths[key] == WORKER_STORE_DEATHS:
                self._damaged.add(request.store)
                self._failures -= 1  # the cause is found and set aside: this death is not the worker's fault

    def _become(self, status: Status, reason: Reason | None) -> None:
        if (status, reason) == (self._status, self._reason):
            return
        self._status, self._reason = status, reason
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
        try:
            if self._on_state is not None:
                self._on_state(self.state)
        except Exception:  # those who wait for the child must not pay for it
            log.exception("telling of the semantic worker's state failed")

    def _doing(self, child: Child | None) -> str:
        if self._status != "ready" or child is None:
            return "loading the model" if self._status == "starting" else ""
        return child.doing()


def _reason(death: Death) -> Reason:
    return Reason("model_unusable" if death.permanent else "worker_unavailable", death.reason)


_CRASHES = "the vector index crashes the semantic worker and has to be rebuilt"
_LOADING = Reason("loading", "the model is being loaded")
_WORDS = {"down": "down", "starting": "starting", "ready": "starting", "broken": "broken"}
