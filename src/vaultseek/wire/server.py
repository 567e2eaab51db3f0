"""The daemon's side of the socket: lets clients in, gives each a session, and parts from them in order."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
from collections.abc import Callable, Mapping
from itertools import count

from vaultseek import __version__
from vaultseek.errors import Busy, Unavailable
from vaultseek.limits import ACCEPT_RETRY_SECONDS
from vaultseek.model import JSON
from vaultseek.wire import endpoint, protocol
from vaultseek.wire.context import ClientInfo, Handler, Limits, RequestContext
from vaultseek.wire.frame import encode
from vaultseek.wire.session import Session

__all__ = ["ClientInfo", "Handler", "Limits", "RequestContext", "Server"]

log = logging.getLogger(__name__)

_TRANSIENT = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.ECONNABORTED, errno.EPROTO)


class Server:
    """Answers requests by the handler of their method.

    ``initialize``, ``$/cancelRequest`` and the parameters ``supersedes`` and ``deadline_ms`` are the server's
    own; handlers never see them. A handler raises the errors of ``vaultseek.errors`` for what the client
    should know; anything else reaches the client as an incident number only. ``about`` adds to the answer to
    ``initialize``, ``admits`` decides who may speak at all.
    """

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        *,
        bounds: Limits | None = None,
        about: Callable[[], JSON] = dict,
        admits: Callable[[socket.socket], bool] = endpoint.peer_is_us,
    ) -> None:
        self._handlers = dict(handlers)
        self._bounds = bounds or Limits()
        self._about = about
        self._admits = admits
        self._numbers = count(1)
        self._sessions: dict[Session, asyncio.Task[None]] = {}
        self._accepting: set[asyncio.Task[None]] = set()
        self._refused_before = False
        self._closed = False

    @property
    def clients(self) -> tuple[ClientInfo, ...]:
        """The clients that are connected now."""
        return tuple(session.client for session in self._sessions)

    async def serve(self, listening: socket.socket) -> None:
        """Let clients in until ``close`` or until cancelled; sessions go on after a cancel.

        ``listening`` must not block. It stays the caller's and stays open. May run for several sockets.
        """
        if self._closed:
            return
        accepting = asyncio.create_task(self._accept(listening))
        self._accepting.add(accepting)
        try:
            await asyncio.wait({accepting})
        finally:
            accepting.cancel()
            self._accepting.discard(accepting)
        if not accepting.cancelled():
            accepting.result()

    async def close(self, timeout: float) -> None:
        """Let nobody in, give running requests ``timeout`` seconds, send what is ready, part from everybody.

        Not to be awaited by a handler, which it would wait for.
        """
        self._closed = True
        for accepting in self._accepting:
            accepting.cancel()
        reason = Unavailable("the daemon is shutting down; try again")
        sessions = dict(self._sessions)
        await asyncio.gather(*(session.close(timeout, reason) for session in sessions))
        for task in sessions.values():
            task.cancel()
        await asyncio.gather(*sessions.values(), return_exceptions=True)

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(listening)
            except OSError as error:
                if error.errno not in _TRANSIENT:
                    raise Unavailable(f"the socket can no longer be listened on: {error.strerror}") from error
                log.warning("a client could not be let in: %s", error.strerror)
                await asyncio.sleep(ACCEPT_RETRY_SECONDS)
                continue
            self._welcome(connection)
            await asyncio.sleep(0)

    def _welcome(self, connection: socket.socket) -> None:
        if not self._may_enter(connection):
            connection.close()
            return
        connection.setblocking(False)
        client = ClientInfo(next(self._numbers))
        session = Session(connection, client, self._handlers, self._bounds, self._introduction)
        task = asyncio.create_task(session.run())
        self._sessions[session] = task
        task.add_done_callback(lambda _: self._sessions.pop(session, None))

    def _may_enter(self, connection: socket.socket) -> bool:
        if not self._is_admitted(connection):
            if not self._refused_before:
                log.warning("another user (uid %s) tried to connect", endpoint.peer_uid(connection))
            self._refused_before = True
            return False
        if len(self._sessions) >= self._bounds.clients:
            _say_busy(connection, self._bounds.clients)
            return False
        return True

    def _is_admitted(self, connection: socket.socket) -> bool:
        try:
            return self._admits(connection)
        except OSError:
            return False

    def _introduction(self) -> JSON:
        server = {"name": "vaultseek", "version": __version__, "pid": os.getpid()}
        return {"server": server, **self._about()}


def _say_busy(connection: socket.socket, clients: int) -> None:
    error = Busy(f"{clients} clients are connected already; close one or try again")
    try:
        connection.setblocking(False)
        connection.send(encode(protocol.refusal(None, error)))
    except OSError:
        pass
