"""The open vaults of this daemon, and which of them a request means."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping
from pathlib import Path

from vaultseek import paths
from vaultseek.daemon.follow import OnProgress, VaultFollower
from vaultseek.errors import UsageError, VaultMissing
from vaultseek.indexing.embed import OldModels
from vaultseek.indexing.model_source import ModelSource
from vaultseek.indexing.open_vault import OpenVault, VaultOptions
from vaultseek.models.choice import VaultModels
from vaultseek.settings.model import Settings, VaultSettings
from vaultseek.vault.ignore import OBSIDIAN_FOLDER
from vaultseek.worker import SemanticWorker

LANGUAGE_SECONDS = 2.0
"""Time between a change of notes and judging the language of their vault."""
LANGUAGE_CHANGED_SHARE = 0.1
"""Share of notes that have to change before the language of a vault is judged again."""
MISSING_SECONDS = 300.0
"""Close an unconfigured vault after its folder has been missing this many seconds."""

log = logging.getLogger(__name__)


class VaultRegistry:
    """The configured vaults, and folders that a request named; each is opened once and followed."""

    def __init__(self, settings: Settings, models: ModelSource, on_progress: OnProgress) -> None:
        self.settings = settings
        self._models = models
        self._on_progress = on_progress
        self._old_models = OldModels()
        self._paused: frozenset[Path] = frozenset()
        self._followers: dict[Path, VaultFollower] = {}
        self._opening: dict[Path, asyncio.Task[VaultFollower]] = {}
        self._judging: dict[Path, asyncio.Task[None]] = {}
        self._closing: dict[Path, asyncio.Future[None]] = {}

    async def start_workers(self) -> None:
        """Start the workers that the configured vaults will need."""
        roots = [vault.path for vault in self.settings.vaults]
        await self._models.start([paths.vault_data_directory(root) for root in roots])

    @property
    def worker(self) -> SemanticWorker:
        """The worker of the first vault, or the usual one if none is open."""
        if self._followers:
            return next(iter(self._followers.values())).worker
        return self._models.pool.worker(self._models.choice.main)

    @property
    def followers(self) -> list[VaultFollower]:
        """The open vaults, in the order in which they were opened."""
        return list(self._followers.values())

    async def open_configured(self, settings: Settings, paused: frozenset[Path] = frozenset()) -> None:
        """Open the vaults of ``settings``; close those that it no longer names or whose options changed.

        The vaults at ``paused`` are opened, but not followed.
        """
        previous_roots = {vault.path for vault in self.settings.vaults}
        self.settings, self._paused = settings, paused
        for each in self.followers:
            each.worker.keep_reranker(settings.search.reranker)
        configured = [self._configured(vault) for vault in settings.vaults]
        for options in configured:
            follower = self._followers.get(options.root)
            if follower is not None and follower.vault.options != options:
                await self.close_vault(options.root)
        for follower in self.followers:
            options = follower.vault.options
            if options.paused != (options.root in paused):
                await self.close_vault(options.root)
        for root in previous_roots - {options.root for options in configured}:
            await self.close_vault(root)
        failures: list[Exception] = []
        for options in configured:
            try:
                await self._open(options)
            except Exception as error:  # the others are opened nevertheless
                failures.append(error)
        if failures:
            raise failures[0]

    async def find(self, vault: str | None, folder: str | None) -> VaultFollower:
        """Return the vault that a request names, by name or folder, else the one around its ``folder``.

        Raises UsageError if that is none or could be several, VaultMissing if its folder is missing.
        """
        await self.close_missing()
        options = self._by_name(vault) if vault else self._around(folder)
        return await self._open(options)

    async def find_all(self) -> Mapping[str, VaultFollower | Exception]:
        """Return the configured vaults and the open ones by name, or why one cannot be opened.

        Raises UsageError if there is none.
        """
        await self.close_missing()
        known = self._known()
        if not known:
            raise UsageError(f"there is no vault yet; {self._choices()}")
        opened = await asyncio.gather(
            *(self._open(self._by_path(root)) for root in known), return_exceptions=True
        )
        vaults: dict[str, VaultFollower | Exception] = {}
        for name, each in zip(known.values(), opened, strict=True):
            if not isinstance(each, VaultFollower | Exception):
                raise each
            vaults[name] = each
        return vaults

    async def close_missing(self) -> None:
        """Close unconfigured vaults whose folders have been missing for long; their indexes are kept."""
        configured = {entry.path for entry in self.settings.vaults}
        for follower in self.followers:
            root = follower.vault.options.root
            if root not in configured and follower.missing_seconds() >= MISSING_SECONDS and not root.is_dir():
                log.info("closing %s: its folder has been missing for a while", follower.vault.name)
                await self.close_vault(root)

    async def close_vault(self, root: Path) -> None:
        """Close the vault at ``root`` if it is open."""
        judging = self._judging.pop(root, None)
        if judging is not None and judging is not asyncio.current_task():
            judging.cancel()
        follower = self._followers.pop(root, None)
        if follower is not None:
            closing = self._closing[root] = asyncio.ensure_future(follower.close())
            try:
                await asyncio.shield(closing)
            finally:
                self._closing.pop(root, None)
                self._models.pool.release(follower.vault.models.main)

    async def close(self) -> None:
        """Close all vaults."""
        for task in (*self._opening.values(), *self._judging.values()):
            task.cancel()
        await asyncio.gather(*(follower.close() for follower in self._followers.values()))
        self._followers.clear()
        await self._old_models.stop()

    def free_name(self, name: str, root: Path) -> str:
        """Return ``name`` for the vault at ``root``, with a number added if another vault has that name."""
        used = {entry.name.casefold() for entry in self.settings.vaults}
        others = (follower.vault for follower in self.followers if follower.vault.options.root != root)
        used |= {vault.name.casefold() for vault in others}
        candidates = [name, *(f"{name}-{number}" for number in range(2, len(used) + 3))]
        return next(candidate for candidate in candidates if candidate.casefold() not in used)

    # -- which -----------------------------------------------------------------------------------------

    def _by_name(self, name: str) -> VaultOptions:
        for entry in self.settings.vaults:
            if entry.name.casefold() == name.casefold():
                return self._configured(entry)
        for follower in self.followers:
            if follower.vault.name == name:
                return follower.vault.options
        path = Path(name).expanduser()
        if not path.is_absolute():
            raise VaultMissing(f"no vault named {name!r} and no such folder; {self._choices()}")
        if not path.is_dir() and not self._is_known(path):
            problem = "is a file, expected a folder of notes" if path.exists() else "no such folder"
            raise VaultMissing(f"no vault at {path}: {problem}; list the vaults with `vaultseek vault list`")
        return self._by_path(path)

    def _is_known(self, path: Path) -> bool:
        """True if ``path`` is a vault, even while its folder is missing."""
        root = Path(os.path.realpath(path))
        return root in self._followers or any(entry.path == root for entry in self.settings.vaults)

    def _around(self, folder: str | None) -> VaultOptions:
        here = Path(os.path.realpath(folder)) if folder else None
        if here is not None:
            inside = [entry for entry in self.settings.vaults if here.is_relative_to(entry.path)]
            if inside:
                return self._configured(max(inside, key=lambda entry: len(entry.path.parts)))
            for above in (here, *here.parents):
                if (above / OBSIDIAN_FOLDER).is_dir():
                    return self._by_path(above)
        known = self._known()
        if len(known) == 1:
            return self._by_path(next(iter(known)))
        raise UsageError(f"which vault? {self._choices()}")

    def _by_path(self, path: Path) -> VaultOptions:
        root = Path(os.path.realpath(path))
        for entry in self.settings.vaults:
            if entry.path == root:
                return self._configured(entry)
        if root in self._followers:
            return self._followers[root].vault.options
        if Path.home().resolve().is_relative_to(root):
            raise UsageError(f"{root} contains your home directory; use the folder of your notes")
        return self._options(self.free_name(root.name, root), root)

    def _configured(self, entry: VaultSettings) -> VaultOptions:
        return self._options(entry.name, entry.path, entry.exclude, entry.language)

    def _options(
        self, name: str, root: Path, exclude: tuple[str, ...] = (), language: str | None = None
    ) -> VaultOptions:
        index, daemon = self.settings.index, self.settings.daemon
        return VaultOptions(
            name,
            root,
            (*index.exclude, *exclude),
            language,
            rescan_seconds=daemon.rescan_minutes * 60,
            max_note_bytes=index.max_note_bytes,
            paused=root in self._paused,
            expansion=self.settings.search.expansion.enabled,
        )

    def _choices(self) -> str:
        if known := self._known():
            names = ", ".join(known.values())
            return f"use --vault NAME (known: {names}), or add one: vaultseek vault add DIR"
        return "use --vault DIR, run this inside a vault, or add one: vaultseek vault add DIR"

    def _known(self) -> dict[Path, str]:
        """Return the names of the configured vaults and of the open ones, by folder."""
        names = {entry.path: entry.name for entry in self.settings.vaults}
        return names | {follower.vault.options.root: follower.vault.name for follower in self.followers}

    # -- opening ---------------------------------------------------------------------------------------

    async def _open(self, options: VaultOptions) -> VaultFollower:
        """Return the open vault; requests that arrive while it is being opened share one task."""
        root = options.root
        if root in self._followers:
            return self._followers[root]
        opening = self._opening.get(root)
        if opening is None:
            opening = asyncio.get_running_loop().create_task(self._start(options))
            self._opening[root] = opening
            opening.add_done_callback(lambda _: self._opening.pop(root, None))
        return await asyncio.shield(opening)

    async def _start(self, options: VaultOptions) -> VaultFollower:
        if options.root in self._closing:  # it is opened again, with another model for example
            await asyncio.wait([self._closing[options.root]])
        directory = paths.vault_data_directory(options.root)
        models = await asyncio.to_thread(self._models.of_vault, options, directory)
        worker = await self._models.pool.keep(models.main)
        try:
            vault = await asyncio.to_thread(self._open_files, options, directory, models)
        except BaseException:
            self._models.pool.release(models.main)
            raise
        worker.keep_reranker(self.settings.search.reranker)
        follower = VaultFollower(vault, worker, self._on_progress)
        follower.start()
        self._followers[options.root] = follower
        if self._models.choice.automatic and not options.paused:
            self._judging[options.root] = asyncio.create_task(self._judge_language(follower, directory))
        return follower

    def _open_files(self, options: VaultOptions, directory: Path, models: VaultModels) -> OpenVault:
        pool = self._models.pool
        return OpenVault.open(
            options,
            directory,
            pool.worker(models.main),
            self._models.spec(models.main),
            old_models=self._old_models,
            models=models,
            pool=pool,
        )

    # -- language --------------------------------------------------------------------------------------

    async def _judge_language(self, follower: VaultFollower, directory: Path) -> None:
        """Judge the language of the vault's notes, at first and whenever many have changed.

        If it asks for another model, the vault is opened again with that.
        """
        vault = follower.vault
        while True:
            await follower.wait_for_change_of_notes(LANGUAGE_SECONDS, LANGUAGE_CHANGED_SHARE)
            if self._followers.get(vault.options.root) is not follower:
                return
            models = await asyncio.to_thread(self._models.of_notes, vault.ledger, directory)
            if models is not None and models.main != vault.models.main:
                break
        while follower.waiting_clients:
            await asyncio.sleep(LANGUAGE_SECONDS)
        root = vault.options.root
        log.info("%s is opened again with the model %s, by its language", vault.name, models.main.name)
        if self._followers.get(root) is follower:
            await self.close_vault(root)
            await self._open(vault.options)
