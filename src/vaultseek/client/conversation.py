"""One conversation with the daemon, without I/O: request ids, frames, answers, notifications and retries.

``blocking`` and ``asynchronous`` transfer the bytes; this module contains everything else that they share.
"""

from __future__ import annotations

import json
import time

from vaultseek.base.limits import ANSWER_BYTES, RECONNECT_FIRST_SECONDS
from vaultseek.base.text import quote
from vaultseek.base.zone import zone_for_daemon
from vaultseek.errors import Cancelled, ProtocolError, Unavailable, VaultseekError, advise
from vaultseek.protocol.wire import protocol
from vaultseek.protocol.wire.frame import FrameReader, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any, Final

    from vaultseek.base.model import JSON
    from vaultseek.protocol.wire.loopback import Secrets

DEFAULT_TIMEOUT: Final = -1.0
"""Marker that stands for the client's own timeout."""
NEVER_REPEATED = ("shutdown",)
"""Methods that are not called again after a reconnect: a second ``shutdown`` would end the new daemon."""


class Answer:
    """The answer to request ``id``: a ``result``, or the ``error`` to raise."""

    __slots__ = ("error", "id", "result")

    def __init__(self, id: int, result: Any, error: VaultseekError | None) -> None:
        self.id = id
        self.result = result
        self.error = error

    def value(self) -> Any:
        """Return the result, or raise the error if the answer has one."""
        if self.error is not None:
            raise self.error
        return self.result


class Notification:
    """A message from the daemon that does not answer a request."""

    __slots__ = ("method", "params")

    def __init__(self, method: str, params: JSON) -> None:
        self.method = method
        self.params = params


class Conversation:
    """The protocol state of one connection. It produces frames to send and parses received bytes.

    ``ids`` outlives the connection, so that an id is never used twice. ``broken`` is set, here or by the
    owner of the socket, when the connection can no longer be used.
    """

    def __init__(self, ids: Iterator[int], secrets: Secrets | None) -> None:
        self.broken = False
        self._ids = ids
        self._secrets = secrets
        self._frames = FrameReader(ANSWER_BYTES)
        self._pending: set[int] = set()

    def initialize(self, name: str, *, agent: bool = False) -> tuple[int, bytes]:
        """Return the id and frame of an ``initialize`` request, with the time zone, and with the token if
        necessary."""
        params: JSON = {"protocol_version": protocol.VERSION, "client": name}
        if agent:
            params["agent"] = True
        if self._secrets:
            params["token"] = self._secrets.token
        if zone := zone_for_daemon(may_be_remote=self._secrets is not None):
            params["time_zone"] = zone
        return self.request(protocol.INITIALIZE, params)

    def verify(self, server: JSON) -> None:
        """Check that the answer to ``initialize`` comes from the user's daemon. Raises Unavailable if it does
        not."""
        if self._secrets:
            self._secrets.check(server)

    def request(self, method: str, params: JSON) -> tuple[int, bytes]:
        """Return the id and frame of a new request, and expect its answer from now on."""
        id = next(self._ids)
        frame = encode(protocol.request(id, method, params))
        self._pending.add(id)
        return id, frame

    def cancel(self, id: int) -> bytes:
        """Return the frame that cancels request ``id``, and ignore its answer from now on."""
        self._pending.discard(id)
        return encode(protocol.notification(protocol.CANCEL, {"id": id}))

    def receive(self, data: bytes) -> None:
        """Parse the next bytes from the daemon."""
        self._frames.feed(data)

    def next_event(self) -> Answer | Notification | None:
        """Return the next answer or notification, or None if more bytes are needed.

        Raises ProtocolError for invalid bytes, and the daemon's error if it refuses the connection; either
        error ends the conversation.
        """
        try:
            while (body := self._frames.next()) is not None:
                event = self._event(_message(body))
                if event is not None:
                    return event
        except VaultseekError:
            self.broken = True
            raise
        return None

    def _event(self, message: JSON) -> Answer | Notification | None:
        id, error = message.get("id"), message.get("error")
        if "method" in message:
            return Notification(str(message["method"]), message.get("params") or {})
        if id is None and error is not None:
            raise protocol.to_exception(error)
        if not isinstance(id, int) or id not in self._pending:
            return None  # a late answer to a cancelled request
        self._pending.discard(id)
        return Answer(id, message.get("result"), None if error is None else protocol.to_exception(error))


def notification(method: str, params: JSON | None) -> bytes:
    """Return a notification encoded as a frame."""
    return encode(protocol.notification(method, params or {}))


def attempts(method: str, *, connected_before: bool) -> int:
    """Return how many times a request may be sent: twice if the connection was opened before the request,
    because the daemon may have been restarted since then."""
    return 2 if connected_before and method not in NEVER_REPEATED else 1


def pauses(deadline: float) -> Iterator[float]:
    """Yield the seconds to wait between connection attempts, until the monotonic time ``deadline``."""
    pause = RECONNECT_FIRST_SECONDS
    while time.monotonic() + pause < deadline:
        yield pause
        pause *= 2


def connection_lost(method: str) -> Unavailable:
    """Return the error for a connection that ended before ``method`` was answered."""
    return Unavailable(f"the daemon disconnected before it answered {quote(method)}; try again")


def timed_out(method: str) -> Cancelled:
    """Return the error for a request that was not answered in time."""
    return Cancelled(f"the daemon did not answer {quote(method)} in time; try again")


def unanswered(path: Path | str) -> Unavailable:
    """Return the error for a daemon that accepts a connection but does not answer ``initialize``."""
    return Unavailable(f"the daemon at {path} does not answer; stop it", advice=advise("stop"))


def _message(body: bytes) -> JSON:
    # Less strict than the daemon's parser, because answers repeat text from notes.
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict):
        raise ProtocolError(
            "the daemon sent an invalid message; if the daemon is a different version, stop it",
            advise("stop"),
        )
    return message
