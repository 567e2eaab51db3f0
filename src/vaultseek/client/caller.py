"""The blocking connection to the daemon. Importing this module is fast, because it uses little of the
standard library."""

from __future__ import annotations

import time
from collections import deque
from contextlib import suppress
from itertools import count

from vaultseek.base import paths
from vaultseek.base.limits import CALL_SECONDS, CLOSE_SECONDS, RECEIVE_BYTES, RECONNECT_SECONDS
from vaultseek.client.conversation import (
    DEFAULT_TIMEOUT,
    Answer,
    Conversation,
    Notification,
    attempts,
    connection_lost,
    notification,
    pauses,
    timed_out,
    unanswered,
)
from vaultseek.errors import Cancelled, NotRunning, Unavailable
from vaultseek.protocol.wire import reach

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import Any, Self

    from vaultseek.base.model import JSON

    OnNotification = Callable[[str, JSON], object]

NOTIFICATIONS_KEPT = 1000
"""Maximum number of notifications that a client keeps until they are read."""


class Caller:
    """A connection to the daemon on which methods are called by name: a ``Client`` without typed methods.

    Raises NotRunning if no daemon is running, Busy if the daemon has too many clients, and Unavailable if it
    does not answer.
    """

    def __init__(
        self,
        socket_path: Path | str | None = None,
        timeout: float | None = CALL_SECONDS,
        *,
        name: str = "vaultseek.client.blocking",
        validate: bool = False,
        connect_seconds: float | None = None,
        agent: bool = False,
    ) -> None:
        """Connect to the daemon; with ``agent``, answers exclude everything hidden from agents."""
        self.server: JSON = {}
        self._validate = validate
        self._path = socket_path or paths.socket_name()
        self._timeout = timeout
        self._name = name
        self._agent = agent
        self._ids = count(1)
        self._notifications: deque[tuple[str, JSON]] = deque(maxlen=NOTIFICATIONS_KEPT)
        self._connection: _Connection | None = None
        self._connect(_deadline(timeout if connect_seconds is None else connect_seconds))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Disconnect. Requests that are still running in the daemon are cancelled."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def call(
        self,
        method: str,
        params: JSON | None = None,
        *,
        timeout: float | None = DEFAULT_TIMEOUT,
        on_notification: OnNotification | None = None,
        meanwhile: Callable[[], object] | None = None,
    ) -> Any:
        """Return the daemon's answer to ``method``.

        ``timeout``, in seconds, replaces the client's own timeout; None waits indefinitely. Notifications
        that arrive before the answer are passed to ``on_notification``, or are kept for ``notifications``.
        ``meanwhile`` is called after the request is sent, and once more if the request has to be sent again.

        Raises the error from ``vaultseek.errors`` with which the daemon answered, Unavailable if the daemon
        disconnected, and Cancelled if it did not answer in time. With validation, also raises UsageError for
        an invalid request and ProtocolError for an invalid answer.
        """
        deadline = _deadline(self._timeout if timeout == DEFAULT_TIMEOUT else timeout)
        params = params or {}
        if self._validate:
            from vaultseek.protocol.messages.check import check_answer, check_request

            check_request(method, params)
        answer = self._call(method, params, deadline, on_notification or self._keep, meanwhile)
        if self._validate:
            check_answer(method, answer)
        return answer

    def notify(self, method: str, params: JSON | None = None) -> None:
        """Send a message to the daemon without expecting an answer."""
        deadline = _deadline(self._timeout)
        frame = notification(method, params)
        for _ in range(2):
            connection = self._connected(deadline)
            try:
                connection.send(frame, deadline)
            except TimeoutError:
                self.close()
                break
            if not connection.broken:
                return
            self.close()
        raise connection_lost(method)

    def notifications(self, timeout: float | None = None) -> Iterator[tuple[str, JSON]]:
        """Yield each notification as (method, params), until ``timeout`` seconds pass without one.

        Raises Unavailable when the daemon disconnects; subscribe again after that.
        """
        while True:
            while self._notifications:
                yield self._notifications.popleft()
            deadline = _deadline(timeout)
            try:
                event = self._connected(deadline).next_event(deadline)
            except TimeoutError:
                return
            except ConnectionError:
                self.close()
                raise connection_lost("notifications") from None
            if isinstance(event, Notification):
                self._keep(event.method, event.params)

    def _call(
        self,
        method: str,
        params: JSON,
        deadline: float | None,
        on_notification: OnNotification,
        meanwhile: Callable[[], object] | None,
    ) -> Any:
        for _ in range(attempts(method, connected_before=self._connection is not None)):
            connection = self._connected(deadline)
            request = connection.conversation.request(method, params)
            try:
                return self._answer(connection, request, deadline, on_notification, meanwhile)
            except TimeoutError:
                raise timed_out(method) from None
            except ConnectionError:
                continue
        raise connection_lost(method)

    def _connected(self, deadline: float | None) -> _Connection:
        if self._connection is not None:
            return self._connection
        last = time.monotonic() + RECONNECT_SECONDS
        remaining = pauses(last if deadline is None else min(last, deadline))
        while True:
            try:
                return self._connect(deadline)
            except Unavailable:
                if (pause := next(remaining, None)) is None:
                    raise
            time.sleep(pause)

    def _connect(self, deadline: float | None) -> _Connection:
        connection = self._connection = _Connection(self._path, self._ids, deadline)
        try:
            request = connection.conversation.initialize(self._name, agent=self._agent)
            server = self._answer(connection, request, deadline, self._keep)
            connection.conversation.verify(server)
            self.server = server
        except ConnectionError:
            self.close()
            raise NotRunning from None  # the daemon is stopping
        except (TimeoutError, Cancelled):
            self.close()
            raise unanswered(self._path) from None
        except BaseException:
            self.close()
            raise
        return connection

    def _answer(
        self,
        connection: _Connection,
        request: tuple[int, bytes],
        deadline: float | None,
        on_notification: OnNotification,
        meanwhile: Callable[[], object] | None = None,
    ) -> Any:
        id, frame = request
        try:
            connection.send(frame, deadline)
            if meanwhile is not None:
                meanwhile()
            while True:
                event = connection.next_event(deadline)
                if isinstance(event, Notification):
                    on_notification(event.method, event.params)
                elif event.id == id:
                    return event.value()
        except TimeoutError:
            if not connection.broken:
                with suppress(TimeoutError):
                    connection.send(connection.conversation.cancel(id), _deadline(CLOSE_SECONDS))
            if connection.broken:
                self.close()
            raise
        except BaseException as error:
            # An interrupt may have left a frame half sent or half read.
            if connection.broken or not isinstance(error, Exception):
                self.close()
            raise

    def _keep(self, method: str, params: JSON) -> None:
        self._notifications.append((method, params))


class _Connection:
    """A connected socket and its conversation with the daemon.

    Every call raises TimeoutError at its monotonic deadline, and ConnectionError if the daemon closed the
    connection.
    """

    __slots__ = ("_socket", "conversation")

    def __init__(self, path: Path | str, ids: Iterator[int], deadline: float | None) -> None:
        self._socket, secrets = reach.reach(path, deadline)
        self.conversation = Conversation(ids, secrets)

    @property
    def broken(self) -> bool:
        """True once the connection can no longer be used."""
        return self.conversation.broken

    def close(self) -> None:
        self._socket.close()

    def send(self, frame: bytes, deadline: float | None) -> None:
        self._limit(deadline)
        try:
            self._socket.sendall(frame)
        except (TimeoutError, BlockingIOError):
            self.conversation.broken = True
            raise TimeoutError from None
        except ConnectionError:
            # The daemon's reason for closing the connection may not have been read yet.
            self.conversation.broken = True

    def next_event(self, deadline: float | None) -> Answer | Notification:
        while (event := self.conversation.next_event()) is None:
            self._limit(deadline)
            try:
                data = self._socket.recv(RECEIVE_BYTES)
            except BlockingIOError:
                raise TimeoutError from None
            except ConnectionError:
                data = b""
            if not data:
                self.conversation.broken = True
                raise ConnectionResetError("the daemon closed the connection")
            self.conversation.receive(data)
        return event

    def _limit(self, deadline: float | None) -> None:
        self._socket.settimeout(None if deadline is None else max(0.0, deadline - time.monotonic()))


def _deadline(seconds: float | None) -> float | None:
    return None if seconds is None else time.monotonic() + seconds
