"""Limits for all of vaultseek's HTTP servers, before and after a client is trusted.

uvicorn limits neither the duration of a request nor the number of connections, and its faster parser,
httptools, does not limit the size of headers.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from vaultseek.base import limits

_numbers = count()


class BoundedProtocol(H11Protocol):
    """One HTTP connection, which is closed if the client is too slow.

    If there are too many connections, the oldest one that is not being answered is replaced by the new one,
    so that a silent client cannot keep others out. Under load, many requests have arrived but are not read
    yet. Such a request on a replaced connection gets status 503.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._number = next(_numbers)
        self._sending: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None
        self._is_refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time limit for the first request, and refuse the oldest waiting connection if there are
        too many connections."""
        super().connection_made(transport)
        self._await_request()
        served: list[BoundedProtocol] = []
        refused: list[BoundedProtocol] = []
        for each in self.connections:
            if isinstance(each, BoundedProtocol) and not each.transport.is_closing():
                (refused if each._is_refused else served).append(each)
        if len(served) > limits.HTTP_CLIENTS:
            waiting = [each for each in served if not each._is_answering]
            min(waiting, key=lambda each: each._number)._refuse()
        if len(refused) >= limits.HTTP_REFUSED:
            min(refused, key=lambda each: each._number).transport.abort()

    def _refuse(self) -> None:
        self._is_refused, self.app = True, _busy
        _stop(self._sending)
        self._sending = self.loop.call_later(limits.HTTP_REFUSED_SECONDS, self.transport.abort)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._await_request()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._await_request()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reading = self.loop.call_later(limits.SLOW_READER_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        _stop(self._reading)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        _stop(self._sending)
        _stop(self._reading)

    @property
    def _is_answering(self) -> bool:
        arrived = self.conn.their_state not in (h11.IDLE, h11.SEND_BODY)
        return arrived and self.cycle is not None and not self.cycle.response_complete

    def _await_request(self) -> None:
        if self._is_answering:
            _stop(self._sending)
            self._sending = None
        elif self._sending is None:
            self._sending = self.loop.call_later(limits.HTTP_REQUEST_SECONDS, self.transport.abort)


def _stop(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


async def _busy(scope: Any, receive: Any, send: Any) -> None:
    """Answer every request with status 503; this is an ASGI application."""
    error = {"code": "busy", "message": "too many requests at once; try again"}
    body = json.dumps({"error": error}).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body)), "retry-after": "1"}
    pairs = [(name.encode(), value.encode()) for name, value in {**headers, "connection": "close"}.items()]
    await send({"type": "http.response.start", "status": 503, "headers": pairs})
    await send({"type": "http.response.body", "body": body})


GRACE_SECONDS = 2
"""Seconds for which running requests may continue at shutdown."""


def http_server(app: Any) -> uvicorn.Server:
    """Return an HTTP server for an ASGI application; a signal stops the server."""
    return uvicorn.Server(_config(app, timeout_graceful_shutdown=GRACE_SECONDS))


@asynccontextmanager
async def serving_http(app: Any, listening: socket.socket) -> AsyncIterator[None]:
    """Serve an ASGI application on a listening socket in the running event loop during the ``with`` block."""
    config, state = _config(app, lifespan="off", log_config=None), ServerState()
    config.load()
    server = await asyncio.get_running_loop().create_server(
        lambda: BoundedProtocol(config, state, {}), sock=listening
    )
    try:
        yield
    finally:
        server.close()
        for connection in list(state.connections):
            connection.transport.abort()


def _config(app: Any, **options: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=BoundedProtocol,
        h11_max_incomplete_event_size=limits.HTTP_HEAD_BYTES,
        ws="none",
        log_level="error",
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        **options,
    )
