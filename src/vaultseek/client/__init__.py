"""Clients of the daemon: ``Client`` blocks, ``AsyncClient`` is its asyncio twin."""

from __future__ import annotations

TYPE_CHECKING = False  # typing is heavy for a command that only calls the daemon
if TYPE_CHECKING:
    from typing import Any

    from vaultseek.client.asynchronous import AsyncClient
    from vaultseek.client.blocking import Client

__all__ = ["AsyncClient", "Client"]


def __getattr__(name: str) -> Any:
    # Imported for those who use them: the command line starts without asyncio and typed methods.
    if name == "Client":
        from vaultseek.client.blocking import Client

        return Client
    if name == "AsyncClient":
        from vaultseek.client.asynchronous import AsyncClient

        return AsyncClient
    raise AttributeError(name)
