"""Authentication of TCP clients by the token in ``initialize``, which must be their first message."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable
from typing import NamedTuple, Protocol

from vaultseek.base import limits
from vaultseek.base.model import JSON
from vaultseek.errors import Forbidden, ProtocolError, VaultseekError
from vaultseek.protocol.wire import protocol
from vaultseek.protocol.wire.frame import FrameReader, encode
from vaultseek.protocol.wire.loopback import PROOF, TOKEN, Secrets, disable_nagle
from vaultseek.protocol.wire.protocol import Rejected

log = logging.getLogger(__name__)


AddClient = Callable[[socket.socket, bytes, JSON, object, str], None]
"""A function that takes over a connection, given its socket, the bytes received so far, and its
`Admission`."""


class Admission(NamedTuple):
    """Result of authentication: additions to the answer to ``initialize``, the client's rights, and its
    principal (see `ClientInfo`)."""

    about: JSON
    grant: object = None
    principal: str = ""


class TokenVerifier(Protocol):
    """A verifier of tokens; ``where`` is a hint for clients on where to find the right token."""

    where: str

    async def admit(self, params: JSON) -> Admission | None:
        """Return the admission for a client with these ``initialize`` parameters, or None to refuse the
        client."""


class LoopbackVerifier:
    """The verifier for the loopback port. Its only token, which only the user can read, grants all rights."""

    where = "read it from the daemon's address file"

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets

    async def admit(self, params: JSON) -> Admission | None:
        """Return the admission if the token is right, otherwise None."""
        return Admission({PROOF: self._secrets.proof}) if self._secrets.admit(params) else None


class Authenticator:
    """Reader of each connection's first message; passes admitted connections to ``add_client``.

    A connection that is not admitted yet costs only a small buffer, and only a few are read at the same time.
    Each further connection closes the oldest one being read, so that a silent client cannot keep others out.
    Other protocols, such as HTTP from a web page, get no answer at all.
    """

    def __init__(self, verifier: TokenVerifier, add_client: AddClient) -> None:
        self._verifier = verifier
        self._add_client = add_client
        self._pending: dict[asyncio.Task[None], None] = {}
        self._refused_before = False

    def accept(self, connection: socket.socket) -> None:
        """Read the first message of a new connection; if too many connections are waiting, close the
        oldest."""
        if len(self._pending) >= limits.UNAUTHENTICATED_CLIENTS:
            oldest = next(iter(self._pending))
            del self._pending[oldest]
            oldest.cancel()
        connection.setblocking(False)
        task = asyncio.create_task(self._authenticate(connection))
        self._pending[task] = None
        task.add_done_callback(lambda done: self._pending.pop(done, None))

    async def close(self) -> None:
        """Close every connection that is not authenticated yet."""
        tasks = list(self._pending)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _authenticate(self, connection: socket.socket) -> None:
        accepted = False
        try:
            with contextlib.suppress(OSError, TimeoutError, ProtocolError):
                disable_nagle(connection)
                async with asyncio.timeout(limits.HALF_FRAME_SECONDS):
                    received, first = await _first_message(connection)
                    admission = await self._admission(first)
                    if isinstance(admission, Admission):
                        accepted = True
                        self._add_client(connection, received, *admission)
                    else:
                        frame = encode(protocol.error_response(first.id if first else None, admission))
                        await asyncio.get_running_loop().sock_sendall(connection, frame)
        finally:
            if not accepted:
                connection.close()

    async def _admission(self, first: protocol.Request | Rejected | None) -> Admission | VaultseekError:
        if isinstance(first, Rejected):
            return first.error
        if first is None or first.method != protocol.INITIALIZE:
            return Forbidden(f"the first message on a port must be 'initialize' with the {TOKEN!r}")
        admission = await self._verifier.admit(first.params)
        if admission is not None:
            return admission
        if not self._refused_before:
            log.warning("a client connected to the port without the right token")
        self._refused_before = True
        return Forbidden(f"the {TOKEN!r} is missing or wrong; {self._verifier.where}")


async def _first_message(connection: socket.socket) -> tuple[bytes, protocol.Request | Rejected | None]:
    loop = asyncio.get_running_loop()
    frames = FrameReader(limits.AUTH_BYTES)
    received = b""
    while (body := frames.next()) is None:
        data = await loop.sock_recv(connection, limits.RECEIVE_BYTES)
        if not data:
            raise ConnectionResetError
        received += data
        frames.feed(data)
    return received, protocol.read(body)
