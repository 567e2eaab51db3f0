"""Idle connections to a PostgreSQL server, kept open for later requests."""

import select
import threading
import time
from dataclasses import replace
from functools import cache
from typing import Any

from vaultseek_server.settings import EngineOptions

IDLE_SECONDS = 30.0
"""Number of seconds without use after which a connection is closed. This is checked only in ``put``."""
MOST_IDLE = 4
"""Maximum number of idle connections to one server."""


class IdleConnections:
    """Idle connections to one server, kept open for later requests.

    The most recently used connection is taken first, so that surplus connections remain unused and are
    closed.
    """

    def __init__(self) -> None:
        self._idle: list[tuple[float, Any]] = []
        """Connections with the time of their last use, oldest first."""
        self._lock = threading.RLock()

    def take(self, schema: str) -> Any:
        """Return a connection, preferably one that already uses ``schema``; None if no connection is kept."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                places = range(len(self._idle))
                place = max(places, key=lambda place: (self._idle[place][1].schema == schema, place))
                connection = self._idle.pop(place)[1]
            if not connection.closed:
                readable = select.poll()
                readable.register(connection, select.POLLIN)
                if not readable.poll(0):  # otherwise the server has closed it
                    return connection
            connection.close()

    def put(self, connection: Any) -> None:
        """Keep a connection for the next request, unless it is unusable or enough others are already kept."""
        now = time.monotonic()
        is_usable = not connection.closed and connection.info.transaction_status.name == "IDLE"
        with self._lock:
            kept = [each for each in self._idle if each[0] > now - IDLE_SECONDS]
            surplus = [each for _, each in self._idle[: len(self._idle) - len(kept)]]
            if is_usable and len(kept) < MOST_IDLE:
                kept.append((now, connection))
            else:
                surplus.append(connection)
            self._idle = kept
        for each in surplus:
            each.close()

    def close(self) -> None:
        """Close all kept connections; further connections may be added later."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, connection in idle:
            connection.close()


@cache
def idle_connections(options: EngineOptions) -> IdleConnections:
    """Return the connections shared by all vaults in an engine."""
    return IdleConnections() if not options.shard else idle_connections(replace(options, shard=""))
