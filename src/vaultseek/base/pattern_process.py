"""Processes that match long patterns and long texts, and the functions that call them.

A process exits when it has been idle for a while. A process that takes too long is killed and replaced.
"""

import contextlib
import queue
import select
import signal
import subprocess
import sys
import time
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache

from vaultseek.base.child_process import (
    ChildEnded,
    ChildProcess,
    apply_child_limits,
    bare_environment,
    processor_count,
    read,
    reserve_pipes,
    write,
)
from vaultseek.base.limits import PATTERN_COMPILE_SECONDS, PATTERN_IDLE_SECONDS, PATTERN_MEMORY_BYTES
from vaultseek.base.model import JSON
from vaultseek.base.patterns import CACHED, BadPattern, PatternTooLarge, Spans, regex_of, spans_in

COMMAND = (sys.executable, "-P", "-m", "vaultseek.base.pattern_process")
NICENESS = 5
WAIT_SECONDS = 10.0
"""Maximum number of seconds to wait for a free process, and for its answer. Limits within the process are in
processor time."""
OVERRUN = 2
"""Multiple of the time limit at which a process ends itself; ``regex`` checks the clock too rarely to stop in
time."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer of a pattern process: the spans of the matches, or None if the process ran out of time or
    memory.

    ``seconds`` is the processor time used; ``names`` maps the names of groups to their numbers.
    """

    seconds: float
    spans: Sequence[Spans] | None = None
    names: Mapping[str, int] = field(default_factory=dict)


def matches(pattern: str, flags: str, text: str, seconds: float, at_most: int | None) -> Answer:
    """Match ``text`` in a separate process. Raises BadPattern. Running out of time is reported in the
    answer."""
    job = {"pattern": pattern, "flags": flags, "seconds": seconds, "at_most": at_most}
    data = text.encode("utf-8", "surrogatepass")
    try:
        process = _idle_processes().get(timeout=WAIT_SECONDS)
    except queue.Empty:
        return Answer(0.0)
    try:
        answer, spans = process.ask(job, data)
    except TimeoutError:
        return Answer(seconds * OVERRUN)
    finally:
        _idle_processes().put(process)
    if "error" in answer:
        raise (PatternTooLarge if answer["is_too_large"] else BadPattern)(answer["error"])
    if "names" not in answer:
        return Answer(answer["seconds"])
    return Answer(answer["seconds"], _unpacked(spans, answer["groups"]), answer["names"])


@cache
def _idle_processes() -> "queue.Queue[_PatternProcess]":
    # The most recently used process is taken first, so that the other processes become idle and exit.
    processes: queue.Queue[_PatternProcess] = queue.LifoQueue()
    for _ in range(processor_count()):
        processes.put(_PatternProcess())
    return processes


class _PatternProcess:
    """A process that matches one text after another, used by one thread at a time."""

    def __init__(self) -> None:
        self._process: ChildProcess | None = None

    def ask(self, job: JSON, data: bytes) -> tuple[JSON, bytes]:
        """Return the answer to a job. Raises TimeoutError if the answer is late, or if no process can be
        started."""
        end = time.monotonic() + WAIT_SECONDS
        for _ in range(2):
            with contextlib.suppress(ChildEnded, OSError):
                process = self._running()
                process.send(job, data)
                return process.receive(WAIT_SECONDS)
            # The process had just ended: it was idle, or another program killed it.
            if self._end() == -signal.SIGPROF or time.monotonic() > end:
                break
        raise TimeoutError

    def _running(self) -> ChildProcess:
        if self._process is not None and self._process.has_ended:
            self._end()
        if self._process is None:
            self._process = ChildProcess(COMMAND, stderr=subprocess.DEVNULL, cwd="/", env=bare_environment())
        return self._process

    def _end(self) -> int:
        process, self._process = self._process, None
        return 0 if process is None else process.end()


def main() -> None:
    """Serve jobs from standard input until it is closed, or until no job has arrived for a while."""
    incoming, outgoing = reserve_pipes()
    apply_child_limits(NICENESS, PATTERN_MEMORY_BYTES)
    with contextlib.suppress(BrokenPipeError):
        while select.select([incoming], [], [], PATTERN_IDLE_SECONDS)[0]:
            job = read(incoming)
            if job is None:
                return
            write(outgoing, *_answer(*job))
            signal.setitimer(signal.ITIMER_PROF, 0)


def _answer(job: JSON, data: bytes) -> tuple[JSON, bytes]:
    text, began = data.decode("utf-8", "surrogatepass"), time.process_time()
    try:
        signal.setitimer(signal.ITIMER_PROF, PATTERN_COMPILE_SECONDS)
        compiled = _compiled(job["pattern"], job["flags"])
        signal.setitimer(signal.ITIMER_PROF, job["seconds"] * OVERRUN)
        matches = list(spans_in(text, compiled, job["seconds"], job["at_most"]))
    except BadPattern as error:
        return {"error": str(error), "is_too_large": isinstance(error, PatternTooLarge)}, b""
    except (TimeoutError, MemoryError):
        return {"seconds": time.process_time() - began}, b""
    seconds = time.process_time() - began
    flat = array("i", (place for spans in matches for span in spans for place in span))
    groups = len(matches[0]) if matches else 1
    return {"seconds": seconds, "names": dict(compiled.groupindex), "groups": groups}, flat.tobytes()


_compiled = lru_cache(maxsize=CACHED)(regex_of)


def _unpacked(data: bytes, groups: int) -> Sequence[Spans]:
    flat = iter(array("i", data))
    spans = list(zip(flat, flat, strict=True))
    return [spans[start : start + groups] for start in range(0, len(spans), groups)]


if __name__ == "__main__":
    main()
