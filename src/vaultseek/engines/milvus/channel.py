"""Clients of Milvus that share nothing with each other: none waits for the connection of another."""

from __future__ import annotations

from functools import cache
from typing import Any


def connected_client(uri: str, **options: Any) -> Any:
    """Return a client that is connected. Raises the errors of pymilvus.

    Those of pymilvus share a lock, which is held while one of them connects or comes back: an engine that
    is frozen would hold up every request of every vault, one after the other.
    """
    return _client_class()(uri, **options)


@cache
def _client_class() -> Any:
    import pymilvus
    from grpc import RpcError, StatusCode

    try:
        from pymilvus.client.connection_manager import ConnectionConfig, ConnectionManager
    except ImportError:  # of another version, with no such lock
        return pymilvus.MilvusClient

    class Manager(ConnectionManager):  # type: ignore[misc]
        """The one connection of a client, which is not made again in the middle of a request."""

        def handle_error(self, handler: Any, error: Exception) -> bool:
            """End the request if the server is not there; otherwise leave it to the client."""
            if isinstance(error, RpcError) and error.code() == StatusCode.UNAVAILABLE:
                raise error
            return False

    class Client(pymilvus.MilvusClient):  # type: ignore[misc]
        def __init__(self, uri: str, *, token: str, db_name: str, timeout: float, **more: Any) -> None:
            self._config = ConnectionConfig.from_uri(uri, token=token, db_name=db_name, **more)
            self._manager = Manager()
            self._handler = self._manager.get_or_create(
                self._config, dedicated=True, client=self, timeout=timeout
            )
            self._using = f"cm-{id(self._handler)}"
            self.is_self_hosted = bool(self.get_server_type() == "milvus")

    return Client
