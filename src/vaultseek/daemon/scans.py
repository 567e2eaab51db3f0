"""The scans of a vault, comparisons of its whole folder with the ledger, and who waits for them."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable

from vaultseek.errors import Unavailable

FIRST_SCAN_SECONDS = 0.8
"""Longest wait of searches for the first scan of a new vault, from when it was opened."""


class Scans:
    """The scans that have begun and ended since a vault was opened.

    ``was_indexed`` is true if the vault had an index before, ``is_done`` if there will be no scan.
    """

    def __init__(self, *, was_indexed: bool, is_done: bool = False) -> None:
        self.accepts_loss = False
        """True if a client has said that notes which are gone were deleted, until a scan has heeded it."""
        self._was_indexed = was_indexed
        self._opened = time.monotonic()
        self._begun = self._noted = int(is_done)
        self._done = int(is_done)
        self._is_closed = False
        self._ended = asyncio.Condition()

    @property
    def is_first_done(self) -> bool:
        """True if there was a scan since the vault was opened."""
        return self._done > 0

    @property
    def is_new(self) -> bool:
        """True if the vault has no index yet that covers its folder."""
        return not self._was_indexed and not self._done

    def begin(self) -> None:
        """Note that a scan begins: it sees everything that is on disk now."""
        self._begun += 1

    async def finish(self, *, files: bool = True) -> None:
        """Note that everything which the last scan found is indexed, or all notes if not the other files."""
        async with self._ended:
            self._noted = self._begun
            if files:
                self._done = self._begun
            self._ended.notify_all()

    async def close(self) -> None:
        """Let nobody wait any longer, since the vault is being closed."""
        async with self._ended:
            self._is_closed = True
            self._ended.notify_all()

    def check_open(self, name: str) -> None:
        """Raise Unavailable if the vault of this name was closed while a client waited."""
        if self._is_closed:
            raise Unavailable(f"{name} was closed meanwhile; try again")

    async def wait_for_next(
        self, request: Callable[[], None], *, accept_loss: bool, files: bool = True
    ) -> None:
        """Call ``request`` to ask for a scan, and return when one that begins from now on has ended.

        Without ``files`` only notes are waited for.
        """
        async with self._ended:
            self.accepts_loss = accept_loss
            target = self._begun + 1
            request()
            await self._ended.wait_for(
                lambda: self._is_closed or (self._done if files else self._noted) >= target
            )

    async def wait_if_new(self) -> None:
        """Give the first scan of a vault without an index a moment, once: a long one is not waited for."""
        left = self._opened + FIRST_SCAN_SECONDS - time.monotonic()
        if not self._was_indexed and left > 0:
            await self.wait_for_first(left)

    async def wait_for_first(self, seconds: float) -> bool:
        """Wait up to ``seconds`` for the first scan since the vault was opened; true if it is done."""
        if self._done:
            return True
        async with self._ended:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._ended.wait_for(lambda: self._done > 0)
        return self._done > 0
