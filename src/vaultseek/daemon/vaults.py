"""The vaults that are open in this daemon, and which of them a request means."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Sequence
from pathlib import Path

from vaultseek.daemon.open_vault import Keeper, OnProgress, VaultPlace
from vaultseek.errors import UsageError, VaultMissing
from vaultseek.indexing.embed import OldModels, Recipe
from vaultseek.settings.model import Settings, VaultSettings
from vaultseek.vault.ignore import OBSIDIAN_FOLDER
from vaultseek.worker import SemanticWorker

LET_GO_SECONDS = 300.0
"""A vault that only a request named is let go when its folder has been gone for so long."""

log = logging.getLogger(__name__)


class Library:
    """Opens vaults once and keeps them: the configured ones, and folders that a request named."""

    def __init__(
        self, settings: Settings, worker: SemanticWorker, recipe: Recipe, on_progress: OnProgress
    ) -> None:
        self.settings = settings
        self._worker = worker
        self._recipe = recipe
        self._on_progress = on_progress
        self._old_models = OldModels()
        self._paused: frozenset[Path] = frozenset()
        self._keepers: dict[Path, Keeper] = {}
        self._opening: dict[Path, asyncio.Task[Keeper]] = {}

    @property
    def keepers(self) -> list[Keeper]:
        """The open vaults, in the order in which they were opened."""
        return list(self._keepers.values())

    async def open_configured(self, settings: Settings, paused: frozenset[Path] = frozenset()) -> None:
        """Open the vaults of ``settings`` and close those that an earlier configuration had.

        ``paused`` are the vaults that shall not be followed.
        """
        before = {vault.path for vault in self.settings.vaults}
        self.settings, self._paused = settings, paused
        wanted = [self._configured(vault) for vault in settings.vaults]
        for place in wanted:
            keeper = self._keepers.get(place.root)
            if keeper is not None and keeper.place != place:
                await self._close(place.root)
        for keeper in self.keepers:
            if keeper.place.paused != (keeper.place.root in paused):
                await self._close(keeper.place.root)
        for gone in before - {place.root for place in wanted}:
            await self._close(gone)
        for place in wanted:
            await self._open(place)

    async def find(self, vault: str | None, folder: str | None) -> Keeper:
        """The vault that a request means: by name or folder, else by where it was asked from.

        Raises UsageError if that is none or could be several, VaultMissing if its folder is not there.
        """
        await self.let_go()
        place = self._named(vault) if vault else self._around(folder)
        return await self._open(place)

    async def let_go(self) -> None:
        """Close what only a request named and is long gone; its index stays for when it comes back."""
        kept = {entry.path for entry in self.settings.vaults}
        for keeper in self.keepers:
            root = keeper.place.root
            if root not in kept and keeper.gone_seconds() >= LET_GO_SECONDS and not root.is_dir():
                log.info("%s is let go: its folder has been gone for a while", keeper.name)
                await self._close(root)

    async def forget(self, root: Path) -> None:
        """Close the vault at ``root``, if it is open."""
        await self._close(root)

    async def close(self) -> None:
        """Close all vaults."""
        for task in self._opening.values():
            task.cancel()
        await asyncio.gather(*(keeper.close() for keeper in self._keepers.values()))
        self._keepers.clear()
        await self._old_models.stop()

    # -- which -----------------------------------------------------------------------------------------

    def _named(self, vault: str) -> VaultPlace:
        for entry in self.settings.vaults:
            if entry.name.casefold() == vault.casefold():
                return self._configured(entry)
        for keeper in self._keepers.values():
            if keeper.place.name == vault:
                return keeper.place
        path = Path(vault).expanduser()
        if not path.is_absolute():
            raise VaultMissing(f"no vault is named {vault!r} and there is no such folder; {self._choices()}")
        if not path.is_dir() and not self._knows(path):
            found = "is a file, expected a folder of notes" if path.exists() else "no such folder"
            raise VaultMissing(
                f"there is no vault at {path}: {found}; `vaultseek vault list` names the vaults"
            )
        return self._at(path)

    def _knows(self, path: Path) -> bool:
        """Whether there is a vault at ``path`` although its folder may be gone for now."""
        root = Path(os.path.realpath(path))
        return root in self._keepers or any(entry.path == root for entry in self.settings.vaults)

    def _around(self, folder: str | None) -> VaultPlace:
        here = Path(os.path.realpath(folder)) if folder else None
        if here is not None:
            inside = [entry for entry in self.settings.vaults if here.is_relative_to(entry.path)]
            if inside:
                return self._configured(max(inside, key=lambda entry: len(entry.path.parts)))
            for above in (here, *here.parents):
                if (above / OBSIDIAN_FOLDER).is_dir():
                    return self._at(above)
        if len(self.settings.vaults) == 1:
            return self._configured(self.settings.vaults[0])
        raise UsageError(f"which vault? {self._choices()}")

    def _at(self, path: Path) -> VaultPlace:
        root = Path(os.path.realpath(path))
        for entry in self.settings.vaults:
            if entry.path == root:
                return self._configured(entry)
        if root in self._keepers:
            return self._keepers[root].place
        if Path.home().resolve().is_relative_to(root):
            raise UsageError(f"{root} is the home directory or above it; name the folder of notes")
        return self._place(self.free_name(root.name, root), root)

    def _configured(self, entry: VaultSettings) -> VaultPlace:
        return self._place(entry.name, entry.path, entry.exclude, entry.language)

    def _place(
        self, name: str, root: Path, exclude: tuple[str, ...] = (), language: str | None = None
    ) -> VaultPlace:
        index, daemon = self.settings.index, self.settings.daemon
        return VaultPlace(
            name,
            root,
            (*index.exclude, *exclude),
            language,
            rescan_seconds=daemon.rescan_minutes * 60,
            max_note_bytes=index.max_note_bytes,
            paused=root in self._paused,
            expansion=self.settings.search.expansion.enabled,
        )

    def free_name(self, name: str, root: Path) -> str:
        """``name`` for the vault at ``root``, or with a number where another vault is called so."""
        taken = {entry.name.casefold() for entry in self.settings.vaults}
        others = (keeper.place for keeper in self._keepers.values() if keeper.place.root != root)
        taken |= {place.name.casefold() for place in others}
        candidates = [name, *(f"{name}-{number}" for number in range(2, len(taken) + 3))]
        return next(candidate for candidate in candidates if candidate.casefold() not in taken)

    def _choices(self) -> str:
        names = {entry.path: entry.name for entry in self.settings.vaults}
        names |= {keeper.place.root: keeper.name for keeper in self._keepers.values()}
        if names:
            return f"say --vault with one of {_listed(list(names.values()))}, or a folder"
        return "say --vault FOLDER, run it inside a vault, or add one with `vaultseek vault add FOLDER`"

    # -- open and close --------------------------------------------------------------------------------

    async def _open(self, place: VaultPlace) -> Keeper:
        keeper = self._keepers.get(place.root)
        if keeper is not None:
            return keeper
        opening = self._opening.get(place.root)
        if opening is None:
            opening = asyncio.get_running_loop().create_task(self._make(place))
            self._opening[place.root] = opening
            opening.add_done_callback(lambda _: self._opening.pop(place.root, None))
        return await asyncio.shield(opening)

    async def _make(self, place: VaultPlace) -> Keeper:
        keeper = Keeper(place, self._worker, self._recipe, self._on_progress, self._old_models)
        try:
            await keeper.open()
        except BaseException:
            await keeper.close()
            raise
        self._keepers[place.root] = keeper
        return keeper

    async def _close(self, root: Path) -> None:
        keeper = self._keepers.pop(root, None)
        if keeper is not None:
            await keeper.close()


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
