"""The scans of a vault, the work left after them, and waiting for scans or work to finish."""

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
"""Maximum seconds for which searches wait for the first scan after a new vault is opened."""


class Extent(IntEnum):
    """The extent of a scan: only notes, all files except PDFs and pictures, or all files."""

    NOTES = 0
    LINKING = 1
    ALL = 2


class Scans:
    """Records of the scans started and completed since a vault was opened.

    ``was_indexed`` is True if the vault already had an index. ``is_done`` is True for a paused vault, which
    is not scanned.
    """

    def __init__(self, *, was_indexed: bool, is_done: bool = False) -> None:
        self.accepts_loss = False
        """True if a client has confirmed, for the next scan, that missing notes were deleted."""
        self._was_indexed = was_indexed
        self._opened = time.monotonic()
        self._begun = int(is_done)
        self._ended_scans = [self._begun] * len(Extent)
        """For each extent, the number of the last scan whose files are all indexed."""
        self.ending: VaultseekError | None = None
        """A specific error for clients that are still waiting when the vault is closed, or None."""
        self._is_closed = False
        self._ended = asyncio.Condition()

    @property
    def is_new(self) -> bool:
        """True if the vault's folder has never been completely indexed."""
        return not self._was_indexed and not self._ended_scans[Extent.ALL]

    def begin(self) -> None:
        """Record the start of a scan, which finds everything that is now on disk."""
        self._begun += 1

    async def finish(self, extent: Extent = Extent.ALL) -> None:
        """Record that the files found by the last scan are indexed up to this extent."""
        async with self._ended:
            self._ended_scans[: extent + 1] = [self._begun] * (extent + 1)
            self._ended.notify_all()

    async def close(self) -> None:
        """Wake all waiting clients, because the vault is being closed."""
        async with self._ended:
            self._is_closed = True
            self._ended.notify_all()

    def check_open(self, name: str) -> None:
        """Check that the vault ``name`` was not closed while a client was waiting. Otherwise, raises
        ``ending`` if it is set, or else Unavailable."""
        if self._is_closed:
            raise self.ending or Unavailable(f"{name} has been closed; try again")

    async def wait_for_next(
        self, request: Callable[[], None], *, accept_loss: bool, extent: Extent = Extent.ALL
    ) -> None:
        """Call ``request`` to request a scan, and wait for the end of a scan that starts after this call.

        Files outside ``extent`` are not waited for.
        """
        async with self._ended:
            self.accepts_loss |= accept_loss
            target = self._begun + 1
            request()
            await self._ended.wait_for(lambda: self._is_closed or self._ended_scans[extent] >= target)

    async def wait_if_new(self) -> None:
        """Wait briefly for the first scan, if the vault had no index when it was opened."""
        left = self._opened + FIRST_SCAN_SECONDS - time.monotonic()
        if not self._was_indexed and left > 0:
            await self.wait_for_first(left)

    async def wait_for_first(self, seconds: float) -> bool:
        """Wait up to ``seconds`` for the first scan since the vault was opened. Return True if the scan is
        done."""
        if self._ended_scans[Extent.ALL]:
            return True
        async with self._ended:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._ended.wait_for(lambda: self._ended_scans[Extent.ALL] > 0)
        return self._ended_scans[Extent.ALL] > 0


EMBED_POLL_SECONDS = 0.05


class Backlog:
    """The work that remains until the index of a vault is up to date."""

    def __init__(self, vault: OpenVault, worker: SemanticWorker, scans: Scans) -> None:
        self._vault = vault
        self._worker = worker
        self._scans = scans

    @property
    def count(self) -> int:
        """Number of notes not yet read plus number of vectors not yet stored."""
        return self._vault.activity.pending(self._vault.ledger.counts())

    def waiting_reason(self) -> Reason | None:
        """Return the reason why the index cannot be completed now, or None."""
        vault, state = self._vault, self._worker.state
        if vault.activity.embed_problem is not None:
            return vault.activity.embed_problem
        if state.status != "ready":
            return state.reason or Reason("loading", "the model is being loaded")
        behind = vault.keyword_reason()
        return behind if behind is not None and behind.code == "behind" else None

    def is_empty(self) -> bool:
        """Return True if everything is read and embedded, so that there is time to build the concept
        vocabulary."""
        reason = self._vault.keyword_reason() or self._vault.spaces.reason()
        return reason is None and self._is_read() and not self.count

    def is_idle(self) -> bool:
        """Return True if no work remains, except for texts that cannot be embedded now."""
        return self.is_empty() or (self._is_read() and self._worker.state.status == "broken")

    async def wait_until_embedded(self) -> None:
        """Wait until all vectors are stored and searchable, and the engine, if there is one, has all notes.

        Raises Unavailable if the vault is closed, or WorkerUnavailable if the model is unusable or there has
        been no progress for a long time.
        """
        vault, advance = self._vault, Advance(self._vault)
        vault.embedding.retry.set()  # the user may have fixed the cause of the last failure
        while (
            vault.ledger.counts().pending
            or vault.embedding.has_previous
            or vault.embedding.has_orphans  # orphaned vectors would displace others among the nearest
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
        """Return True during work that has its own time limits and may make no visible progress for a long
        time."""
        vault, worker = self._vault, self._worker.state
        is_computing = self.waiting_reason() is None and worker.doing
        is_starting = worker.status == "starting" and not worker.in_vain
        return bool(is_computing or is_starting or vault.engine.is_indexing)

    def _is_read(self) -> bool:
        activity = self._vault.activity
        return activity.state in ("ready", "polling") and not activity.notes_left
