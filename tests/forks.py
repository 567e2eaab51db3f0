"""Run processes of vaultseek as forks of a process that has already imported it. This saves most of their
time.

Each has its own arguments, environment, folder and files, is a child of the process that started it, and ends
like any Python program. ``scripts/test --all`` starts every server as a user does.
"""

import atexit
import ctypes
import fcntl
import gc
import importlib
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TextIO

LENGTH = 4
NAME = 1000
"""Maximum length of a fork's name in the list of processes."""
FILES = 16
"""Maximum number of files that a process is given."""
LOCALE = ("LC_ALL", "LC_CTYPE", "LANG")
"""Variables of the locale; the first one that is set counts."""
SUBREAPER = 36
"""Number of the option of ``prctl`` by which orphans become children of their next ancestor with it."""
ALIKE = ("PYTHONUNBUFFERED", "PYTHONIOENCODING")
"""Variables that a fork obeys, or that change nothing."""
COMMAND = "vaultseek"
WORKER = "vaultseek.semantic.worker.main"
READER = "vaultseek.core.indexing.reader_process"
IMPORTED = (
    "click",
    "vaultseek.client",
    "vaultseek.doors.cli.commands",
    "vaultseek.doors.cli.main",
    "vaultseek.doors.cli.search_call",
)
"""What commands import."""
SERVED = {
    "serve": ("vaultseek.daemon.main",),
    "lsp": ("vaultseek.doors.lsp.server",),
    "mcp": ("vaultseek.doors.mcp.server",),
    "ui": ("vaultseek.doors.ui.application",),
    WORKER: ("vaultseek.semantic.worker.handlers",),
    READER: (READER,),
}
"""What servers import, by their command or module."""
USUAL = subprocess.Popen


class Request(NamedTuple):
    """A process to start. ``targets`` are the numbers of its files. If ``waits`` is true, the sender gets its
    exit code; otherwise, the sender becomes its parent."""

    module: str
    arguments: list[str]
    cwd: str
    environment: dict[str, str]
    targets: list[int]
    session: bool
    waits: bool


class Forks:
    """A process that forks for each request."""

    def __init__(self, requests: socket.socket, read_by_python: Mapping[str, str]) -> None:
        self.requests = requests
        self._turn = threading.Lock()
        self._read_by_python = read_by_python

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
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            with tempfile.TemporaryFile("w+") as given:
                given.write(input or "")
                given.seek(0)
                files = [0 if input is None else given.fileno(), out.fileno(), err.fileno()]
                request = Request(COMMAND, arguments, str(cwd), dict(environment), [0, 1, 2], False, True)
                with self._turn:
                    reply = self._send(request, files)
            with reply:
                code = ended(reply, arguments, timeout)
            for stream in (out, err):
                stream.seek(0)
            return subprocess.CompletedProcess(arguments, code, out.read(), err.read())

    def start(self, request: Request, files: Sequence[int]) -> int:
        """Start a child of this process and return its process id."""
        with self._turn, adopting(), self._send(request, files) as reply:
            pid = int.from_bytes(received(reply, LENGTH), "big")
            received(reply, 1)  # until it is adopted
            return pid

    def _send(self, request: Request, files: Sequence[int]) -> socket.socket:
        reply, theirs = socket.socketpair()
        data = json.dumps(request).encode()
        with theirs:
            length = len(data).to_bytes(LENGTH, "big")
            socket.send_fds(self.requests, [length], [theirs.fileno(), *files])
            self.requests.sendall(data)
        return reply


@cache
def forks() -> Forks:
    """The process that forks for the tests of this process."""
    requests, theirs = socket.socketpair()
    # The names of the forks are written over the last argument.
    servers = "servers" if subprocess.Popen is Forked else "commands"
    command = [sys.executable, str(Path(__file__)), str(theirs.fileno()), servers, " " * NAME]
    with theirs:
        process = USUAL(command, pass_fds=[theirs.fileno()])

    def end() -> None:
        requests.close()
        process.wait()

    atexit.register(end)
    return Forks(requests, read_by_python(os.environ))


def read_by_python(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what Python reads in its environment only when it starts, except variables that change
    nothing here."""
    names = (name for name in environment if name.startswith("PYTHON") and name not in ALIKE)
    locale = next((environment[name] for name in LOCALE if environment.get(name)), "C")
    encoding = "utf-8" if locale in ("C", "POSIX") else locale.partition(".")[2]
    encoding = environment.get("PYTHONIOENCODING", encoding).lower().replace("-", "")
    return {"encoding": encoding} | {name: environment[name] for name in names}


@contextmanager
def adopting() -> Iterator[None]:
    """While this context lasts, become the parent of grandchildren whose own parents end."""
    control = ctypes.CDLL(None).prctl
    control(SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        control(SUBREAPER, 0, 0, 0, 0)


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


class Forked(USUAL):  # type: ignore[misc, valid-type]
    """`subprocess.Popen`, which forks instead of starting Python where that makes no difference."""

    def _execute_child(self, args: Any, executable: Any, preexec_fn: Any, *more: Any) -> None:
        close_fds, pass_fds, cwd, env, _, _, shell, *pipes = more
        given = (pipes[0], pipes[3], pipes[5])
        files = [number if pipe == -1 else pipe for number, pipe in enumerate(given)]
        start = None
        if close_fds and not (executable or preexec_fn or shell):
            request = requested(args, cwd, env, pass_fds, pipes[6:])
            start = request and starter(request)
        if start is None:
            super()._execute_child(args, executable, preexec_fn, *more)
            return
        self.pid = start(request, [*files, *pass_fds])
        self._child_created = True
        self._close_pipe_fds(*pipes[:6])


def requested(args: Any, cwd: Any, env: Any, pass_fds: Sequence[int], rest: list[Any]) -> Request | None:
    """Return the process that this call of Popen starts, if it may be a fork."""
    restore_signals, *owner, session, group = rest
    words = [os.fspath(word) for word in args] if isinstance(args, list | tuple) else []
    if not restore_signals or owner != [None, None, None, -1] or group != -1 or words[:1] != [sys.executable]:
        return None
    words = words[2:] if words[1:2] == ["-P"] else words[1:]
    if len(words) < 2 or words[0] != "-m":
        return None
    _, module, *arguments = words
    kind = kind_of(module, arguments)
    with suppress(OSError):
        folder = Path.cwd() if cwd is None else Path(cwd)
        if kind and folder.is_dir():
            environment = dict(os.environ if env is None else env)
            return Request(
                module, arguments, str(folder), environment, [0, 1, 2, *pass_fds], bool(session), False
            )
    return None


def kind_of(module: str, arguments: Sequence[str]) -> str:
    """Return the kind of a server, or that it is another command, or nothing if it is another program."""
    if module == COMMAND:
        return next((word for word in arguments if word in SERVED), COMMAND)
    return module if module in SERVED else ""


nursery: Forks | None = None
"""What forks for a daemon: a fork of it from before it had threads."""
is_fork = False


def starter(request: Request) -> Callable[[Request, Sequence[int]], int] | None:
    """Return what starts a process as a fork, if anything can."""
    owner = nursery if is_fork else forks()
    if owner is not None:
        return owner.start if owner.can_run(request.environment) else None
    # A process with threads must not fork: another thread may hold a lock.
    is_daemon = request.arguments[-1:] == ["serve"] and threading.active_count() == 1
    return fork_directly if is_daemon else None


def fork_directly(request: Request, files: Sequence[int]) -> int:
    """Start a daemon as a fork of this command."""
    child = os.fork()
    if child == 0:
        # The files of the command's objects are closed, so these objects must not be collected.
        gc.freeze()
        become(request, files)
    return child


def become(request: Request, files: Sequence[int]) -> None:
    """Run a process's program in this one, and end it."""
    global nursery, is_fork
    gc.freeze()  # the objects of files that are closed now are never collected
    place(files, request.targets)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        setattr(sys, name, opened(number, getattr(sys, name)))
    if request.session:
        os.setsid()
    os.chdir(request.cwd)
    os.environ.clear()
    os.environ.update(request.environment)
    time.tzset()
    rename([sys.executable, "-m", request.module, *request.arguments])
    is_fork = True
    nursery = born() if kind_of(request.module, request.arguments) == "serve" else None
    sys.argv = [request.module, *request.arguments]
    importlib.reload(importlib.import_module("vaultseek.base.failpoints"))  # which reads the environment
    code: Any = 0
    try:
        runpy.run_module(request.module, run_name="__main__", alter_sys=True)
    except SystemExit as error:
        code = error.code
    except BaseException:
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
        code = 1
    finish(code)


def opened(number: int, like: TextIO) -> TextIO:
    """Open a standard stream as Python does when it starts."""
    how = {"encoding": like.encoding, "errors": like.errors, "closefd": False}
    return open(number, "w" if number else "r", buffering=1 if number == 2 else -1, **how)  # type: ignore[call-overload]


def finish(code: Any) -> None:
    """End this process as Python does, without the callers of the fork."""
    if code is not None and not isinstance(code, int):
        sys.stderr.write(f"{code}\n")
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit((code or 0) & 0xFF)


def born() -> Forks:
    """Fork a process that forks for this one until this one ends."""
    requests, theirs = socket.socketpair()
    if os.fork() == 0:
        requests.close()
        serve(theirs)
    theirs.close()
    return Forks(requests, read_by_python(os.environ))


def place(files: Sequence[int], targets: Sequence[int]) -> None:
    """Give these files these numbers, and close all others."""
    copies = [fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, max(targets) + 1) for file in files]
    for copy, target in zip(copies, targets, strict=True):
        os.dup2(copy, target)
    first = 0
    for last in [*sorted(targets), os.sysconf("SC_OPEN_MAX")]:
        if first < last:  # or all are closed
            os.closerange(first, last)
        first = last + 1


def rename(words: Sequence[str]) -> None:
    """Show this command line in the list of processes, where that is possible."""
    if sys.platform != "linux":
        return
    fields = Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    start, end = map(int, fields[45:47])
    data = os.fsencode("\0".join(words))[: end - start - 1].ljust(end - start, b"\0")
    ctypes.memmove(start, data, end - start)


def serve(requests: socket.socket) -> None:
    """Fork for each request until its sender ends."""
    while True:
        length, descriptors, _, _ = socket.recv_fds(requests, LENGTH, FILES)
        if not length:
            os._exit(0)
        request = Request(*json.loads(received(requests, int.from_bytes(length, "big"))))
        for module in SERVED.get(kind_of(request.module, request.arguments), ()):
            with suppress(ImportError):
                importlib.import_module(module)
        end, *files = descriptors
        reply = socket.socket(fileno=end)
        between = os.fork()
        if between == 0:
            fork_between(request, files, reply)
        for file in files:
            os.close(file)
        if not request.waits:
            os.waitpid(between, 0)  # whose child has another parent then
        reply.close()
        reap()


def fork_between(request: Request, files: Sequence[int], reply: socket.socket) -> None:
    """Fork a process and end: at its end, if the sender waits for its exit code, or at once."""
    here = os.getpid()
    child = os.fork()
    if child == 0:
        while not request.waits and os.getppid() == here:
            time.sleep(0.0002)
        become(request, files)
    reply.sendall(child.to_bytes(LENGTH, "big"))
    if request.waits:
        _, status = os.waitpid(child, 0)
        reply.sendall(os.waitstatus_to_exitcode(status).to_bytes(LENGTH, "big", signed=True))
    os._exit(0)


def reap() -> None:
    """Forget the forks that have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def fork_servers() -> None:
    """Let processes of vaultseek that are started from now on be forks, where the system can."""
    if sys.platform == "linux":
        subprocess.Popen = Forked  # type: ignore[misc]


if __name__ == "__main__":
    del sys.path[0]  # the folder of the tests
    for name in (*IMPORTED, *SERVED["serve"], *SERVED[WORKER]):
        importlib.import_module(name)
    if sys.argv[2] == "servers":
        fork_servers()
    serve(socket.socket(fileno=int(sys.argv[1])))
