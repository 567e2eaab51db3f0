"""The scans of a vault, the backlog after them, and waiting for both."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from enum import IntEnum

from vaultseek.base.model import Reason
from vaultseek.core.indexing.open_vault import Advance, OpenVault
from vaultseek.errors import Unavailable, VaultseekError, WorkerUnavailable
from vaultseek.semantic.worker import SemanticWorker

FIRST_SCAN_SECONDS = 0.8
"""Maximum seconds that searches wait for the first scan of a new vault after it was opened."""


class Extent(IntEnum):
    """The extent of a scan: notes only, all files except PDFs and pictures, or every file."""

    NOTES = 0
    LINKING = 1
    ALL = 2


class Scans:
    """The scans begun and completed since a vault was opened.

    ``was_indexed`` is True if the vault had an index before. ``is_done`` is True if there will be no scan.
    """

    def __init__(self, *, was_indexed: bool, is_done: bool = False) -> None:
        self.accepts_loss = False
        """True if a client has confirmed, for the next scan, that missing notes were deleted."""
        self._was_indexed = was_indexed
        self._opened = time.monotonic()
        self._begun = int(is_done)
        self._ended_scans = [self._begun] * len(Extent)
        """For each extent, the last scan whose files are all indexed."""
        self.ending: VaultseekError | None = None
        """A specific error for clients that are waiting when the vault is closed, or None."""
        self._is_closed = False
        self._ended = asyncio.Condition()

    @property
    def is_new(self) -> bool:
        """True if the vault has no index yet that covers its folder."""
        return not self._was_indexed and not self._ended_scans[Extent.ALL]

    def begin(self) -> None:
        """Record the beginning of a scan, which finds everything currently on disk."""
        self._begun += 1

    async def finish(self, extent: Extent = Extent.ALL) -> None:
        """Record that the files of the last scan are indexed up to this extent."""
        async with self._ended:
            self._ended_scans[: extent + 1] = [self._begun] * (extent + 1)
            self._ended.notify_all()

    async def close(self) -> None:
        """End all waiting, because the vault is being closed."""
        async with self._ended:
            self._is_closed = True
            self._ended.notify_all()

    def check_open(self, name: str) -> None:
        """Raise ``ending``, or Unavailable, if the vault with this name was closed while a client was
        waiting."""
        if self._is_closed:
            raise self.ending or Unavailable(f"{name} has been closed; try again")

    async def wait_for_next(
        self, request: Callable[[], None], *, accept_loss: bool, extent: Extent = Extent.ALL
    ) -> None:
        """Call ``request`` to request a scan, and wait until a scan that begins after now has ended.

        The call does not wait for files beyond the ``extent``.
        """
        async with self._ended:
            self.accepts_loss |= accept_loss
            target = self._begun + 1
            request()
            await self._ended.wait_for(lambda: self._is_closed or self._ended_scans[extent] >= target)

    async def wait_if_new(self) -> None:
        """Wait briefly for the first scan of a vault without an index."""
        left = self._opened + FIRST_SCAN_SECONDS - time.monotonic()
        if not self._was_indexed and left > 0:
            await self.wait_for_first(left)

    async def wait_for_first(self, seconds: float) -> bool:
        """Wait up to ``seconds`` for the first scan since the vault was opened; return True if it is done."""
        if self._ended_scans[Extent.ALL]:
            return True
        async with self._ended:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._ended.wait_for(lambda: self._ended_scans[Extent.ALL] > 0)
        return self._ended_scans[Extent.ALL] > 0


EMBED_POLL_SECONDS = 0.05


class Backlog:
    """The remaining work until the index of a vault is up to date."""

    def __init__(self, vault: OpenVault, worker: SemanticWorker, scans: Scans) -> None:
        self._vault = vault
        self._worker = worker
        self._scans = scans

    @property
    def count(self) -> int:
        """Number of notes not yet read plus vectors not yet stored."""
        return self._vault.activity.pending(self._vault.ledger.counts())

    def waiting_reason(self) -> Reason | None:
        """Return the reason why the index currently cannot be completed, or None."""
        vault, state = self._vault, self._worker.state
        if vault.activity.embed_problem is not None:
            return vault.activity.embed_problem
        if state.status != "ready":
            return state.reason or Reason("loading", "the model is being loaded")
        behind = vault.keyword_reason()
        return behind if behind is not None and behind.code == "behind" else None

    def is_empty(self) -> bool:
        """True if everything is read and embedded; there is then time for the concept vocabulary."""
        reason = self._vault.keyword_reason() or self._vault.spaces.reason()
        return reason is None and self._is_read() and not self.count

    def is_idle(self) -> bool:
        """True if nothing is left, or only texts that currently cannot be embedded."""
        return self.is_empty() or (self._is_read() and self._worker.state.status == "broken")

    async def wait_until_embedded(self) -> None:
        """Wait until every vector is stored and searchable, and an engine, if any, has all notes.

        Raises Unavailable, or WorkerUnavailable if the model is unusable or there has been no progress for a
        long time.
        """
        vault, advance = self._vault, Advance(self._vault)
        vault.embedding.retry.set()  # the client may have fixed the cause
        while (
            vault.ledger.counts().pending
            or vault.embedding.has_previous
            or vault.embedding.has_orphans  # they would displace others among the nearest
            or vault.spaces.reason() is not None
            or vault.keyword_reason() is not None
            or not vault.engine.is_synced
        ):
            vault.embedding.wake.set()
            await asyncio.sleep(EMBED_POLL_SECONDS)
            self._scans.check_open(vault.name)
            self._check(advance)

    def _check(self, advance: Advance) -> None:
        worker = self._worker.state
        if worker.reason is not None and worker.reason.code == "model_unusable":
            raise WorkerUnavailable(worker.reason.text, advice=worker.reason.advice)
        reason = self.waiting_reason()
        if self.is_at_work():
            advance.wait()
        advance.check(reason.text if reason else "the index is not complete")

    def is_at_work(self) -> bool:
        """True during work that has its own time limits and may show no progress for a long time."""
        vault, worker = self._vault, self._worker.state
        is_computing = self.waiting_reason() is None and worker.doing
        is_starting = worker.status == "starting" and not worker.in_vain
        return bool(is_computing or is_starting or vault.engine.is_indexing)

    def _is_read(self) -> bool:
        activity = self._vault.activity
        return activity.state in ("ready", "polling") and not activity.notes_left
