"""Who knocks at the loopback port: shows the token in ``initialize``, its first message, or is shown out."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable

from vaultseek import limits
from vaultseek.errors import Forbidden, ProtocolError, VaultseekError
from vaultseek.model import JSON
from vaultseek.wire import protocol
from vaultseek.wire.frame import FrameReader, encode
from vaultseek.wire.loopback import PROOF, TOKEN, Secrets, hurry
from vaultseek.wire.protocol import Rejected

log = logging.getLogger(__name__)

Enter = Callable[[socket.socket, bytes, JSON], None]
"""Takes a connection over, with what was read from it already and what the client is to be told of us."""


class Doorkeeper:
    """Hears the first message of each who knocks; ``enter`` takes over those who know the token.

    Until then nobody costs more than a small buffer, and few are heard at once. What does not even speak this
    protocol, such as a web page's request with its Host and Origin, gets no answer at all.
    """

    def __init__(self, secrets: Secrets, enter: Enter) -> None:
        self._secrets = secrets
        self._enter = enter
        self._heard: set[asyncio.Task[None]] = set()
        self._refused_before = False

    def knock(self, connection: socket.socket) -> None:
        """Hear a connection that was just accepted, or close it if too many wait to be heard."""
        if len(self._heard) >= limits.KNOCKING:
            connection.close()
            return
        connection.setblocking(False)
        task = asyncio.create_task(self._hear(connection))
        self._heard.add(task)
        task.add_done_callback(self._heard.discard)

    async def close(self) -> None:
        """Show out everybody who has not entered."""
        waiting = list(self._heard)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    async def _hear(self, connection: socket.socket) -> None:
        entered = False
        try:
            with contextlib.suppress(OSError, TimeoutError, ProtocolError):
                hurry(connection)
                async with asyncio.timeout(limits.HALF_FRAME_SECONDS):
                    received, first = await _first_message(connection)
                    error = self._wrong(first)
                    if error is None:
                        entered = True
                        self._enter(connection, received, {PROOF: self._secrets.proof})
                    else:
                        await self._refuse(connection, first, error)
        finally:
            if not entered:
                connection.close()

    def _wrong(self, first: protocol.Request | Rejected | None) -> VaultseekError | None:
        if isinstance(first, Rejected):
            return first.error
        if first is None or first.method != protocol.INITIALIZE:
            return Forbidden(f"the first message on a port must be 'initialize' with the {TOKEN!r}")
        if self._secrets.admit(first.params):
            return None
        if not self._refused_before:
            log.warning("somebody knocked at the port without the right token")
        self._refused_before = True
        return Forbidden(f"the {TOKEN!r} is missing or wrong; it stands in the daemon's address file")

    async def _refuse(
        self, connection: socket.socket, first: protocol.Request | Rejected | None, error: VaultseekError
    ) -> None:
        frame = encode(protocol.refusal(first.id if first else None, error))
        await asyncio.get_running_loop().sock_sendall(connection, frame)


async def _first_message(connection: socket.socket) -> tuple[bytes, protocol.Request | Rejected | None]:
    """All bytes received until the first message was whole, and that message."""
    loop = asyncio.get_running_loop()
    frames = FrameReader(limits.KNOCK_BYTES)
    received = b""
    while (body := frames.next()) is None:
        data = await loop.sock_recv(connection, limits.RECEIVE_BYTES)
        if not data:
            raise ConnectionResetError
        received += data
        frames.feed(data)
    return received, protocol.read(body)
