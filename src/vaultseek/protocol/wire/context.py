"""The context that a handler receives with a request: client, deadline and notifications."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any

from vaultseek.base import limits
from vaultseek.base.model import JSON
from vaultseek.protocol.wire.protocol import VERSION, Id


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on clients, as counts, bytes and seconds."""

    clients: int = limits.CLIENTS
    clients_of_token: int = limits.CLIENTS_OF_TOKEN
    token_idle_seconds: float = limits.TOKEN_IDLE_SECONDS
    in_flight: int = limits.REQUESTS_IN_FLIGHT
    frame_bytes: int = limits.FRAME_BYTES
    answer_bytes: int = limits.ANSWER_BYTES
    unsent_bytes: int = limits.UNSENT_BYTES
    read_ahead_bytes: int = limits.READ_AHEAD_BYTES
    half_frame_seconds: float = limits.HALF_FRAME_SECONDS
    slow_reader_seconds: float = limits.SLOW_READER_SECONDS


@dataclass(frozen=True, slots=True)
class ClientInfo:
    """A client: the number assigned by this daemon, the name sent by the client, and the protocol version."""

    id: int = 0
    name: str = "unnamed"
    version: int = VERSION
    zone: tzinfo | None = None
    """The client's time zone, for the boundaries of days; None for the machine's time zone."""
    is_agent: bool = False
    """True if the client shows its answers to an agent."""
    grant: object = None
    """The client's rights, set by its verifier; None for the user, who has all rights."""
    principal: str = ""
    """The owner of the client's token, or "" for the user; each owner's connections are counted together."""


class Connection:
    """The part of a connection that handlers may use; this base class serves requests without a client."""

    disconnected = False

    def notify(self, method: str, params: JSON, *, latest: bool) -> bool:
        """Send a notification, or drop it if the client is slow. Return True if the notification will be
        sent."""
        return False

    def on_disconnect(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` when the client has disconnected."""


@dataclass(frozen=True, slots=True)
class RequestContext:
    """The context of a request: everything that a handler gets in addition to the parameters.

    ``deadline`` is a time on the event loop's clock, or None. ``connection`` and ``notify`` may be used even
    after the request is answered, from the event loop's thread.
    """

    client: ClientInfo = field(default_factory=ClientInfo)
    request_id: Id | None = None
    deadline: float | None = None
    connection: Connection = field(default_factory=Connection)
    cancelled: Callable[[], bool] = lambda: False
    """Return True once the request is cancelled; for work in threads, which cannot be interrupted."""

    def notify(self, method: str, params: JSON, *, latest: bool = False) -> bool:
        """Send the client a notification. Return True if the notification will be sent.

        While the client is slow to read, notifications are dropped. With ``latest``, as for progress, the
        newest notification of a method is sent when the client has caught up.
        """
        return self.connection.notify(method, params, latest=latest)

    def remaining(self) -> float | None:
        """Return the seconds until the deadline (at least 0), or None without a deadline."""
        if self.deadline is None:
            return None
        return max(0.0, self.deadline - asyncio.get_running_loop().time())

    def on_disconnect(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` when the client disconnects; immediately if it has already disconnected."""
        self.connection.on_disconnect(callback)


Handler = Callable[[JSON, RequestContext], Awaitable[Any]]
