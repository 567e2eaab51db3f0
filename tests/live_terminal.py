"""A program in a terminal of its own. Tests send it keys and read its screen."""

import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from fcntl import ioctl
from pathlib import Path
from types import TracebackType
from typing import Self

import pyte

KEYS = {
    "Enter": "\r",
    "Esc": "\x1b",
    "Tab": "\t",
    "Up": "\x1b[A",
    "Down": "\x1b[B",
    "PageUp": "\x1b[5~",
    "PageDown": "\x1b[6~",
    "Ctrl-C": "\x03",
    "Ctrl-O": "\x0f",
    "Ctrl-T": "\x14",
    "Ctrl-U": "\x15",
    "Ctrl-Y": "\x19",
}
SECONDS = 60.0
_POLL_SECONDS = 0.05


class LiveTerminal:
    """A process and its screen. ``on_output`` is called after each piece of output."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        columns: int = 100,
        lines: int = 30,
        on_output: Callable[[pyte.Screen], object] = lambda screen: None,
    ) -> None:
        self.screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self.screen)
        self._on_output = on_output
        self.written = b""
        """All output of the program."""
        self._ours, theirs = pty.openpty()
        ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", lines, columns, 0, 0))
        self.process = subprocess.Popen(
            command,
            cwd=cwd,
            env={**environment, "TERM": "xterm-256color"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)

    @property
    def lines(self) -> list[str]:
        """The lines of the screen, without trailing spaces."""
        return [line.rstrip() for line in self.screen.display]

    @property
    def text(self) -> str:
        """The whole screen."""
        return "\n".join(self.lines)

    def type(self, text: str) -> None:
        """Send text, or a key by its name in ``KEYS``."""
        os.write(self._ours, KEYS.get(text, text).encode())

    def read(self, seconds: float = _POLL_SECONDS) -> bool:
        """Read the program's output for ``seconds``. Returns false if the program has ended."""
        ready, _, _ = select.select([self._ours], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self._ours, 65_536)
        except OSError:  # the program has closed the terminal
            return False
        self.written += data
        self._stream.feed(data)
        self._on_output(self.screen)
        return bool(data)

    def until(self, condition: Callable[[Self], object], what: str = "") -> None:
        """Read until the condition holds."""
        deadline = time.monotonic() + SECONDS
        while not condition(self):
            assert self.read(), f"ended before {what}:\n{self.text}"
            assert time.monotonic() < deadline, f"not in time: {what}\n{self.text}"

    def shows(self, text: str) -> None:
        """Read until ``text`` appears on the screen."""
        self.until(lambda terminal: text in terminal.text, f"the screen shows {text!r}")

    def ended(self) -> int:
        """Read to the end and return the exit code."""
        deadline = time.monotonic() + SECONDS
        while self.read() and time.monotonic() < deadline:
            pass
        return self.process.wait(SECONDS)
