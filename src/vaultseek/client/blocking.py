"""A blocking client of the daemon: the command line, tests and other people's scripts use it.

Only the standard library, and little of it: importing this costs a few milliseconds. ::

    with Client() as client:
        for result in client.search("tomato soup")["results"]:
            print(result["path"])
"""

from __future__ import annotations

import json
import time
from collections import deque

from vaultseek.errors import Cancelled, ProtocolError, Unavailable
from vaultseek.limits import (
    ANSWER_BYTES,
    CALL_SECONDS,
    PARTING_SECONDS,
    RECEIVE_BYTES,
    RECONNECT_FIRST_SECONDS,
    RECONNECT_SECONDS,
)
from vaultseek.text import quote
from vaultseek.wire import endpoint, protocol
from vaultseek.wire.frame import FrameReader, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from typing import Any, Self

    from vaultseek.model import JSON

    OnNotification = Callable[[str, JSON], object]

NOTICES_KEPT = 1000
"""Notifications that a client keeps until somebody asks for them."""

_DEFAULT = -1.0
NEVER_REPEATED = ("shutdown",)
"""Repeated after a reconnect, it would end the daemon that was just started."""


class Verbs:
    """The words of the protocol as methods of whoever can ``call``; options are the protocol's own.

    Where ``call`` is a coroutine, these are to be awaited too.
    """

    call: Callable[..., Any]

    def search(self, query: str, **options: Any) -> Any:
        """Notes for ``query``, best first."""
        return self.call("search", {"query": query, **options})

    def status(self, **options: Any) -> Any:
        """How the daemon, its vaults and their indexes are."""
        return self.call("index/status", options)

    def note(self, path: str, **options: Any) -> Any:
        """Text and metadata of the note at ``path``."""
        return self.call("note/get", {"note": path, **options})

    def related(self, path: str, **options: Any) -> Any:
        """Notes that are related to the note at ``path``."""
        return self.call("note/related", {"note": path, **options})

    def backlinks(self, path: str, **options: Any) -> Any:
        """The links of other notes to the note at ``path``."""
        return self.call("links/backlinks", {"note": path, **options})

    def complete(self, kind: str, prefix: str, **options: Any) -> Any:
        """Completions of ``prefix`` among the vault's words of one ``kind``."""
        return self.call("complete", {"kind": kind, "text": prefix, **options})

    def shutdown(self) -> Any:
        """Ask the daemon to stop."""
        return self.call("shutdown")


class Client(Verbs):
    """A connection to the daemon, made at once. One call at a time, one thread.

    When the daemon was restarted between two calls, the next call connects again. ``timeout`` is what a call
    may take in seconds, None for as long as it takes. ``server`` is what the daemon said of itself.
    ``socket_path`` is the daemon's socket, or the address file of its port. With ``validate`` every request
    and answer is checked by the schema of the protocol, for which pydantic is imported.

    Raises Unavailable if no daemon runs, Busy if it has too many clients.
    """

    def __init__(
        self,
        socket_path: Path | None = None,
        timeout: float | None = CALL_SECONDS,
        *,
        name: str = "vaultseek.client.blocking",
        validate: bool = False,
    ) -> None:
        self.server: JSON = {}
        self._validate = validate
        self._path = socket_path or endpoint.default_path()
        self._timeout = timeout
        self._name = name
        self._last_id = 0
        self._notices: deque[tuple[str, JSON]] = deque(maxlen=NOTICES_KEPT)
        self._line: _Line | None = None
        self._connect(_until(timeout))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave. Requests that still run in the daemon are cancelled there."""
        if self._line is not None:
            self._line.close()
            self._line = None

    def call(
        self,
        method: str,
        params: JSON | None = None,
        *,
        timeout: float | None = _DEFAULT,
        on_notification: OnNotification | None = None,
    ) -> Any:
        """The daemon's answer to ``method``.

        ``timeout`` in seconds replaces the client's own; None waits as long as it takes. What the daemon
        tells meanwhile goes to ``on_notification``, else it is kept for ``notifications``.

        Raises the error of ``vaultseek.errors`` that the daemon answered with, Unavailable if it went away,
        and Cancelled if it did not answer in time. When validating, UsageError for a request and
        ProtocolError for an answer that is not as documented.
        """
        until = _until(self._timeout if timeout == _DEFAULT else timeout)
        if not self._validate:
            return self._asked(method, params or {}, until, on_notification or self._keep)
        from vaultseek import messages

        messages.check_request(method, params or {})
        answer = self._asked(method, params or {}, until, on_notification or self._keep)
        messages.check_answer(method, answer)
        return answer

    def notify(self, method: str, params: JSON | None = None) -> None:
        """Tell the daemon something that needs no answer."""
        until = _until(self._timeout)
        frame = encode(protocol.notification(method, params or {}))
        for _ in range(2):
            line = self._ready(until)
            try:
                line.send(frame, until)
            except TimeoutError:
                self.close()
                break
            if not line.broken:
                return
            self.close()
        raise went_away(method)

    def notifications(self, timeout: float | None = None) -> Iterator[tuple[str, JSON]]:
        """What the daemon tells, as (method, params), until ``timeout`` seconds pass without a word.

        Raises Unavailable when the daemon goes away; subscriptions have to be made again then.
        """
        while True:
            while self._notices:
                yield self._notices.popleft()
            until = _until(timeout)
            try:
                message = self._ready(until).receive(until)
            except TimeoutError:
                return
            except ConnectionError:
                self.close()
                raise went_away("notifications") from None
            if "method" in message:
                self._keep(str(message["method"]), message.get("params") or {})

    def _asked(self, method: str, params: JSON, until: float | None, told: OnNotification) -> Any:
        old = self._line
        try:
            return self._exchange(self._ready(until), method, params, until, told)
        except ConnectionError:
            # A line that broke in the middle may only be the old daemon's; once is enough to find out.
            if old is None or method in NEVER_REPEATED:
                raise went_away(method) from None
        try:
            return self._exchange(self._ready(until), method, params, until, told)
        except ConnectionError:
            raise went_away(method) from None

    def _ready(self, until: float | None) -> _Line:
        return self._line or self._reconnect(until)

    def _reconnect(self, until: float | None) -> _Line:
        give_up = time.monotonic() + RECONNECT_SECONDS
        pause = RECONNECT_FIRST_SECONDS
        while True:
            try:
                return self._connect(until)
            except Unavailable:
                if time.monotonic() + pause >= min(give_up, give_up if until is None else until):
                    raise
            time.sleep(pause)
            pause *= 2

    def _connect(self, until: float | None) -> _Line:
        line = self._line = _Line(self._path, until)
        params = {"protocol_version": protocol.VERSION, "client": self._name, **line.shown()}
        try:
            server = self._exchange(line, protocol.INITIALIZE, params, until, self._keep)
            line.check(server)
            self.server = server
        except (ConnectionError, Cancelled):
            self.close()
            raise Unavailable(f"the daemon at {self._path} does not answer; its log may say why") from None
        except BaseException:
            self.close()
            raise
        return line

    def _exchange(
        self, line: _Line, method: str, params: JSON, until: float | None, told: OnNotification
    ) -> Any:
        self._last_id += 1
        frame = encode(protocol.request(self._last_id, method, params))
        try:
            line.send(frame, until)
            return self._answer(line, until, told)
        except TimeoutError:
            self._give_up(line)
            raise Cancelled(f"the daemon did not answer {quote(method)} in time; try again") from None
        except BaseException as error:
            # An interrupt may have cut a frame in two.
            if line.broken or not isinstance(error, Exception):
                self.close()
            raise

    def _answer(self, line: _Line, until: float | None, told: OnNotification) -> Any:
        while True:
            message = line.receive(until)
            id = message.get("id")
            if "method" in message:
                told(str(message["method"]), message.get("params") or {})
            elif id is None and "error" in message:
                self.close()
                raise protocol.raised(message["error"])
            elif id == self._last_id:
                if "error" in message:
                    raise protocol.raised(message["error"])
                return message.get("result")

    def _give_up(self, line: _Line) -> None:
        cancel = encode(protocol.notification(protocol.CANCEL, {"id": self._last_id}))
        try:
            if not line.broken:
                line.send(cancel, _until(PARTING_SECONDS))
        except TimeoutError:
            pass
        if line.broken:
            self.close()

    def _keep(self, method: str, params: JSON) -> None:
        self._notices.append((method, params))


def start_daemon(
    command: Sequence[str], log: Path, deadline: float, *, socket_path: Path | None = None
) -> None:
    """Start the daemon in the background and wait until it answers; see ``vaultseek.client.launch``."""
    from vaultseek.client import launch

    launch.start_daemon(command, log, deadline, socket_path=socket_path)


def read_message(body: bytes) -> JSON:
    """The message in ``body``. Raises ProtocolError if there is none.

    Looser than what the daemon accepts, because an answer repeats what stands in notes.
    """
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict):
        raise ProtocolError("the daemon sent something that is no message; is it another version?")
    return message


def went_away(method: str) -> Unavailable:
    """The error for a connection that ended before ``method`` was answered."""
    return Unavailable(f"the daemon went away before it answered {quote(method)}; try again")


class _Line:
    """A connected socket with frames on it. Every call ends at ``until`` (monotonic) with TimeoutError.

    ConnectionError says that the daemon closed the connection.
    """

    __slots__ = ("_frames", "_secrets", "_socket", "broken")

    def __init__(self, path: Path, until: float | None) -> None:
        self.broken = False
        self._frames = FrameReader(ANSWER_BYTES)
        self._socket, self._secrets = endpoint.reach(path, until)

    def shown(self) -> JSON:
        """What has to go with ``initialize``."""
        return {"token": self._secrets.token} if self._secrets else {}

    def check(self, server: JSON) -> None:
        """Raise Unavailable if the answer to ``initialize`` is not our daemon's."""
        if self._secrets:
            self._secrets.check(server)

    def close(self) -> None:
        self._socket.close()

    def send(self, frame: bytes, until: float | None) -> None:
        self._limit(until)
        try:
            self._socket.sendall(frame)
        except (TimeoutError, BlockingIOError):
            self.broken = True
            raise TimeoutError from None
        except ConnectionError:
            # Why the daemon closed the connection may still wait to be read.
            self.broken = True

    def receive(self, until: float | None) -> JSON:
        while (body := self._body()) is None:
            self._limit(until)
            try:
                data = self._socket.recv(RECEIVE_BYTES)
            except BlockingIOError:
                raise TimeoutError from None
            except ConnectionError:
                data = b""
            if not data:
                self.broken = True
                raise ConnectionResetError("the daemon closed the connection")
            self._frames.feed(data)
        try:
            return read_message(body)
        except ProtocolError:
            self.broken = True
            raise

    def _body(self) -> bytes | None:
        try:
            return self._frames.next()
        except ProtocolError:
            self.broken = True
            raise

    def _limit(self, until: float | None) -> None:
        self._socket.settimeout(None if until is None else max(0.0, until - time.monotonic()))


def _until(seconds: float | None) -> float | None:
    return None if seconds is None else time.monotonic() + seconds
