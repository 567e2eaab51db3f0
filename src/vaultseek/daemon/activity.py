"""Telling how the indexing of an open vault goes: its activity, and those who hear of each change."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from vaultseek.base import paths
from vaultseek.base.model import Reason
from vaultseek.core.indexing.open_vault import OpenVault

log = logging.getLogger(__name__)


class ActivityReporter:
    """Sets the activity of an open vault, on the event loop.

    ``notify`` is called with the paths of changed notes, and with none when only the state has changed.
    """

    def __init__(self, vault: OpenVault, notify: Callable[[list[str]], None]) -> None:
        self.notify = notify
        self._vault = vault
        self._logged = ""

    def set_state(self, state: str, reason: Reason | None) -> None:
        """Set the state of the indexing, as ``index/status`` names it."""
        activity = self._vault.activity
        if state in ("ready", "polling"):
            self._logged = ""
        if (state, reason) != (activity.state, activity.reason):
            self._vault.activity = replace(activity, state=state, reason=reason)
            self.notify([])

    def set_embed_problem(self, problem: Reason | None) -> None:
        """Set what prevents the storing of vectors, or None."""
        self._vault.activity = replace(self._vault.activity, embed_problem=problem)
        self.notify([])

    def report_failure(self, error: Exception) -> None:
        """Set the state after an error of the indexing; log the same error once until it is over."""
        if paths.is_disk_full(error):
            reason = Reason("disk_full", "the disk is full; nothing new is indexed until there is space")
            self.set_state("disk_full", reason)
        else:
            if repr(error) != self._logged:
                self._logged = repr(error)
                log.error("indexing changes of %s failed; trying again", self._vault.name, exc_info=error)
            message = f"indexing changes failed ({type(error).__name__}); see the log"
            self.set_state("failing", Reason("failing", message))
