"""Status reports to the service manager, in systemd's notification protocol, sd_notify(3).

Messages are lines of ``NAME=value`` in one datagram to the socket in ``$NOTIFY_SOCKET``. If that variable is
not set, calls have no effect.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from typing import Self

WATCHDOG_SHARE = 0.4
"""Share of the watchdog's interval after which a keep-alive message is sent."""
WATCHDOG_SLOWEST_SECONDS = 10.0
"""Maximum seconds between two reports. The displayed status is never older than this."""


log = logging.getLogger(__name__)

_VARIABLES = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")


class ServiceManager:
    """The service manager that started this daemon and receives its status reports.

    ``address`` is a path or an abstract socket name that begins with ``@``; None without a service manager.
    ``watchdog`` is the interval in seconds at which the manager expects keep-alive messages, or None.
    """

    def __init__(self, address: str | None = None, watchdog: float | None = None) -> None:
        self._address = "\0" + address[1:] if address and address[0] == "@" else address
        self._watchdog = watchdog
        self._status = ""

    @classmethod
    def of_environment(cls) -> Self:
        """Return the service manager that the environment variables describe. Remove these variables, so that
        child processes do not inherit them."""
        address, microseconds, pid = (os.environ.pop(name, "") for name in _VARIABLES)
        if address[:1] not in ("/", "@"):
            return cls()
        is_for_this_process = (
            pid in ("", str(os.getpid())) and microseconds.isascii() and microseconds.isdecimal()
        )
        return cls(address, int(microseconds) / 1e6 if is_for_this_process and int(microseconds) else None)

    def ready(self, status: str) -> None:
        """Report that the daemon's socket answers."""
        self._send("READY=1", f"STATUS={status}")

    def stopping(self) -> None:
        """Report that the daemon is stopping."""
        self._send("STOPPING=1", "STATUS=stopping")

    async def keep_reporting(self, status: Callable[[], str]) -> None:
        """Send keep-alive messages and changes of ``status`` until cancelled.

        If the event loop hangs, no message is sent, and the watchdog detects this.
        """
        if self._address is None:
            return
        pause = min((self._watchdog or WATCHDOG_SLOWEST_SECONDS) * WATCHDOG_SHARE, WATCHDOG_SLOWEST_SECONDS)
        while True:
            alive = ("WATCHDOG=1",) if self._watchdog else ()
            current = status()
            self._send(*alive, *((f"STATUS={current}",) if current != self._status else ()))
            self._status = current
            await asyncio.sleep(pause)

    def _send(self, *lines: str) -> None:
        if self._address is None or not lines:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
                connection.setblocking(False)
                connection.sendto("\n".join(lines).encode(), self._address)
        except OSError as error:
            log.warning("cannot report %s to the service manager: %s", lines[0], error.strerror or error)
