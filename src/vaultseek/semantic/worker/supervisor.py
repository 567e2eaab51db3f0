"""Supervisor of the child process: restarts after increasing pauses, and a circuit breaker.

The child may crash, hang or be killed at any time. Pending requests then fail with `WorkerUnavailable`
immediately, and the child is restarted after a pause that grows with each failure. After several consecutive
failures, the longest pause applies (the circuit breaker). The pause is much shorter if another program ended
the child, or if the child was idle. A request shortens a long pause. A store on which the child crashes twice
is treated as corrupt. A kill by another program counts less than a crash, because the system may kill the
child when memory runs out.

An idle child is stopped to free its memory; the next request starts another child.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from vaultseek.base.child_process import CRASH_KILLS, effort
from vaultseek.base.model import JSON, Reason
from vaultseek.errors import IndexDamaged, WorkerUnavailable
from vaultseek.semantic.models.catalogue import LocalModel
from vaultseek.semantic.models.service import sent_text
from vaultseek.semantic.worker.child import Child, ChildExit, WorkerRequest
from vaultseek.semantic.worker.state import Status, WorkerSettings, WorkerState

WORKER_BREAKER_FAILURES = 5
START_CHECK_SECONDS = 1.0
"""Number of seconds between checks of whether a starting child makes progress."""
WORKER_STORE_CRASHES = 2
"""A store counts as corrupt after this many crashes during the same operation on it."""

log = logging.getLogger(__name__)


class Supervisor:
    """Supervisor of one child at a time, for one event loop. ``poison_texts`` records the texts that crash
    the child."""

    def __init__(
        self,
        model: LocalModel,
        settings: WorkerSettings,
        log: Path | None,
        on_state: Callable[[WorkerState], None] | None,
    ) -> None:
        self._model = model
        self._log = log
        self._settings = settings
        self._on_state = on_state
        self._status: Status = "down"
        self._reason: Reason | None = Reason("worker_unavailable", "the process was not started")
        self._child: Child | None = None
        self._hello: JSON = {}
        self._spawned = 0
        self._failures = 0
        self._failed_start: str | None = None
        """Reason why the last child ended before it became ready; None once a child has become ready."""
        self._stopped = False
        self._is_asleep = False
        """True after an idle child has been ended; the status is still "ready"."""
        self._supervising: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._wanted = asyncio.Event()
        self.poison_texts = PoisonTexts()
        self._kills: dict[tuple[str, str], int] = {}
        """Number of kills during each operation on each store; a crash counts as several kills."""
        self._damaged: set[str] = set()

    @property
    def state(self) -> WorkerState:
        """The current state of the worker."""
        child = self._child
        doing = "loading the model" if self._status == "starting" else ""
        if self._status == "ready" and child:
            doing = child.doing()
        return WorkerState(
            status=self._status,
            reason=self._reason,
            pid=child.pid if child else None,
            model=self._hello.get("model"),
            dimension=self._hello.get("dimension"),
            window=self._hello.get("window"),
            restarts=max(0, self._spawned - 1),
            doing=doing,
            computing=child.computing if child else None,
            sends=sent_text(self._model.service, self._settings.reranker),
            in_vain=self._failed_start is not None or self._failures >= WORKER_BREAKER_FAILURES,
        )

    @property
    def memory_bytes(self) -> int | None:
        """Resident memory of the child, in bytes; None without a child. Not part of ``state``, because it is
        slow to read."""
        return self._child.memory_bytes() if self._child else None

    @property
    def running(self) -> bool:
        """True if a child is running, whether ready or not."""
        return self._child is not None

    @property
    def dimension(self) -> int:
        """Dimension of the model's vectors; known once the child has become ready."""
        return int(self._hello["dimension"])

    async def start(self) -> None:
        """Start the child without waiting until it is ready. Idempotent."""
        self._stopped = False
        if self._model.fault is not None:
            self._set_status("broken", self._model.fault)
        elif self._supervising is None:
            self._set_status("starting", _LOADING)
            self._supervising = asyncio.create_task(self._supervise())

    async def stop(self) -> None:
        """Stop the child; pending requests fail. Afterwards, only `start` starts a child again; requests do
        not."""
        self._stopped, self._is_asleep, self._failed_start = True, False, None
        supervising, self._supervising = self._supervising, None
        if supervising is None:
            return
        supervising.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await supervising
        if self._child is not None:
            await self._child.stop()
        self._child = None
        self._set_status("down", Reason("worker_unavailable", "the process was stopped"))

    async def ready_child(self, seconds: float | None) -> Child:
        """Wait until the child is ready, and return it. Raises `WorkerUnavailable` after ``seconds``."""
        if not self._stopped:
            self.want()
            await self.start()
            if self._is_asleep:
                self._set_status("starting", _LOADING)
        seconds = self._settings.start_seconds if seconds is None else seconds
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._status in ("down", "starting") and seconds > 0 and not self._stopped:
                    await self._changed.wait()
        if self._status != "ready" or self._child is None:
            reason = self._reason
            why = f": {reason.text}" if reason else ""
            cause, advice = (reason.code, reason.advice) if reason else ("loading", None)
            raise WorkerUnavailable(f"the semantic worker is {_WORDS[self._status]}{why}", cause, advice)
        return self._child

    def want(self) -> None:
        """Shorten a long pause before the next child starts. Must be called in the event loop."""
        self._wanted.set()

    def check_store(self, store: Path) -> None:
        """Raise `IndexDamaged` if ``store`` is known to crash the child."""
        if str(store) in self._damaged:
            raise IndexDamaged(_CRASHES)

    def record_success(self, call: str, store: str | None) -> None:
        """Clear the crash count of the operation ``call`` on ``store`` after it has succeeded."""
        self._kills.pop((call, store or ""), None)

    def clear_crashes(self, store: Path) -> None:
        """Clear all crash counts of ``store``, which is about to be dropped."""
        self._damaged.discard(str(store))
        for key in [key for key in self._kills if key[1] == str(store)]:
            del self._kills[key]

    async def _supervise(self) -> None:
        while True:
            try:
                exit = await self._run_child()
                if self._is_asleep:
                    await self._wanted.wait()
                    self._is_asleep = False
                    continue
            except WorkerUnavailable as error:
                exit = ChildExit(str(error), unready=True)
            if exit.unready:
                self._failed_start = exit.reason
            log.warning("the semantic worker is down: %s", exit.reason)
            self._failures = WORKER_BREAKER_FAILURES if exit.permanent else self._failures + 1
            broken = self._failures >= WORKER_BREAKER_FAILURES
            self._set_status("broken" if broken else "down", _reason(exit))
            await self._pause(exit, broken=broken)

    async def _pause(self, exit: ChildExit, *, broken: bool) -> None:
        """Wait before starting the next child. A request ends the wait, unless the next child would fail in
        the same way."""
        pauses = self._settings.backoff_seconds
        # The cause may be gone if another program ended the child, or if the child was idle.
        spared = exit.outside or exit.idle
        longest = len(pauses) - 1 if spared else len(pauses)
        pause = pauses[min(len(pauses) if broken else max(1, self._failures), longest) - 1]
        soon = pause if exit.permanent else min(pause, self._settings.retry_seconds)
        self._wanted.clear()
        await asyncio.sleep(soon)
        if pause > soon and not spared:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause - soon):
                    await self._wanted.wait()

    async def _run_child(self) -> ChildExit:
        again = f"the model is being loaded again after a failed start: {self._failed_start}"
        self._set_status("starting", Reason("loading", again) if self._failed_start else _LOADING)
        self._spawned += 1
        hello = {
            "model": self._model.name,
            "directory": str(self._model.directory) if self._model.directory else None,
            "service": self._model.service and asdict(self._model.service),
            "vector_index": self._settings.vector_index,
            "reranker": self._settings.reranker and asdict(self._settings.reranker),
        }
        child = await Child.spawn(hello, self._on_exit, command=self._settings.command, log=self._log)
        self._child = child
        await self._await_start(child)
        if child.ready.done() and not child.ready.cancelled():
            self._hello = child.hello
            self._failed_start = None
            self._set_status("ready", None)
            await asyncio.wait({child.exited}, timeout=self._settings.stable_seconds)
            if not child.exited.done():
                self._failures = 0
            await self._end_when_idle(child)
        return await asyncio.shield(child.exited)

    async def _await_start(self, child: Child) -> None:
        """Wait until the child is ready or has exited; kill it if it makes no progress or takes too long."""
        quiet, longest = self._settings.start_seconds, self._settings.longest_start_seconds
        ends: list[asyncio.Future[Any]] = [child.ready, child.exited]
        now = asyncio.get_running_loop().time
        began = moved = now()
        done = effort(child.pid)
        while not any(end.done() for end in ends):
            pause = min(START_CHECK_SECONDS, quiet, longest)
            await asyncio.wait(ends, timeout=pause, return_when="FIRST_COMPLETED")
            before, done = done, effort(child.pid)
            if done is None or done != before:
                moved = now()
            if now() - moved > quiet or now() - began > longest:
                child.kill("the process was not ready in time")
                await asyncio.wait({child.exited})

    async def _end_when_idle(self, child: Child) -> None:
        """Wait until the child has exited; end it once it has been idle for the time set in the settings."""
        longest = self._settings.idle_seconds
        while longest is not None and not child.exited.done():
            if (idle := child.idle_seconds) >= longest:
                log.info("stopping the semantic worker, which has not been used for %d seconds", idle)
                self._is_asleep = True
                self._wanted.clear()
                await child.stop()
            else:
                await asyncio.wait({child.exited}, timeout=longest - idle)

    def _on_exit(self, exit: ChildExit) -> None:
        """Fail the pending requests of a child that has exited, and record the cause of a crash."""
        self._child = None
        if self._status == "ready" and not self._is_asleep:
            exit.idle = not exit.pending
            self._set_status("down", _reason(exit))
        if not self._stopped:
            for pending in exit.current:
                self._record_crash(pending.request, 1 if exit.outside else CRASH_KILLS)
        for pending in exit.pending:
            if pending in exit.current and pending.request.store in self._damaged:
                pending.fail(IndexDamaged(_CRASHES))
            else:
                pending.fail(WorkerUnavailable(f"the semantic worker is down: {exit.reason}"))

    def _record_crash(self, request: WorkerRequest, kills: int) -> None:
        if request.call == "embed":
            self.poison_texts.record_crash(request.header["texts"], kills)
        elif request.store is not None and request.call != "drop" and request.store not in self._damaged:
            key = (request.call, request.store)
            self._kills[key] = self._kills.get(key, 0) + kills
            if self._kills[key] >= WORKER_STORE_CRASHES * CRASH_KILLS:
                self._damaged.add(request.store)
                self._failures -= 1  # the store is set aside, so this crash does not count

    def _set_status(self, status: Status, reason: Reason | None) -> None:
        if (status, reason) == (self._status, self._reason):
            return
        self._status, self._reason = status, reason
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
        try:
            if self._on_state is not None:
                self._on_state(self.state)
        except Exception:  # callers that wait for the child must not fail because of the listener
            log.exception("the listener for the semantic worker's state failed")


def _reason(exit: ChildExit) -> Reason:
    return Reason("model_unusable" if exit.permanent else "worker_unavailable", exit.reason)


_CRASHES = "the vector index crashes the semantic worker and has to be rebuilt"
_LOADING = Reason("loading", "the model is being loaded")
_WORDS = {"down": "down", "starting": "starting", "ready": "starting", "broken": "broken"}


WORKER_POISON_TEXTS = 10_000
"""Maximum number of suspected texts in the record, as hashes. Beyond it, the record is cleared."""


class PoisonTexts:
    """Record of the texts on which the worker crashed, kept while the daemon runs."""

    def __init__(self) -> None:
        self._kills: dict[int, int] = {}
        """By the hash of a suspected text: the number of kills while the text was embedded alone. A crash
        counts as several kills."""

    def record_crash(self, texts: Sequence[str], kills: int) -> None:
        """Record that the worker ended while embedding a batch of texts; this counts as ``kills`` kills.

        A suspected text is embedded alone. It counts as poison once the kills during this add up to a crash.
        """
        if len(self._kills) > WORKER_POISON_TEXTS:
            self._kills.clear()
        hashes = [hash(text) for text in texts]
        if len(hashes) == 1 and hashes[0] in self._kills:
            self._kills[hashes[0]] += kills
        for digest in hashes:
            self._kills.setdefault(digest, 0)

    def batches(self, texts: Sequence[str], size: int) -> Iterator[list[int]]:
        """Yield batches of indexes of ``texts``, with texts of similar length in each batch. A suspected text
        gets a batch to itself, and texts known as poison are left out."""
        single: list[int] = []
        batched: list[int] = []
        for i in sorted(range(len(texts)), key=lambda i: -len(texts[i])):
            if (kills := self._kills.get(hash(texts[i]))) is None:
                batched.append(i)
            elif kills < CRASH_KILLS:
                single.append(i)
        for start in range(0, len(batched), size):
            yield batched[start : start + size]
        for i in single:
            yield [i]
