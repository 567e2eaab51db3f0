"""One child process as seen from the daemon: spawn, requests, watchdog, exit."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import logging.handlers
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from io import TextIOWrapper
from pathlib import Path

from vaultseek.base import limits, precedence
from vaultseek.base.child_process import is_from_outside, memory_bytes, processor_count, starved_seconds
from vaultseek.base.model import JSON
from vaultseek.errors import ProtocolError, WorkerUnavailable
from vaultseek.semantic.worker.pipe import Array, Frame, error_of, pack, read_async

WORKER_STOP_SECONDS = 3.0
WORKER_WATCH_SECONDS = 0.25
STARVED_SHARE = 0.1
"""Minimum share of the elapsed time that counts towards a hang, even if the child's threads were waiting for
a free processor."""
WORKER_THREADS = 8

COMMAND = (sys.executable, "-P", "-m", "vaultseek.semantic.worker.main")
_NO_INSTRUCTIONS = (
    "this CPU lacks instructions that the model's libraries require (signal 4); search by word still works"
)
_LAST_OUTPUT_SECONDS = 0.5
_TAIL_BYTES = 2 * limits.KIB
_OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "DO_NOT_TRACK": "1",
    "ANONYMIZED_TELEMETRY": "False",
    "OTEL_SDK_DISABLED": "true",
    "ORT_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_VERBOSITY": "error",
    "PYTHONUNBUFFERED": "1",
}


@dataclass(frozen=True, slots=True)
class WorkerRequest:
    """A request to the child. If the child does not react within ``seconds``, it counts as hung. Time that
    the child spends waiting for a free processor hardly counts (``STARVED_SHARE``)."""

    call: str
    queue: str
    seconds: float
    header: JSON
    arrays: Sequence[Array] = ()
    store: str | None = None
    doing: str = ""


@dataclass(eq=False, slots=True)
class PendingRequest:
    """A request that has not been answered yet."""

    id: int
    request: WorkerRequest
    answer: asyncio.Future[Frame]

    def fail(self, error: Exception) -> None:
        """Complete the request with ``error``, unless it has already been answered."""
        if not self.answer.done():
            self.answer.set_exception(error)
            # Retrieve the exception, so that asyncio does not log it if the caller has given up.
            self.answer.exception()


@dataclass(slots=True)
class ChildExit:
    """The end of a child process: the reason, the unanswered requests, and the requests in progress.

    ``permanent``: the next child would end in the same way. ``outside``: another program ended the child.
    ``idle``: the child was ready and had no requests. ``unready``: the child never became ready.
    """

    reason: str
    pending: list[PendingRequest] = field(default_factory=list)
    current: list[PendingRequest] = field(default_factory=list)
    permanent: bool = False
    outside: bool = False
    idle: bool = False
    unready: bool = False


class Child:
    """A running child process. `ready` completes when the model is loaded, `exited` when the process has
    ended.

    The process is killed if it uses too much memory. It is also killed if one of its queues does not react
    within the time limit of the current request, because native code has then hung. On a busy machine, the
    limit is longer.
    """

    def __init__(
        self, process: asyncio.subprocess.Process, log: Path | None, on_exit: Callable[[ChildExit], None]
    ) -> None:
        loop = asyncio.get_running_loop()
        self.pid = process.pid
        self.hello: JSON = {}
        self.computing: str | None = None
        self.ready: asyncio.Future[None] = loop.create_future()
        self.exited: asyncio.Future[ChildExit] = loop.create_future()
        self._process = process
        self._pending: dict[int, PendingRequest] = {}
        self._quiet: dict[str, tuple[float, float]] = {}
        """By queue: the seconds since the queue last reacted, and the part of this time that the child's
        threads spent waiting for a free processor."""
        self._last_id = 0
        self._answered = loop.time()
        self._reason: str | None = None
        self._permanent = False
        self._peak = 0
        self._busy = asyncio.Event()
        self._tail = bytearray()
        self._log = log
        self._on_exit = on_exit
        self._logging = asyncio.create_task(self._keep_log())
        self._watching = asyncio.create_task(self._watch())
        self._following = asyncio.create_task(self._follow())

    @classmethod
    async def spawn(
        cls,
        hello: JSON,
        on_exit: Callable[[ChildExit], None],
        *,
        command: Sequence[str] = COMMAND,
        log: Path | None = None,
    ) -> Child:
        """Start a process and send it the settings ``hello``. Raises `WorkerUnavailable` if it cannot be
        started.

        ``on_exit`` is called once, after the process has exited, and must answer the pending requests.
        """
        files, variables = precedence.handed_on()
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                str(os.getpid()),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=environment(os.environ) | variables,
                pass_fds=files,
                limit=limits.MIB,
            )
        except OSError as error:
            raise WorkerUnavailable(f"the process cannot be started: {error.strerror}") from None
        child = cls(process, log, on_exit)
        child._write(pack(hello))
        return child

    async def ask(self, request: WorkerRequest, seconds: float | None) -> Frame:
        """Send a request and return the answer. Raises the error that the child reports, or
        `WorkerUnavailable` if the child exits or does not answer within ``seconds``."""
        pending = self._send(request)
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.shield(pending.answer)
        except TimeoutError:
            self._cancel(pending)
            raise WorkerUnavailable("the semantic worker did not answer in time", "deadline") from None
        except asyncio.CancelledError:
            self._cancel(pending)
            raise

    def doing(self) -> str:
        """Describe the child's current work; empty when the child is idle."""
        return ", ".join(pending.request.doing for pending in self._current())

    @property
    def idle_seconds(self) -> float:
        """Seconds since the last answer; 0 while requests are pending."""
        return 0.0 if self._pending else asyncio.get_running_loop().time() - self._answered

    def memory_bytes(self) -> int:
        """Return the resident memory of the child, in bytes; the peak if the system does not report the
        current value."""
        memory = memory_bytes(self.pid)
        return self._peak if memory is None else memory

    def kill(self, reason: str) -> None:
        """Kill the process at once."""
        self._reason = self._reason or reason
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def stop(self) -> None:
        """Let the child finish its current write and exit; kill it if it does not exit within a few
        seconds."""
        self._reason = self._reason or "the process was stopped"
        if self._process.stdin is not None:
            self._process.stdin.close()
        done, _ = await asyncio.wait([self.exited], timeout=WORKER_STOP_SECONDS)
        if not done:
            self.kill("the process did not stop")
            await self.exited

    def _send(self, request: WorkerRequest) -> PendingRequest:
        if self.exited.done():
            raise WorkerUnavailable("the semantic worker has just ended; try again")
        self._last_id += 1
        header = {**request.header, "id": self._last_id, "call": request.call, "queue": request.queue}
        data = pack(header, request.arrays)
        pending = PendingRequest(self._last_id, request, asyncio.get_running_loop().create_future())
        if not any(other.request.queue == request.queue for other in self._pending.values()):
            self._touch(request.queue)
        self._pending[pending.id] = pending
        self._busy.set()
        self._write(data)
        return pending

    def _current(self) -> list[PendingRequest]:
        """Return the requests that the child is working on: the first one in each queue."""
        firsts: dict[str, PendingRequest] = {}
        for pending in self._pending.values():
            firsts.setdefault(pending.request.queue, pending)
        return list(firsts.values())

    def _cancel(self, pending: PendingRequest) -> None:
        if not self.exited.done():
            self._write(pack({"cancel": pending.id}))

    def _write(self, data: bytes) -> None:
        stdin = self._process.stdin
        if stdin is not None and not stdin.is_closing():
            stdin.write(data)

    def _touch(self, queue: str) -> None:
        self._quiet[queue] = 0.0, 0.0

    async def _follow(self) -> None:
        """Read frames until the process has exited, and report its exit; kill the process if this task is
        cancelled."""
        code = -int(signal.SIGKILL)
        try:
            await self._read()
            code = await self._exit_code()
            await asyncio.wait([self._logging], timeout=_LAST_OUTPUT_SECONDS)
        finally:
            if self._process.returncode is None:
                self.kill("the program ended")
                # Closes the pipes of the process while the event loop still runs; the loop ends after this
                # task.
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_LAST_OUTPUT_SECONDS):
                        await self._process.wait()
            self._finish(code)

    async def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        try:
            while (frame := await read_async(stream)) is not None:
                self._dispatch(frame)
        except (ProtocolError, KeyError, TypeError, ConnectionError) as error:
            self.kill(
                str(error) if isinstance(error, ProtocolError) else "the process sent an invalid message"
            )

    async def _exit_code(self) -> int:
        """Return the exit code. A process that closed its pipe but does not exit is killed."""
        try:
            async with asyncio.timeout(WORKER_STOP_SECONDS):
                return await self._process.wait()
        except TimeoutError:
            self.kill("the process closed its pipe")
            return await self._process.wait()

    def _dispatch(self, frame: Frame) -> None:
        header = frame.header
        self._peak = header.get("peak", self._peak)
        self.computing = header.get("computing", self.computing)
        if "ready" in header:
            self.hello = header
            self._answered = asyncio.get_running_loop().time()
            if not self.ready.done():
                self.ready.set_result(None)
        elif "unfit" in header:
            self._reason, self._permanent = str(header["unfit"]), True
        else:
            self._resolve(frame)

    def _resolve(self, frame: Frame) -> None:
        pending = self._pending.pop(frame.header["id"], None)
        if pending is None:
            return
        self._touch(pending.request.queue)
        if not self._pending:
            self._busy.clear()
            self._answered = asyncio.get_running_loop().time()
        if pending.answer.done():
            return
        if "error" in frame.header:
            pending.fail(error_of(frame.header))
        else:
            pending.answer.set_result(frame)

    async def _watch(self) -> None:
        """Kill the process if it hangs or takes too much memory. Sleeps while no requests are pending."""
        while True:
            await self._busy.wait()
            await asyncio.sleep(WORKER_WATCH_SECONDS)  # most requests have been answered by then
            while self._pending:
                await self._watch_once()

    async def _watch_once(self) -> None:
        before = starved_seconds(self.pid)
        await asyncio.sleep(WORKER_WATCH_SECONDS)
        starving = max(0.0, starved_seconds(self.pid) - before)
        for pending in self._current():
            queue = pending.request.queue
            # A starved daemon, or a machine that slept, adds at most one interval.
            passed = self._quiet[queue][0] + WORKER_WATCH_SECONDS
            starved = self._quiet[queue][1] + starving
            self._quiet[queue] = passed, starved
            if max(passed - starved, STARVED_SHARE * passed) > pending.request.seconds:
                self.kill(f"the process hung while {pending.request.doing}")
        if self.memory_bytes() > limits.WORKER_MEMORY_BYTES:
            self.kill(f"the process used more than {limits.WORKER_MEMORY_BYTES // limits.MIB} MiB of memory")

    async def _keep_log(self) -> None:
        """Write the child's output to a log file, and keep the end of the output in memory."""
        stream = self._process.stderr
        assert stream is not None
        path, size = self._log or Path(os.devnull), limits.LOG_BYTES
        with contextlib.closing(_PrivateLog(path, maxBytes=size, backupCount=1, delay=True)) as handler:
            while data := await stream.read(4 * limits.KIB):
                self._tail = (self._tail + data)[-_TAIL_BYTES:]
                handler.handle(logging.makeLogRecord({"msg": data.decode("utf-8", "backslashreplace")}))

    def _finish(self, code: int) -> None:
        unready = not self.ready.done()
        if unready and code == -signal.SIGILL and self._reason is None:
            self._reason, self._permanent = _NO_INSTRUCTIONS, True
        exit = ChildExit(
            self._reason or self._cause(code),
            list(self._pending.values()),
            self._current(),
            permanent=self._permanent,
            outside=self._reason is None and is_from_outside(code),
            unready=unready,
        )
        self._pending.clear()
        self._watching.cancel()
        self._logging.cancel()
        if self._process.stdin is not None:
            self._process.stdin.close()
        if not self.ready.done():
            self.ready.cancel()
        self.exited.set_result(exit)
        self._on_exit(exit)

    def _cause(self, code: int) -> str:
        if code < 0:
            return f"the process was killed by signal {-code}"
        lines = self._tail.decode("utf-8", "replace").split("\n")
        last = next((" ".join(line.split()) for line in reversed(lines) if line.strip()), "")
        return f"the process ended with code {code}" + (f": {last[:200]}" if last and code else "")


def environment(base: Mapping[str, str]) -> dict[str, str]:
    """Return the child's environment: ``base`` with variables that turn off network access and telemetry and
    limit the number of threads."""
    threads = str(min(WORKER_THREADS, processor_count()))
    return {**base, **_OFFLINE, "OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}


class _PrivateLog(logging.handlers.RotatingFileHandler):
    """A rotating log file, readable only by the user. It writes text unchanged and ignores errors."""

    terminator = ""

    def _open(self) -> TextIOWrapper:
        os.close(os.open(self.baseFilename, os.O_CREAT | os.O_WRONLY, 0o600))
        return super()._open()

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name of the base class
        pass
