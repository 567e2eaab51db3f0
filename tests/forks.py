"""Commands as forks of a process that has imported them already, which saves most of the time of a short one.

Each has its own arguments, environment, folder and standard streams, and ends like any Python program.
"""

import atexit
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

LENGTH = 4
READ_BY_PYTHON = ("PYTHON", "LC_", "LANG")
"""Beginnings of the names of variables that Python reads only when it starts."""


class Forks:
    """A process that forks for each command."""

    def __init__(self) -> None:
        self._requests, theirs = socket.socketpair()
        self._turn = threading.Lock()
        self._read_by_python = read_by_python(os.environ)
        command = [sys.executable, str(Path(__file__)), str(theirs.fileno())]
        with theirs:
            self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        atexit.register(self.close)

    def can_run(self, environment: Mapping[str, str]) -> bool:
        """True if Python would start in this environment as it did for the process that forks."""
        return read_by_python(environment) == self._read_by_python

    def run(
        self,
        arguments: list[str],
        cwd: Path,
        environment: Mapping[str, str],
        input: str | None,
        timeout: float,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command and wait for its end, like `subprocess.run`."""
        reply, theirs = socket.socketpair()
        with reply, theirs, tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            with tempfile.TemporaryFile("w+") as given:
                given.write(input or "")
                given.seek(0)
                streams = [0 if input is None else given.fileno(), out.fileno(), err.fileno()]
                request = json.dumps([arguments, str(cwd), dict(environment)]).encode()
                with self._turn:
                    length = len(request).to_bytes(LENGTH, "big")
                    socket.send_fds(self._requests, [length], [*streams, theirs.fileno()])
                    self._requests.sendall(request)
            theirs.close()
            code = ended(reply, arguments, timeout)
            for stream in (out, err):
                stream.seek(0)
            return subprocess.CompletedProcess(arguments, code, out.read(), err.read())

    def close(self) -> None:
        """End the process."""
        self._requests.close()
        self._process.wait()


@cache
def forks() -> Forks:
    """The process that forks for the tests of this process."""
    return Forks()


def read_by_python(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that Python reads only when it starts."""
    return {name: value for name, value in environment.items() if name.startswith(READ_BY_PYTHON)}


def ended(reply: socket.socket, arguments: list[str], timeout: float) -> int:
    """Return the exit code of a command, which is killed after ``timeout`` seconds."""
    pid = int.from_bytes(received(reply, LENGTH), "big")
    reply.settimeout(timeout)
    try:
        return int.from_bytes(received(reply, LENGTH), "big", signed=True)
    except TimeoutError:
        os.kill(pid, signal.SIGKILL)
        raise subprocess.TimeoutExpired(arguments, timeout) from None


def received(end: socket.socket, size: int) -> bytes:
    """Return this many bytes, or fewer if the other end is closed."""
    data = b""
    while len(data) < size and (more := end.recv(size - len(data))):
        data += more
    return data


def become(arguments: list[str], cwd: str, environment: dict[str, str], streams: list[int]) -> None:
    """Run a command in this process, and end it."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sys.argv = ["vaultseek", *arguments]
    runpy.run_module("vaultseek", run_name="__main__", alter_sys=True)


def reap() -> None:
    """Forget the forks that have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def serve(requests: socket.socket) -> None:
    """Fork for each request until the tests end; return in the fork, with its request."""
    while True:
        length, descriptors, _, _ = socket.recv_fds(requests, LENGTH, 4)
        if not length:
            return
        request = received(requests, int.from_bytes(length, "big"))
        if os.fork() == 0:
            requests.close()
            *streams, answer = descriptors
            child = os.fork()
            if child == 0:
                os.close(answer)
                become(*json.loads(request), streams)
                return
            with socket.socket(fileno=answer) as reply:
                reply.sendall(child.to_bytes(LENGTH, "big"))
                _, status = os.waitpid(child, 0)
                reply.sendall(os.waitstatus_to_exitcode(status).to_bytes(LENGTH, "big", signed=True))
            os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)
        reap()


if __name__ == "__main__":
    import click  # noqa: F401

    import vaultseek.client
    import vaultseek.doors.cli.commands
    import vaultseek.doors.cli.main
    import vaultseek.doors.cli.search_call  # noqa: F401

    serve(socket.socket(fileno=int(sys.argv[1])))
