"""One life of the child process, seen from the daemon: spawned, asked, watched, killed, mourned."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vaultseek import errors, limits
from vaultseek.errors import ProtocolError, VaultseekError, WorkerUnavailable
from vaultseek.model import JSON
from vaultseek.worker import pipe
from vaultseek.worker.capped_log import CappedLog
from vaultseek.worker.pipe import Array, Frame

WORKER_STOP_SECONDS = 3.0
WORKER_WATCH_SECONDS = 0.25
WORKER_THREADS = 8

COMMAND = (sys.executable, "-P", "-m", "vaultseek.worker.main")
_LAST_WORDS_SECONDS = 0.5
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
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_VERBOSITY": "error",
    "PYTHONUNBUFFERED": "1",
}
_KINDS = {
    kind.code: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, VaultseekError)
}


@dataclass(frozen=True, slots=True)
class Request:
    """What the child is asked to do. ``seconds`` is how long it may show no sign of life meanwhile."""

    call: str
    lane: str
    seconds: float
    header: JSON
    arrays: Sequence[Array] = ()
    store: str | None = None
    doing: str = ""


@dataclass(eq=False, slots=True)
class Flight:
    """A request under way. ``began`` says that the child has taken it up."""

    id: int
    request: Request
    answer: asyncio.Future[Frame]
    began: bool = False

    def fail(self, error: Exception) -> None:
        """Answer with ``error``, if there is no answer yet."""
        if not self.answer.done():
            self.answer.set_exception(error)
            # Nobody may be waiting any more: that is no reason to complain of an exception never retrieved.
            self.answer.exception()


@dataclass(slots=True)
class Death:
    """How a child ended, and what it was working on."""

    reason: str
    flights: list[Flight] = field(default_factory=list)
    permanent: bool = False


class Child:
    """A running child process. `ready` once the model is loaded; `ended` when it is gone, whyever.

    A lane that has work and shows no sign of life for as long as its work may take means that native code
    hangs: the process is killed. So it is when it takes more memory than it may.
    """

    def __init__(
        self, process: asyncio.subprocess.Process, log: Path | None, on_death: Callable[[Death], None]
    ) -> None:
        loop = asyncio.get_running_loop()
        self.pid = process.pid
        self.hello: JSON = {}
        self.ready: asyncio.Future[None] = loop.create_future()
        self.ended: asyncio.Future[Death] = loop.create_future()
        self._process = process
        self._flights: dict[int, Flight] = {}
        self._signs: dict[str, float] = {}
        self._number = 0
        self._reason: str | None = None
        self._permanent = False
        self._peak = 0
        self._busy = asyncio.Event()
        self._tail = bytearray()
        self._log = log
        self._on_death = on_death
        self._logging = asyncio.create_task(self._keep_log())
        self._watching = asyncio.create_task(self._watch())
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def spawn(
        cls,
        hello: JSON,
        on_death: Callable[[Death], None],
        *,
        command: Sequence[str] = COMMAND,
        log: Path | None = None,
    ) -> Child:
        """Start a process and say hello to it. Raises `WorkerUnavailable` if it cannot be started.

        ``on_death`` is called once, when the process is gone, and has to answer the flights it left behind.
        """
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=environment(os.environ),
                limit=limits.MIB,
            )
        except OSError as error:
            raise WorkerUnavailable(f"it cannot be started: {error.strerror}") from None
        child = cls(process, log, on_death)
        child._write(pipe.pack({**hello, "parent": os.getpid()}))
        return child

    async def ask(self, request: Request, seconds: float | None) -> Frame:
        """The child's answer. Raises what it did, `WorkerUnavailable` at its death or after ``seconds``."""
        flight = self._send(request)
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.shield(flight.answer)
        except TimeoutError:
            self._take_back(flight)
            raise WorkerUnavailable("the semantic worker did not answer in time", "deadline") from None
        except asyncio.CancelledError:
            self._take_back(flight)
            raise

    def doing(self) -> str:
        """What the child is working on, in words; empty when it is idle."""
        return ", ".join(flight.request.doing for flight in self._flights.values() if flight.began)

    def memory_bytes(self) -> int:
        """Resident memory of the child, in bytes; its peak where the system does not tell the present."""
        try:
            pages = int(Path(f"/proc/{self.pid}/statm").read_bytes().split()[1])
        except (OSError, ValueError, IndexError):
            return self._peak
        return pages * os.sysconf("SC_PAGE_SIZE")

    def kill(self, reason: str) -> None:
        """End the process at once."""
        self._reason = self._reason or reason
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def stop(self) -> None:
        """Let the child finish what it writes and go; kill it if it does not within a few seconds."""
        self._reason = self._reason or "it was stopped"
        if self._process.stdin is not None:
            self._process.stdin.close()
        done, _ = await asyncio.wait([self.ended], timeout=WORKER_STOP_SECONDS)
        if not done:
            self.kill("it did not stop")
            await self.ended

    def _send(self, request: Request) -> Flight:
        if self.ended.done():
            raise WorkerUnavailable("the semantic worker has just ended; try again")
        self._number += 1
        header = {**request.header, "id": self._number, "call": request.call, "lane": request.lane}
        data = pipe.pack(header, request.arrays)
        flight = Flight(self._number, request, asyncio.get_running_loop().create_future())
        if not any(other.request.lane == request.lane for other in self._flights.values()):
            self._sign(request.lane)
        self._flights[flight.id] = flight
        self._busy.set()
        self._write(data)
        return flight

    def _take_back(self, flight: Flight) -> None:
        if not flight.began and not self.ended.done():
            self._write(pipe.pack({"cancel": flight.id}))

    def _write(self, data: bytes) -> None:
        stdin = self._process.stdin
        if stdin is not None and not stdin.is_closing():
            stdin.write(data)

    def _sign(self, lane: str) -> None:
        self._signs[lane] = asyncio.get_running_loop().time()

    async def _read(self) -> None:
        """Take in frames until the pipe ends, then see how the process ended."""
        stream = self._process.stdout
        assert stream is not None
        try:
            while (frame := await pipe.read_async(stream)) is not None:
                self._take(frame)
        except (ProtocolError, KeyError, TypeError, ConnectionError) as error:
            self.kill(str(error) if isinstance(error, ProtocolError) else "it sent a message without sense")
        code = await self._end_of_process()
        await asyncio.wait([self._logging], timeout=_LAST_WORDS_SECONDS)
        self._mourn(code)

    async def _end_of_process(self) -> int:
        """The exit code. A process that closed its pipe but stays is killed."""
        try:
            async with asyncio.timeout(WORKER_STOP_SECONDS):
                return await self._process.wait()
        except TimeoutError:
            self.kill("it closed its pipe")
            return await self._process.wait()

    def _take(self, frame: Frame) -> None:
        header = frame.header
        self._peak = header.get("peak", self._peak)
        if "began" in header:
            if (flight := self._flights.get(header["began"])) is not None:
                flight.began = True
                self._sign(flight.request.lane)
        elif "ready" in header:
            self.hello = header
            if not self.ready.done():
                self.ready.set_result(None)
        elif "unfit" in header:
            self._reason, self._permanent = str(header["unfit"]), True
        else:
            self._land(frame)

    def _land(self, frame: Frame) -> None:
        flight = self._flights.pop(frame.header["id"], None)
        if flight is None:
            return
        self._sign(flight.request.lane)
        if not self._flights:
            self._busy.clear()
        if flight.answer.done():
            return
        if "error" in frame.header:
            kind = _KINDS.get(frame.header["error"], WorkerUnavailable)
            error = kind(frame.header.get("message", "the semantic worker failed"))
            error.cause = frame.header.get("cause")
            flight.fail(error)
        else:
            flight.answer.set_result(frame)

    async def _watch(self) -> None:
        """Kill the process when it hangs or takes too much memory. Asleep while nothing is under way."""
        while True:
            await self._busy.wait()
            await asyncio.sleep(WORKER_WATCH_SECONDS)
            now = asyncio.get_running_loop().time()
            for lane, flight in self._heads().items():
                if now - self._signs[lane] > flight.request.seconds:
                    self.kill(f"it hung at: {flight.request.doing}")
            if self.memory_bytes() > limits.WORKER_MEMORY_BYTES:
                self.kill(f"it took more than {limits.WORKER_MEMORY_BYTES // limits.MIB} MiB of memory")

    def _heads(self) -> dict[str, Flight]:
        """The oldest request of each lane that has one."""
        heads: dict[str, Flight] = {}
        for flight in self._flights.values():
            heads.setdefault(flight.request.lane, flight)
        return heads

    async def _keep_log(self) -> None:
        """Put what the child prints into a file of bounded size, and remember the last of it."""
        stream = self._process.stderr
        assert stream is not None
        with contextlib.closing(CappedLog(self._log)) as log:
            while data := await stream.read(4 * limits.KIB):
                self._tail = (self._tail + data)[-_TAIL_BYTES:]
                log.write(data)

    def _mourn(self, code: int) -> None:
        death = Death(self._reason or self._cause(code), list(self._flights.values()), self._permanent)
        self._flights.clear()
        self._watching.cancel()
        self._logging.cancel()
        if self._process.stdin is not None:
            self._process.stdin.close()
        if not self.ready.done():
            self.ready.cancel()
        self.ended.set_result(death)
        self._on_death(death)

    def _cause(self, code: int) -> str:
        if code < 0:
            return f"it was killed by signal {-code}"
        lines = self._tail.decode("utf-8", "replace").split("\n")
        last = next((" ".join(line.split()) for line in reversed(lines) if line.strip()), "")
        return f"it ended with code {code}" + (f": {last[:200]}" if last and code else "")


def environment(base: Mapping[str, str]) -> dict[str, str]:
    """The child's environment: ``base``, offline, without telemetry, with a sane number of threads."""
    threads = str(min(WORKER_THREADS, _processors()))
    return {**base, **_OFFLINE, "OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
