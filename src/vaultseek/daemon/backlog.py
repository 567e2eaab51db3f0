"""The backlog of an open vault: what is still to be read, embedded, or given to an engine."""

from __future__ import annotations

import asyncio

from vaultseek.core.indexing.advance import Advance
from vaultseek.core.indexing.open_vault import OpenVault
from vaultseek.daemon.scans import Scans
from vaultseek.daemon.snapshot import waiting_reason
from vaultseek.errors import WorkerUnavailable
from vaultseek.semantic.worker import SemanticWorker

EMBED_POLL_SECONDS = 0.05


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

    def is_idle(self) -> bool:
        """True if nothing is left, or only texts that cannot be embedded now."""
        return self.is_empty() or (self._is_read() and self._worker.state.status == "broken")

    async def wait_until_embedded(self) -> None:
        """Return when every vector is stored and searchable, and an engine has all notes.

        Raises WorkerUnavailable if the model cannot be used or nothing has moved for long, or Unavailable.
        """
        vault, advance = self._vault, Advance(self._vault)
        vault.embedding.retry.set()  # whoever asks may have mended what failed
        while (
            vault.ledger.counts().pending
            or vault.embedding.has_previous
            or vault.semantic_reason() is not None
            or vault.keyword_reason() is not None
            or not vault.engine.is_synced
        ):
            vault.embedding.wake.set()
            await asyncio.sleep(EMBED_POLL_SECONDS)
            self._scans.check_open(vault.name)
            self._check(advance)

    def _check(self, advance: Advance) -> None:
        """Raise WorkerUnavailable if nobody should wait any longer."""
        vault, worker = self._vault, self._worker.state
        if worker.reason is not None and worker.reason.code == "model_unusable":
            raise WorkerUnavailable(worker.reason.text)
        reason = waiting_reason(vault, self._worker)
        is_computing = reason is None and worker.doing
        if is_computing or worker.status == "starting" or vault.embedding.handout.current is not None:
            advance.wait()  # that has limits of its own
        advance.check(reason.text if reason else "the index is not complete")

    def _is_read(self) -> bool:
        activity = self._vault.activity
        return activity.state in ("ready", "polling") and not activity.notes_left
