"""The send buffer of one connection. Its size is limited, and the connection is closed if the client does not
read."""

from __future__ import annotations

import asyncio
import socket
from collections import deque

from vaultseek.base.limits import NOTICE_BYTES, RECEIVE_BYTES


class Outbox:
    """A queue of the frames to send.

    ``cap`` is the maximum size in bytes; ``send_seconds`` is the timeout in seconds for sending each piece of
    a frame, or None.
    """

    def __init__(self, connection: socket.socket, *, cap: int, send_seconds: float | None) -> None:
        self._connection = connection
        self._cap = cap
        self._send_seconds = send_seconds
        self._frames: deque[bytes] = deque()
        self._late: dict[str, bytes] = {}
        self._unsent = 0
        self._filled = asyncio.Event()
        self._room = asyncio.Event()
        self._empty = asyncio.Event()
        self._update_events()

    @property
    def full(self) -> bool:
        """True if the unsent bytes exceed the cap."""
        return self._unsent > self._cap

    def put(self, frame: bytes) -> None:
        """Append ``frame``. If possible, callers await ``room`` first."""
        self._frames.append(frame)
        self._unsent += len(frame)
        self._update_events()

    def offer(self, kind: str, frame: bytes, *, latest: bool) -> bool:
        """Queue a notification unless the client is slow to read. Return True if the notification was
        accepted.

        With ``latest``, a slow client is sent the newest frame of each ``kind`` when it has caught up.
        """
        if self._unsent + len(frame) <= NOTICE_BYTES:
            self.put(frame)
            return True
        if latest:
            self._late[kind] = frame
        return latest

    async def room(self) -> None:
        """Wait until the unsent bytes are within the cap."""
        await self._room.wait()

    async def flush(self, seconds: float) -> bool:
        """Wait until everything is sent, for at most ``seconds``. Return True if everything was sent."""
        try:
            async with asyncio.timeout(seconds):
                await self._empty.wait()
        except TimeoutError:
            return False
        return True

    def abandon(self) -> None:
        """Drop all unsent frames after the client has disconnected."""
        self._frames.clear()
        self._late.clear()
        self._unsent = 0
        self._update_events()

    async def run(self) -> None:
        """Send frames until cancelled. Raises TimeoutError if the client does not read, and OSError if the
        client has disconnected."""
        while True:
            await self._filled.wait()
            loop = asyncio.get_running_loop()
            rest = memoryview(self._frames[0])
            while rest:
                part, rest = rest[:RECEIVE_BYTES], rest[RECEIVE_BYTES:]
                async with asyncio.timeout(self._send_seconds):
                    await loop.sock_sendall(self._connection, part)
                self._unsent -= len(part)
                self._update_events()
            self._frames.popleft()
            if not self._frames:
                late, self._late = self._late, {}
                for frame in late.values():
                    self.put(frame)
            self._update_events()

    def _update_events(self) -> None:
        for event, holds in (
            (self._filled, bool(self._frames)),
            (self._room, not self.full),
            (self._empty, not self._frames),
        ):
            if holds:
                event.set()
            else:
                event.clear()
