"""The server of the page, from the command to its end."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress

import uvicorn

from vaultseek.client.on_demand import Daemon
from vaultseek.doors.ui.api import API, OpenEditor
from vaultseek.doors.ui.application import application
from vaultseek.doors.ui.gate import Session
from vaultseek.protocol.wire.http import http_server
from vaultseek.protocol.wire.loopback import HOST, listen_on

UNUSED_SECONDS = 3600.0
"""Time without use after which the server ends."""
WATCH_SECONDS = 1.0
GRACE_SECONDS = 2
"""Time for running requests at the end."""


def serve(
    start: Callable[[], object],
    announce: Callable[[str], object],
    open_editor: OpenEditor,
    *,
    vault: str | None = None,
    editor: str | None = None,
    port: int = 0,
    unused_seconds: float = UNUSED_SECONDS,
) -> None:
    """Serve the page until a signal, the end of the parent process, or ``unused_seconds`` without use.

    ``start`` starts a daemon unless one runs. ``announce`` gets the address with its token. ``vault`` is the
    folder that the page searches first, None for all. Raises Unavailable if the port is taken.
    """
    session, life = Session(), _Life(unused_seconds)
    with listen_on(port) as listening:
        number: int = listening.getsockname()[1]
        api = API(Daemon(start, "vaultseek.ui").call, vault, editor, open_editor)
        app = application(api, session, number, life.use)
        server = http_server(app, timeout_graceful_shutdown=GRACE_SECONDS)
        with suppress(KeyboardInterrupt):
            asyncio.run(_serve(server, life, listening, lambda: announce(_address(number, session))))


def _address(port: int, session: Session) -> str:
    # A fragment is not sent to any server, and is in no log.
    return f"http://{HOST}:{port}/#token={session.token}"


class _Life:
    """The reasons for which the server ends by itself."""

    def __init__(self, unused_seconds: float) -> None:
        self._unused_seconds = unused_seconds
        self._parent = os.getppid()
        self.use()

    def use(self) -> None:
        """Take note of a use."""
        self._used = time.monotonic()

    def is_over(self) -> bool:
        """True if nobody has used the page for long, or its terminal has gone with the parent process."""
        return os.getppid() != self._parent or time.monotonic() - self._used > self._unused_seconds


async def _serve(
    server: uvicorn.Server, life: _Life, listening: socket.socket, announce: Callable[[], object]
) -> None:
    running = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started and not running.done():
        await asyncio.sleep(0.01)
    if not running.done():
        announce()
    while not running.done():
        await asyncio.wait([running], timeout=WATCH_SECONDS)
        server.should_exit = server.should_exit or life.is_over()
    await running
