"""The backlog of an open vault: what is still to be read, embedded, or given to an engine."""

from __future__ import annotations

import asyncio

from vaultseek.daemon.scans import Scans
from vaultseek.errors import WorkerUnavailable
from vaultseek.indexing.open_vault import OpenVault
from vaultseek.worker import SemanticWorker

EMBED_POLL_SECONDS = 0.05
EMBED_FAILURES = 100
"""Failed checks of the embedding after which a waiting client gets an error."""


class Backlog:
    """The work that is left until the index of a vault covers its notes as they are."""

    def __init__(self, vault: OpenVault, worker: SemanticWorker, scans: Scans) -> None:
        self._vault = vault
        self._worker = worker
        self._scans = scans

    @property
    def count(self) -> int:
        """Notes not yet read plus vectors not yet stored."""
        return self._vault.activity.pending(self._vault.ledger.counts())

    def is_empty(self) -> bool:
        """True if everything is read and embedded, so that there is time for the concept vocabulary."""
        reason = self._vault.keyword_reason() or self._vault.semantic_reason()
        return reason is None and self._is_read() and not self.count

    def has_time_to_compact(self) -> bool:
        """True if nothing is left, or only texts that cannot be embedded now."""
        return self.is_empty() or (self._is_read() and self._worker.state.status == "broken")

    async def wait_until_embedded(self) -> None:
        """Return when every vector is stored and searchable, and an engine has all notes.

        Raises WorkerUnavailable or Unavailable if that fails.
        """
        failures = 0
        vault = self._vault
        while (
            vault.ledger.counts().pending
            or vault.embedding.has_previous
            or vault.semantic_reason() is not None
            or vault.keyword_reason() is not None
            or not (vault.engine is None or vault.engine.is_level)
        ):
            vault.embedding.wake.set()
            await asyncio.sleep(EMBED_POLL_SECONDS)
            self._scans.check_open(vault.name)
            behind = vault.keyword_reason()
            problem = vault.activity.embed_problem or (
                behind if behind is not None and behind.code == "behind" else None
            )
            failures = failures + 1 if problem else 0
            if failures > EMBED_FAILURES or self._worker.state.status == "broken":
                raise WorkerUnavailable(problem.text if problem else "the semantic worker is down")

    def _is_read(self) -> bool:
        activity = self._vault.activity
        return activity.state in ("ready", "polling") and not activity.notes_left
