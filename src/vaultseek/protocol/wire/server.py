"""The daemon's side of the socket: accepting clients, running their sessions and shutting down gracefully."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import socket
from collections.abc import Callable, Mapping
from functools import partial
from itertools import count

from vaultseek import __version__
from vaultseek.base.model import JSON
from vaultseek.errors import Busy, Unavailable
from vaultseek.protocol.wire import protocol, reach
from vaultseek.protocol.wire.context import ClientInfo, Handler, Limits, RequestContext
from vaultseek.protocol.wire.frame import encode
from vaultseek.protocol.wire.session import Session

ACCEPT_RETRY_SECONDS = 0.1
"""Seconds to wait after a failed accept, for example when no file descriptors are left."""

__all__ = ["ClientInfo", "Handler", "Limits", "RequestContext", "Server"]

log = logging.getLogger(__name__)

Accept = Callable[[socket.socket], None]
"""Callback for a newly accepted connection."""

_TRANSIENT = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.ECONNABORTED, errno.EPROTO)


class Server:
    """A server that answers each request with the handler for its method.

    ``initialize``, ``$/cancelRequest`` and the parameters ``supersedes`` and ``deadline_ms`` are handled by
    the server itself. Errors from ``vaultseek.errors`` raised by a handler are sent to the client. For any
    other exception, the client gets only an incident number. ``admits`` decides whether a connection is
    accepted.
    """

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        *,
        bounds: Limits | None = None,
        admits: Callable[[socket.socket], bool] = reach.peer_is_us,
    ) -> None:
        self._handlers = dict(handlers)
        self._bounds = bounds or Limits()
        self._admits = admits
        self._numbers = count(1)
        self._sessions: dict[Session, asyncio.Task[None]] = {}
        self._accepting: set[asyncio.Task[None]] = set()
        self._refused_before = False
        self._made_room_before = False
        self._closed = asyncio.Event()

    @property
    def clients(self) -> tuple[ClientInfo, ...]:
        """The connected clients."""
        return tuple(session.client for session in self._sessions if not session.is_leaving)

    async def serve(self, listening: socket.socket, accept: Accept | None = None) -> None:
        """Accept clients until cancelled or until ``close`` is done; a cancellation does not end sessions.

        ``listening`` must be non-blocking, and is not closed. Several sockets can be served at the same time.
        ``accept``, if given, is called with each connection and passes admitted connections to
        ``add_client``. Raises Unavailable if the socket fails.
        """
        accepting = asyncio.create_task(self._accept(listening, accept or self._accept_local))
        self._accepting.add(accepting)
        try:
            await asyncio.wait([accepting])
        finally:
            self._accepting.discard(accepting)
            accepting.cancel()
        if not accepting.cancelled():
            accepting.result()
        await self._closed.wait()

    async def close(self, timeout: float) -> None:
        """Stop accepting clients, give running requests ``timeout`` seconds, send finished answers, and
        disconnect.

        A handler must not await this method, which waits for the handlers.
        """
        for accepting in self._accepting:
            accepting.cancel()
        reason = Unavailable("the daemon is shutting down; try again")
        sessions = dict(self._sessions)
        await asyncio.gather(*(session.close(timeout, reason) for session in sessions))
        await asyncio.gather(*sessions.values(), return_exceptions=True)
        self._closed.set()

    def add_client(
        self,
        connection: socket.socket,
        received: bytes = b"",
        about: JSON | None = None,
        grant: object = None,
        principal: str = "",
    ) -> None:
        """Start a session for a connection, or refuse it if there are too many clients. If the user has too
        many clients, the one that has been silent longest is disconnected first, so that a silent program
        cannot keep others out.

        ``received`` was already read from the connection; ``about`` adds to the answer to ``initialize``; for
        ``grant`` and ``principal`` see `ClientInfo`.
        """
        if not principal:
            self._make_room()
        if refusal := self._refusal(principal):
            with contextlib.suppress(OSError):
                connection.setblocking(False)
                connection.send(encode(protocol.error_response(None, refusal)))
            connection.close()
            return
        connection.setblocking(False)
        client = ClientInfo(next(self._numbers), grant=grant, principal=principal)
        introduction = partial(self._introduction, about or {})
        session = Session(connection, client, self._handlers, self._bounds, introduction, received)
        task = asyncio.create_task(session.run())
        self._sessions[session] = task
        task.add_done_callback(lambda _: self._sessions.pop(session, None))

    def _refusal(self, principal: str) -> Busy | None:
        """Return an error if another client of this principal must be refused, otherwise None. Clients with a
        token and the user's own clients are counted separately."""
        principals = [client.principal for client in self.clients]
        if principals.count(principal) >= self._bounds.clients_of_token and principal:
            return Busy(
                f"{self._bounds.clients_of_token} clients are already connected with this token; "
                "close one or try again"
            )
        if sum(bool(each) == bool(principal) for each in principals) >= self._bounds.clients:
            return Busy(f"{self._bounds.clients} clients are already connected; close one or try again")
        return None

    def _make_room(self) -> None:
        own = [each for each in self._sessions if not (each.client.principal or each.is_leaving)]
        if len(own) < self._bounds.clients:
            return
        silent = [session for session in own if not session.is_waiting]
        if silent:
            min(silent, key=lambda session: session.claim).leave()
            if not self._made_room_before:
                log.warning("there are %d clients; disconnected the one that has been idle longest", len(own))
            self._made_room_before = True

    async def _accept(self, listening: socket.socket, accept: Accept) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(listening)
            except OSError as error:
                if error.errno not in _TRANSIENT:
                    failure = f"the socket no longer accepts connections: {error.strerror}"
                    raise Unavailable(failure) from None
                log.warning("a client could not be accepted: %s", error.strerror)
                await asyncio.sleep(ACCEPT_RETRY_SECONDS)
            else:
                accept(connection)
                # Many new clients must not starve existing clients, and disconnected clients must be removed
                # first.
                await asyncio.sleep(0)

    def _accept_local(self, connection: socket.socket) -> None:
        if self._is_admitted(connection):
            self.add_client(connection)
            return
        if not self._refused_before:
            log.warning("another user (uid %s) tried to connect", reach.peer_uid(connection))
        self._refused_before = True
        connection.close()

    def _is_admitted(self, connection: socket.socket) -> bool:
        try:
            return self._admits(connection)
        except OSError:
            return False

    def _introduction(self, about: JSON) -> JSON:
        server = {"name": "vaultseek", "version": __version__, "pid": os.getpid()}
        capabilities = {
            "methods": sorted(self._handlers),
            "request_bytes": self._bounds.frame_bytes,
            "answer_bytes": self._bounds.answer_bytes,
            "requests_in_flight": self._bounds.in_flight,
        }
        return {"server": server, "capabilities": capabilities, **about}
