"""The activity of an open vault: its state, the callback for changes, and the number of changed notes."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace

from vaultseek.base import paths
from vaultseek.base.model import Reason
from vaultseek.core.indexing.open_vault import OpenVault

log = logging.getLogger(__name__)


class ActivityReporter:
    """A reporter that sets the activity of an open vault, on the event loop.

    ``notify`` is called with the paths of changed notes; the list is empty if only the state changed.
    """

    def __init__(self, vault: OpenVault, notify: Callable[[list[str]], None]) -> None:
        self.notify = notify
        self._vault = vault
        self._logged = ""

    def set_state(self, state: str, reason: Reason | None) -> None:
        """Set the indexing state, as shown by ``index/status``, and the reason for it."""
        activity = self._vault.activity
        if state in ("ready", "polling"):
            self._logged = ""
        if (state, reason) != (activity.state, activity.reason):
            self._vault.activity = replace(activity, state=state, reason=reason)
            self.notify([])

    def set_embed_problem(self, problem: Reason | None) -> None:
        """Set the reason why vectors cannot be stored, or None."""
        self._vault.activity = replace(self._vault.activity, embed_problem=problem)
        self.notify([])

    def report_failure(self, error: Exception) -> None:
        """Set the state after an indexing error. A repeated error is logged only once, until indexing
        succeeds."""
        if paths.is_disk_full(error):
            reason = Reason("disk_full", "the disk is full; nothing new is indexed until there is space")
            self.set_state("disk_full", reason)
        else:
            if repr(error) != self._logged:
                self._logged = repr(error)
                log.error("indexing changes of %s failed; trying again", self._vault.name, exc_info=error)
            what = paths.shortage(error)
            message = what or f"indexing changes failed ({type(error).__name__}); see the log"
            self.set_state("failing", Reason("failing", message))


class ChangedNotes:
    """The number of note changes since the vault was opened, and since its language was last detected."""

    def __init__(self) -> None:
        self._count = 0
        self._changed = asyncio.Event()
        self._judged_at: int | None = None

    def add(self, count: int) -> None:
        """Add the number of notes, possibly 0, changed by a scan or a save."""
        self._count += count
        self._changed.set()

    async def wait_for_share(self, notes: Callable[[], int], *, pause: float, share: float) -> None:
        """On the first call, wait for the first scan and then ``pause`` seconds. On later calls, wait until
        this ``share`` of the notes has changed."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            await asyncio.sleep(pause)
            new = self._count - (self._judged_at or 0)
            if self._judged_at is None or new > share * notes():
                self._judged_at = self._count
                return
