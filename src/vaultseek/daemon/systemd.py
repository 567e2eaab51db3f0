"""Telling the service manager how the daemon is: the notification protocol of systemd, sd_notify(3).

Messages are lines of ``NAME=value`` in one datagram to the socket that ``$NOTIFY_SOCKET`` names. Where nobody
asked to be told, every call does nothing.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from typing import Self

WATCHDOG_SHARE = 0.4
"""After this share of what the service manager's watchdog allows it is told that the daemon lives."""
WATCHDOG_SLOWEST_SECONDS = 10.0
"""But no less often than this, so that the status it shows is no older."""


log = logging.getLogger(__name__)

_VARIABLES = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")


class ServiceManager:
    """Who started this daemon and wants to know that it is ready, alive and about to end.

    ``address`` is a path, or a name in the abstract namespace that begins with ``@``; None tells nobody.
    ``watchdog`` is how often, in seconds, it wants to hear that the daemon is alive; None for never.
    """

    def __init__(self, address: str | None = None, watchdog: float | None = None) -> None:
        self._address = "\0" + address[1:] if address and address[0] == "@" else address
        self._watchdog = watchdog
        self._status = ""

    @classmethod
    def of_environment(cls) -> Self:
        """The one that the environment names. The variables are removed: they are not for child processes."""
        address, microseconds, pid = (os.environ.pop(name, "") for name in _VARIABLES)
        if address[:1] not in ("/", "@"):
            return cls()
        for_us = pid in ("", str(os.getpid())) and microseconds.isascii() and microseconds.isdecimal()
        return cls(address, int(microseconds) / 1e6 if for_us and int(microseconds) else None)

    def ready(self, status: str) -> None:
        """The socket answers."""
        self._tell("READY=1", f"STATUS={status}")

    def stopping(self) -> None:
        """The end has begun."""
        self._tell("STOPPING=1", "STATUS=stopping")

    async def keep_told(self, status: Callable[[], str]) -> None:
        """Until cancelled, say that the event loop lives, and what ``status`` returns.

        A loop that hangs says nothing, which is what a watchdog is there to notice.
        """
        if self._address is None:
            return
        pause = min((self._watchdog or WATCHDOG_SLOWEST_SECONDS) * WATCHDOG_SHARE, WATCHDOG_SLOWEST_SECONDS)
        while True:
            alive = ("WATCHDOG=1",) if self._watchdog else ()
            now = status()
            self._tell(*alive, *((f"STATUS={now}",) if now != self._status else ()))
            self._status = now
            await asyncio.sleep(pause)

    def _tell(self, *lines: str) -> None:
        if self._address is None or not lines:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
                line.setblocking(False)
                line.sendto("\n".join(lines).encode(), self._address)
        except OSError as error:
            log.warning("the service manager cannot be told %s: %s", lines[0], error.strerror or error)
