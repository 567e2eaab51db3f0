"""The part of a vault that an agent, or a client with limited rights, may see."""

import asyncio
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path

from vaultseek.base.model import Reason
from vaultseek.content.files.scan import file_stat
from vaultseek.content.query.hide import Hidden
from vaultseek.core.graph.vault_structure import VaultStructure
from vaultseek.core.indexing.scoped_vault import ScopedVault, general
from vaultseek.core.notes.complete import VaultCompleter
from vaultseek.daemon.follow import VaultFollower
from vaultseek.daemon.vaults import VaultRegistry, opened_soon
from vaultseek.daemon.visible.hidden import HIDE, current_hidden, hidden_paths
from vaultseek.daemon.visible.rights import CURRENT_RIGHTS, Rights
from vaultseek.errors import Forbidden, Unavailable, UsageError, VaultMissing
from vaultseek.store.ledger import Counts, Ledger
from vaultseek.store.ledger.scoped import EVERYWHERE, Folders

KEPT_VIEWS = 32
"""Maximum number of cached views; the cache is cleared when it is full."""


class ScopedFollower:
    """An open vault that shows only the visible folders, without hidden notes."""

    def __init__(self, follower: VaultFollower, folders: Folders, hidden: Hidden) -> None:
        self._hidden = hidden
        self._hidden_paths: frozenset[str] = frozenset()
        self.vault = ScopedVault(follower.vault, folders, self._hide)
        self.structure = VaultStructure()
        self.completer = VaultCompleter(self.vault.ledger)
        self._follower = follower
        self.status = follower.status  # redacted by access control
        self.wait_if_new = follower.wait_if_new
        self.wait_for_first_scan = follower.wait_for_first_scan

    def is_current(self, follower: VaultFollower) -> bool:
        """Return True if this is a view of the vault in ``follower``, and the vault has not changed since the
        view was made."""
        whole, own = follower.vault.ledger, self.vault
        is_embedded = whole.counts().pending == 0
        is_same = own.revision == whole.revision and own.is_embedded == is_embedded
        return self._follower is follower and is_same

    def still_hides(self) -> bool:
        """Return False if a later commit has hidden more notes."""
        whole = self._follower.vault.ledger
        if self.vault.revision == whole.revision or self._hidden == Hidden():
            return True
        return hidden_paths(self._hidden, whole) <= self._hidden_paths

    def check_read(self, path: str) -> None:
        """Raise Unavailable if the file at ``path`` has changed since it was indexed: its new content may
        have to be hidden."""
        vault = self._follower.vault
        if self._hidden.filter is None or vault.options.folder is None:
            return
        known = vault.ledger.select("SELECT mtime_ns, size FROM notes WHERE path = ?", path)
        stat = file_stat(vault.options.folder, path)
        if stat is None or known != [(stat.mtime_ns, stat.size)]:
            raise Unavailable("the note has just changed; try again in a moment")

    def _hide(self, ledger: Ledger) -> frozenset[str]:
        self._hidden_paths = hidden_paths(self._hidden, ledger)
        return self._hidden_paths

    def degraded_reason(self) -> Reason | None:
        """Return a general reason why an answer might not reflect the latest changes, or None."""
        return general(self._follower.degraded_reason())

    def keep_names_ranked(self) -> None:
        """Do nothing, because a view reads the names again after each commit."""


SeenFollower = VaultFollower | ScopedFollower
"""An open vault, or its visible part, for methods that clients other than the user's own may call."""


USED_VIEWS: ContextVar[list[ScopedFollower]] = ContextVar("used_views")
"""The views used by the current request."""


class Views:
    """Lookup of vaults, limited to what the current client may see. The user sees everything."""

    def __init__(self, registry: VaultRegistry) -> None:
        self._registry = registry
        self._views: dict[tuple[Path, Folders, Hidden], ScopedFollower] = {}

    async def find(self, vault: str | None, folder: str | None) -> SeenFollower:
        """Return the visible part of the vault that a request refers to. Raises Forbidden, and the errors of
        `VaultRegistry.find`."""
        rights = CURRENT_RIGHTS.get()
        if rights is None:
            return await self._seen(await self._registry.find(vault, folder), rights)
        name = _name_of(vault, self.names(rights))
        return await self._seen(await self._registry.find(name, None), rights)

    async def find_all(self) -> Mapping[str, SeenFollower | Exception]:
        """Return all visible vaults by name. Raises the errors of `VaultRegistry.find_all`."""
        vaults = await self._registry.find_all()
        rights = CURRENT_RIGHTS.get()
        names = [*vaults] if rights is None else self.names(rights)
        seen = {name: vault for name, vault in vaults.items() if name in names}
        if not seen:
            raise UsageError("this token has no access to any vault; ask the server's administrator")
        return {
            name: vault if isinstance(vault, Exception) else await self._seen(vault, rights)
            for name, vault in seen.items()
        }

    async def find_several(
        self, vaults: Sequence[str], folder: str | None
    ) -> Mapping[str, SeenFollower | Exception]:
        """Return the requested vaults by name. For a vault that cannot be opened, the value is the exception.
        Raises UsageError, VaultMissing or Forbidden."""
        found: dict[str, SeenFollower | Exception] = {}
        names = [*dict.fromkeys(vaults)]
        opened = await asyncio.gather(
            *(opened_soon(self.find(name, folder), name) for name in names), return_exceptions=True
        )
        for name, each in zip(names, opened, strict=True):
            if not isinstance(each, BaseException):
                found[each.vault.name] = each
            elif isinstance(each, Unavailable) and not isinstance(each, VaultMissing | Forbidden):
                found[name] = each
            else:
                raise each
        return found

    async def counts(self, vault: str) -> Counts:
        """Return the counts of a vault's visible notes. Raises the errors of ``find``."""
        follower = await self.find(vault, None)
        return await asyncio.to_thread(follower.vault.ledger.counts)

    def names(self, rights: Rights) -> list[str]:
        """Return the names of the configured vaults that are visible with these rights."""
        return [vault.name for vault in self._registry.settings.vaults if rights.sees(vault.name)]

    async def _seen(self, follower: VaultFollower, rights: Rights | None) -> SeenFollower:
        folders = None if rights is None else rights.folders(follower.vault.name)
        if folders is None and not HIDE.get():
            return follower
        folders, hidden = EVERYWHERE if folders is None else folders, current_hidden()
        key = (follower.vault.options.root, folders, hidden)
        view = self._views.get(key)
        if view is None or not view.is_current(follower):
            view = await asyncio.to_thread(ScopedFollower, follower, folders, hidden)
            if len(self._views) >= KEPT_VIEWS:
                self._views.clear()
            self._views[key] = view
        if (used := USED_VIEWS.get(None)) is not None:
            used.append(view)
        return view


def _name_of(vault: str | None, names: list[str]) -> str:
    """Return the name of the vault that a request refers to. Paths are refused, because a path could be any
    folder on the machine."""
    listed = ", ".join(names) or "none"
    if vault is None:
        if len(names) == 1:
            return names[0]
        raise UsageError(f"which vault? choose one to which this token has access: {listed}")
    for name in names:
        if name.casefold() == vault.casefold():
            return name
    raise Forbidden(f"this token has no access to that vault, only to: {listed}")
