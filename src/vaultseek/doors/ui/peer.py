"""The user at the other end of a connection on this computer, as far as the kernel says."""

from __future__ import annotations

import os
import socket
from pathlib import Path

CONNECTIONS = Path("/proc/net/tcp")
"""Linux's list of connections; other systems have no such file."""
_USER = 7

Address = tuple[str, int]


def is_welcome(client: Address | None, server: Address | None, table: Path = CONNECTIONS) -> bool:
    """True unless another user's process holds the ``client`` end of the connection to ``server``.

    Root is welcome: it can read everything anyway, and it relays connections of a browser outside a virtual
    machine.
    """
    return user_of(client, server, table) in (None, 0, os.geteuid())


def user_of(client: Address | None, server: Address | None, table: Path = CONNECTIONS) -> int | None:
    """Return the number of the user who opened the connection; None if the kernel does not say."""
    if client is None or server is None:
        return None
    try:
        ends = [_written(client), _written(server)]
        rows = table.read_text(encoding="ascii").splitlines()[1:]
        for row in rows:
            columns = row.split()
            if columns[1:3] == ends:
                return int(columns[_USER])
    except (OSError, ValueError, IndexError):
        return None
    return None


def _written(address: Address) -> str:
    """Return an address as the list has it: the bytes of a number of this machine, and the port, in hex."""
    number = int.from_bytes(socket.inet_aton(address[0]), "little")
    return f"{number:08X}:{address[1]:04X}"
