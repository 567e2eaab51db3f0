"""Clients whose rights differ from the user's. By default there are no such clients; another package may add
them."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable

from vaultseek import plugins
from vaultseek.daemon.vaults import VaultRegistry
from vaultseek.protocol.wire.auth import Authenticator, TokenVerifier
from vaultseek.protocol.wire.context import Handler
from vaultseek.protocol.wire.server import Server


class Clients:
    """The default policy: only the user's clients are served."""

    def guard(self, method: str, handler: Handler) -> Handler:
        """Return a handler that answers the requests of all clients by calling ``handler``.

        ``handler`` itself restricts its answer to the content that the current rights allow
        (`CURRENT_RIGHTS`).
        """
        return handler

    @contextlib.asynccontextmanager
    async def served(self, server: Server, addresses: dict[str, str | None]) -> AsyncIterator[None]:
        """Accept clients at additional addresses during the ``with`` block.

        For each address, the reason why it cannot be opened, or None, is stored in ``addresses``.
        """
        yield

    def close(self) -> None:
        """Close the policy's files, after the last request."""


def clients_of(registry: VaultRegistry, refresh: Callable[[], Awaitable[None]]) -> Clients:
    """Return the client policy of another package, or the default, which serves only the user's clients.

    ``refresh`` applies settings that have changed on disk.
    """
    for make in plugins.load("clients").values():
        clients: Clients = make(registry, refresh)
        return clients
    return Clients()


@contextlib.asynccontextmanager
async def authenticated(
    server: Server, listening: socket.socket, verifier: TokenVerifier
) -> AsyncIterator[None]:
    """Accept the clients that ``verifier`` admits during the ``with`` block."""
    authenticator = Authenticator(verifier, server.add_client)
    serving = asyncio.create_task(server.serve(listening, authenticator.accept))
    try:
        yield
    finally:
        serving.cancel()
        await authenticator.close()
