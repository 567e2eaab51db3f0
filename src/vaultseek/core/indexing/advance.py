"""The advance of the indexing of a vault, for a client that waits for its end."""

from __future__ import annotations

import time

from vaultseek.base.limits import STALLED_SECONDS
from vaultseek.core.indexing.open_vault import OpenVault
from vaultseek.errors import WorkerUnavailable


class Advance:
    """The steps of one vault, as far as they lead on: a store that is filled again and again does not."""

    def __init__(self, vault: OpenVault) -> None:
        self._vault = vault
        self._moved = time.monotonic()
        self._steps: tuple[int, ...] = ()
        self._least = 0

    def wait(self) -> None:
        """Note that what goes on now takes as long as it takes."""
        self._moved = time.monotonic()

    def check(self, problem: str) -> None:
        """Raise `WorkerUnavailable` with the ``problem`` if nothing has moved for ``STALLED_SECONDS``."""
        ledger = self._vault.ledger
        pending, synced = ledger.counts().pending, self._vault.engine.synced_revision
        steps = (ledger.revision, ledger.vectors.embeddings_computed(), synced)
        if steps != self._steps or pending < self._least:
            self._steps, self._least, self._moved = steps, pending, time.monotonic()
        elif time.monotonic() - self._moved > STALLED_SECONDS:
            raise WorkerUnavailable(f"nothing has moved for {STALLED_SECONDS:.0f} s: {problem}")
