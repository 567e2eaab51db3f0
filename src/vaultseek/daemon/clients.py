"""Clients whose rights differ from the user's. Another package may admit such clients; by default there are
none."""

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
    """Only the user's clients."""

    def guard(self, method: str, handler: Handler) -> Handler:
        """Return the handler of a method for all clients.

        ``handler`` answers a client with only the content that the current rights allow (`CURRENT_RIGHTS`).
        """
        return handler

    @contextlib.asynccontextmanager
    async def served(self, server: Server, addresses: dict[str, str | None]) -> AsyncIterator[None]:
        """Accept clients at further addresses within the context.

        ``addresses`` gets each address with the reason if it cannot be opened, or None.
        """
        yield

    def close(self) -> None:
        """Close files, after the last request."""


def clients_of(registry: VaultRegistry, refresh: Callable[[], Awaitable[None]]) -> Clients:
    """Return the clients that another package admits, or only the user's.

    ``refresh`` applies settings that changed on disk.
    """
    for make in plugins.load("clients").values():
        clients: Clients = make(registry, refresh)
        return clients
    return Clients()


@contextlib.asynccontextmanager
async def authenticated(
    server: Server, listening: socket.socket, verifier: TokenVerifier
) -> AsyncIterator[None]:
    """Within the context, accept the clients that the verifier admits."""
    authenticator = Authenticator(verifier, server.add_client)
    serving = asyncio.create_task(server.serve(listening, authenticator.accept))
    try:
        yield
    finally:
        serving.cancel()
        await authenticator.close()
