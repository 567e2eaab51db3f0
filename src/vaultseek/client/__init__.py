"""Clients of the daemon: ``Client`` blocks, ``AsyncClient`` is its asyncio twin."""

from __future__ import annotations

from vaultseek.client.blocking import Client

TYPE_CHECKING = False  # typing is heavy for a command that only asks
if TYPE_CHECKING:
    from typing import Any

    from vaultseek.client.asynchronous import AsyncClient

__all__ = ["AsyncClient", "Client"]


def __getattr__(name: str) -> Any:
    # asyncio is imported only for those who use it: the command line starts without.
    if name == "AsyncClient":
        from vaultseek.client.asynchronous import AsyncClient

        return AsyncClient
    raise AttributeError(name)
