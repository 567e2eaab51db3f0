"""Vaults that could not be opened: the reasons, and further attempts to open them."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from vaultseek.base import paths
from vaultseek.base.model import Reason, reason_json
from vaultseek.core.indexing.open_vault import VaultOptions
from vaultseek.core.indexing.status import Activity, VaultStatus
from vaultseek.daemon.tasks import pause_after
from vaultseek.errors import VaultseekError
from vaultseek.store.ledger import Counts

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FailedVault:
    """A vault that could not be opened, and the reason."""

    options: VaultOptions
    reason: Reason

    @property
    def state(self) -> str:
        """The state of the vault, as shown by ``index/status``."""
        return self.reason.code if self.reason.code in ("vault_missing", "disk_full") else "failing"

    def status(self) -> VaultStatus:
        """Return the status of the vault, whose index is reported as empty."""
        lanes = {lane: {"up": False, **reason_json(self.reason)} for lane in ("keyword", "semantic", "graph")}
        return VaultStatus(
            name=self.options.name,
            path=str(self.options.root),
            activity=Activity(self.state, self.reason),
            counts=Counts(0, 0, 0, 0),
            embeddings_computed=0,
            rate=0.0,
            revision=0,
            problems=[],
            lanes=lanes,
            models={},
        )


class FailedVaults:
    """Vaults that could not be opened, by folder. ``open`` opens a vault, and calls ``add`` if that fails."""

    def __init__(self, open: Callable[[VaultOptions], Awaitable[Any]]) -> None:
        self._open = open
        self._vaults: dict[Path, FailedVault] = {}
        self._retrying: dict[Path, asyncio.Task[None]] = {}

    def all(self) -> list[FailedVault]:
        """Return the vaults whose opening is retried."""
        return list(self._vaults.values())

    def add(self, options: VaultOptions, error: Exception, *, again: bool) -> VaultseekError:
        """Record a failed attempt to open a vault; return the error for clients. With ``again``, the attempt
        is repeated later."""
        reason = _reason(options, error)
        if again:
            previous = self._vaults.get(options.root)
            if previous is None or previous.reason != reason:
                unexpected = None if isinstance(error, VaultseekError | OSError) else error
                log.error("%s cannot be opened: %s", options.name, reason.text, exc_info=unexpected)
            self._vaults[options.root] = FailedVault(options, reason)
            if options.root not in self._retrying:
                self._retrying[options.root] = asyncio.create_task(self._retry(options.root))
        return error if isinstance(error, VaultseekError) else reason.error()

    def forget(self, root: Path) -> None:
        """Stop retrying a vault that is open or no longer needed."""
        self._vaults.pop(root, None)
        retrying = self._retrying.pop(root, None)
        if retrying is not None and retrying is not asyncio.current_task():
            retrying.cancel()

    def stop(self) -> None:
        """Stop all retries."""
        for root in list(self._retrying):
            self.forget(root)

    async def _retry(self, root: Path) -> None:
        for failures in count(1):
            await asyncio.sleep(pause_after(failures))
            vault = self._vaults.get(root)
            if vault is None:
                return
            with contextlib.suppress(VaultseekError):
                await self._open(vault.options)


def _reason(options: VaultOptions, error: Exception) -> Reason:
    if isinstance(error, VaultseekError):
        return Reason.of(error)
    if paths.is_disk_full(error):
        return Reason("disk_full", "the disk is full; free some space, and the vault will open by itself")
    what = f"the index for {options.name} cannot be opened"
    why = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return Reason("failing", f"{what}: {why}; see the log")
