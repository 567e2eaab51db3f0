"""RPC methods `vault/list`, `vault/add`, `vault/remove`, `vault/pause` and `vault/resume`."""

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable
from pathlib import Path

from pydantic import ValidationError

from vaultseek.base.model import JSON
from vaultseek.base.paths import is_folder, no_folder_reason
from vaultseek.base.text import quote
from vaultseek.daemon.follow import VaultFollower
from vaultseek.daemon.known_vaults import check_vault_folder
from vaultseek.daemon.methods.access import Handlers
from vaultseek.daemon.vaults import VaultRegistry, closed_soon
from vaultseek.daemon.visible.rights import CURRENT_RIGHTS
from vaultseek.errors import ConfigError, Unavailable, UsageError, VaultMissing
from vaultseek.protocol.messages import params
from vaultseek.protocol.wire.context import RequestContext
from vaultseek.settings.describe import first_problem
from vaultseek.settings.model import VaultSettings
from vaultseek.settings.watch import SettingsFile, write_registry

_Write = Callable[[], None]
log = logging.getLogger(__name__)


class VaultMethods:
    """Handlers that list and change the vaults. Changes are made one at a time."""

    def __init__(self, file: SettingsFile, registry: VaultRegistry) -> None:
        self._file = file
        self._registry = registry
        self._changing = asyncio.Lock()
        """Held while settings are read, changed and applied. Every request needs this lock, so a task that
        holds it must not wait for a vault."""
        self._reported = ""
        self._applying: asyncio.Task[None] | None = None

    def handlers(self) -> Handlers:
        """Return the handlers, keyed by method name."""
        return {
            "vault/list": self.list_vaults,
            "vault/add": self.add,
            "vault/remove": self.remove,
            "vault/pause": self.pause,
            "vault/resume": self.resume,
        }

    async def follow_settings(self) -> None:
        """Apply the settings if they have changed on disk.

        Raises ConfigError if they are invalid, except for a client with a token, which cannot correct the
        settings.
        """
        if CURRENT_RIGHTS.get() is not None:
            await self.follow_good_settings()
            return
        async with self._changing:
            await self._apply_settings()

    async def follow_good_settings(self) -> None:
        """Apply changed settings if they are valid; otherwise keep the previous settings."""
        try:
            async with self._changing:
                await self._apply_settings()
        except ConfigError as error:
            if str(error) != self._reported:
                log.error("keeping the previous settings, because the new ones are invalid: %s", error)
            self._reported = str(error)

    async def list_vaults(self, call: params.Nothing, context: RequestContext) -> JSON:
        """Return the vaults, each with its origin: the configuration, `vault add`, or a request."""
        await self.follow_settings()
        self._registry.close_missing()
        own = self._file.registry.vaults if self._registry.hosting.has_folders else ()
        added = {vault.path for vault in own}
        configured = self._configured()
        states = {follower.vault.options.root: follower for follower in self._registry.followers}
        roots = {vault.path: vault.name for vault in (*self._registry.settings.vaults, *own)}
        roots |= {root: follower.vault.name for root, follower in states.items()}
        return {
            "vaults": [
                {
                    "name": name,
                    "path": str(root),
                    "from": "config" if root in configured else "added" if root in added else "request",
                    "state": states[root].state if root in states else self._closed_state(root),
                    "notes": states[root].vault.ledger.counts().notes if root in states else 0,
                }
                for root, name in roots.items()
            ]
        }

    async def add(self, call: params.AddVaultParams, context: RequestContext) -> JSON:
        """Add a vault to the registry, so that it is also opened after a restart of the daemon."""
        vault = await self._add(call)
        return {"name": vault.name, "path": str(vault.path)}

    async def remember(self, follower: VaultFollower) -> bool:
        """Add an open vault to the registry. Return False if the vault is already configured or was already
        added."""
        await self.follow_settings()  # opening a vault whose folder was renamed may have changed the settings
        root = follower.vault.options.root
        if any(vault.path == root for vault in self._registry.settings.vaults):
            return False
        await self._add(params.AddVaultParams(path=str(root), name=follower.vault.name))
        return True

    async def _add(self, call: params.AddVaultParams) -> VaultSettings:
        self._registry.hosting.check_change()
        root = await asyncio.to_thread(_vault_folder, call.path)
        async with self._changing:
            await self._apply_settings()
            vault = self._new(root, call)
            await self._change(lambda: write_registry(self._file.registry.with_vault(vault)))
        return vault

    async def remove(self, call: params.RemoveVaultParams, context: RequestContext) -> JSON:
        """Remove a vault from the registry, and delete its index if requested. Never touches its notes."""
        await self.follow_settings()
        root = self._root(call.vault)
        if await self._registry.forget(root, drop=call.delete_index):
            return {"path": str(root), "index_deleted": True}
        if root in self._configured():
            raise UsageError(f"{quote(call.vault)} is configured in {self._file.path}; remove it there")
        if call.delete_index:
            await self._registry.check_deletable(root)
        async with self._changing:
            await self._change(lambda: write_registry(self._file.registry.without(root)))
        await closed_soon(self._registry.close_vault(root, delete_index=call.delete_index))
        return {"path": str(root), "index_deleted": call.delete_index}

    async def pause(self, call: params.NamedVaultParams, context: RequestContext) -> JSON:
        """Stop indexing changes to a vault; searches use its existing index."""
        return await self._set_paused(call, paused=True)

    async def resume(self, call: params.NamedVaultParams, context: RequestContext) -> JSON:
        """Resume indexing a vault, beginning with everything that changed during the pause."""
        return await self._set_paused(call, paused=False)

    async def _set_paused(self, call: params.NamedVaultParams, *, paused: bool) -> JSON:
        self._registry.hosting.check_change()
        async with self._changing:
            await self._apply_settings()
            root = self._root(call.vault)
            await self._change(lambda: write_registry(self._file.registry.with_paused(root, paused=paused)))
        await self._registry.find(str(root), None)
        return {"path": str(root), "paused": paused}

    async def _apply_settings(self) -> None:
        if not self._file.has_changed():  # called before every request; a thread would cost more
            return
        # The client may disconnect; the settings are applied anyway.
        self._applying = asyncio.create_task(self._read_and_apply())
        await asyncio.shield(self._applying)

    async def _read_and_apply(self) -> None:
        settings = await asyncio.to_thread(self._file.changed)
        if settings is not None:
            await self._registry.begin_opening(settings, self._file.registry.paused)

    async def _change(self, write: _Write) -> None:
        try:
            await asyncio.to_thread(write)
        except OSError as error:
            raise Unavailable(
                f"cannot write the list of vaults: {error.strerror or error}; nothing was changed"
            ) from None
        await self._apply_settings()

    def _closed_state(self, root: Path) -> str:
        for failed in self._registry.failed:
            if failed.options.root == root:
                return failed.state
        if not is_folder(root):
            return "vault_missing"
        return "paused" if root in self._file.registry.paused else "opening"

    def _configured(self) -> set[Path]:
        return {v.path for v in self._registry.settings.vaults} - {v.path for v in self._file.registry.vaults}

    def _root(self, name: str) -> Path:
        known = {v.path: v.name for v in (*self._file.registry.vaults, *self._registry.settings.vaults)}
        known |= {follower.vault.options.root: follower.vault.name for follower in self._registry.followers}
        for root, vault_name in known.items():
            if (
                vault_name.casefold() == name.casefold()
                or str(root) == name
                or (Path(name).is_absolute() and str(root) == os.path.realpath(name))
            ):
                return root
        raise VaultMissing(f"no vault named {quote(name)}; list the vaults")

    def _new(self, root: Path, call: params.AddVaultParams) -> VaultSettings:
        known = {vault.path: vault.name for vault in self._registry.settings.vaults}
        if root in known:
            raise UsageError(f"{root} is already a vault, named {quote(known[root])}; use that name")
        name = call.name or self._registry.free_name(root)
        if name.casefold() in {other.casefold() for other in known.values()}:
            raise UsageError(f"another vault has the name {quote(name)}; choose a different name")
        values = {"name": name, "path": root, "language": call.language, "exclude": call.exclude}
        try:
            return VaultSettings.model_validate(values)
        except ValidationError as error:
            key, problem = first_problem(error, VaultSettings)
            raise UsageError(f"parameter {key[0]}: {problem}") from None


def _vault_folder(name: str) -> Path:
    root = _existing_folder(name)
    check_vault_folder(root)
    return root


def _existing_folder(name: str) -> Path:
    if not name.isprintable():
        raise UsageError(f"{quote(name)} has control characters in its name; rename that folder first")
    # is_file fails for names that are too long and in unreadable folders, expanduser for an unknown user in
    # ~user
    with contextlib.suppress(OSError, RuntimeError, ValueError):
        folder = Path(name).expanduser()
        if folder.is_file():
            raise UsageError(f"{quote(name)} is a file; use a folder of notes")
        if folder.is_absolute() and is_folder(folder):
            return Path(os.path.realpath(folder))
    raise VaultMissing(f"{quote(name)}: {no_folder_reason(name)}; use the absolute path of a folder")
