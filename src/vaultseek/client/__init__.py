"""Clients of the daemon: ``Client`` blocks, ``AsyncClient`` is its asyncio counterpart."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing would slow down commands that only call the daemon
if TYPE_CHECKING:
    from typing import Any

    from vaultseek.client.asynchronous import AsyncClient
    from vaultseek.client.blocking import Client

__all__ = ["AsyncClient", "Client"]


def __getattr__(name: str) -> Any:
    # Imported on demand, so that the command line starts without asyncio and the typed methods.
    if name == "Client":
        from vaultseek.client.blocking import Client

        return Client
    if name == "AsyncClient":
        from vaultseek.client.asynchronous import AsyncClient

        return AsyncClient
    raise AttributeError(name)
