"""A followed vault as methods see it that a client with a token may call: the whole, or a part of it."""

from __future__ import annotations

from typing import Protocol

from vaultseek.base.model import Reason
from vaultseek.content.markdown.resolve import Names
from vaultseek.core.indexing.open_vault import VaultOptions
from vaultseek.core.indexing.status import VaultStatus
from vaultseek.core.notes.complete import VaultCompleter
from vaultseek.core.notes.related import RelatedVault


class LinkTargets(Protocol):
    """The files that links may lead to."""

    @property
    def names(self) -> Names: ...


class SeenVault(RelatedVault, Protocol):
    """The notes of a vault that a client may see, their index, and the options of the vault."""

    @property
    def options(self) -> VaultOptions: ...

    @property
    def indexer(self) -> LinkTargets: ...


class SeenFollower(Protocol):
    """A vault that is followed, or the part of it that a client may see; `VaultFollower` has the details."""

    @property
    def vault(self) -> SeenVault: ...

    @property
    def completer(self) -> VaultCompleter: ...

    def status(self) -> VaultStatus: ...

    def degraded_reason(self) -> Reason | None: ...

    async def wait_if_new(self) -> None: ...

    async def wait_for_first_scan(self, seconds: float) -> bool: ...

    def keep_names_ranked(self) -> None: ...
