"""Bounds of a server's answer, for any HTTP library: bytes, seconds, and no redirects.

The classes of LlamaIndex use different HTTP clients. Some read without bound, and some follow a redirect to
any host. All receive through Python's sockets, which therefore count within a call.
"""

import re
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any

_REDIRECT = re.compile(rb"HTTP/1\.[01] 30[12378]")
_STATUS_BYTES = 12


class AnswerRefused(Exception):
    """An answer that is not read to its end."""


class _Answer:
    """The answer to one call. Once it is refused, nothing more of it is read."""

    def __init__(self, most_bytes: int, seconds: float) -> None:
        self.refusal: AnswerRefused | None = None
        self._most = self._left = most_bytes
        self._until = time.monotonic() + seconds
        self._status = b""

    def sent(self) -> None:
        self._status = b""

    def received(self, data: Any) -> None:
        """Count what was received. Raises AnswerRefused."""
        self._left -= len(data)
        self._status += bytes(data[: _STATUS_BYTES - len(self._status)])
        if self.refusal is None and (reason := self._reason()):
            self.refusal = AnswerRefused(reason)
        if self.refusal is not None:
            raise self.refusal

    def _reason(self) -> str | None:
        if _REDIRECT.match(self._status):
            return "it redirects to another address, which is not followed; set the address that answers"
        if self._left < 0:
            return f"its answer has more than {self._most:,} bytes; check that it embeds or reranks"
        return "it took too long" if time.monotonic() > self._until else None


_CURRENT: ContextVar[_Answer | None] = ContextVar("answer", default=None)


@contextmanager
def bounded_answer(most_bytes: int, seconds: float) -> Iterator[None]:
    """Bound what is received in this context. Raises AnswerRefused, even if a library caught it."""
    answer = _Answer(most_bytes, seconds)
    before = _CURRENT.set(answer)
    try:
        yield
    finally:
        _CURRENT.reset(before)
        if answer.refusal is not None:
            raise answer.refusal from None


def _count_received(kind: type, name: str) -> None:
    """Wrap a receiving method of a socket class, which returns or fills a buffer, to count the bytes."""
    receive: Callable[..., Any] = getattr(kind, name)

    @wraps(receive)
    def counted(self: Any, *args: Any, **options: Any) -> Any:
        received = receive(self, *args, **options)
        if (answer := _CURRENT.get()) is not None:
            if isinstance(received, int):
                buffers = (each for each in (*args, *options.values()) if not isinstance(each, int | None))
                answer.received(memoryview(next(buffers))[:received])
            else:
                answer.received(received)
        return received

    setattr(kind, name, counted)


def _note_sent(kind: type, name: str) -> None:
    """Wrap a method of a socket class to begin a new answer."""
    send: Callable[..., Any] = getattr(kind, name)

    @wraps(send)
    def noted(self: Any, *args: Any, **options: Any) -> Any:
        if (answer := _CURRENT.get()) is not None:
            answer.sent()
        return send(self, *args, **options)

    setattr(kind, name, noted)


for _kind, _name in ((socket.socket, "recv"), (socket.socket, "recv_into"), (ssl.SSLSocket, "read")):
    _count_received(_kind, _name)
for _kind in (socket.socket, ssl.SSLSocket):
    for _name in ("send", "sendall"):
        _note_sent(_kind, _name)
