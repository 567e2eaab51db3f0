"""The daemon's open vaults: opening, closing and repairing them."""

import asyncio
import contextlib
import logging
import shutil
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from vaultseek.base import paths
from vaultseek.base.text import quote
from vaultseek.core.indexing.model_source import ModelSource
from vaultseek.core.indexing.open_vault import OpenVault, VaultOptions
from vaultseek.core.indexing.renamed_folder import former_root, take_index
from vaultseek.daemon.failed_vaults import FailedVault, FailedVaults
from vaultseek.daemon.follow import OnProgress, VaultFollower
from vaultseek.daemon.hosting import Hosting, hosting_of
from vaultseek.daemon.known_vaults import KnownVaults
from vaultseek.daemon.tasks import pause_after
from vaultseek.errors import IndexDamaged, Unavailable, UsageError, VaultMissing, VaultseekError
from vaultseek.semantic.models.choice import VaultModels
from vaultseek.semantic.worker import SemanticWorker
from vaultseek.settings.model import Settings

LANGUAGE_SECONDS = 2.0
"""Seconds to wait after notes change before their vault's language is detected again."""
LANGUAGE_CHANGED_SHARE = 0.1
"""Share of notes that must change before the language of a vault is detected again."""
MISSING_SECONDS = 300.0
"""Seconds after which a vault with a missing folder is closed, unless it is in the settings."""
CLOSE_SECONDS = 1.5
"""Maximum seconds to wait for a vault to close; closing then continues in the background."""

OPENING_SECONDS = 2.0
"""Seconds after which an answer from several vaults leaves out vaults that are still being opened."""
HEALED_SECONDS = 60.0
"""Seconds after which a replaced ledger is considered sound."""

log = logging.getLogger(__name__)

T = TypeVar("T")
OnRename = Callable[[Path, Path, str], bool]
"""Function called with a vault's previous folder, current folder and name; returns False if the index should
not be moved."""


@dataclass(frozen=True, slots=True)
class _Opening:
    """A vault that is being opened."""

    options: VaultOptions
    task: asyncio.Task[VaultFollower]
    is_again: bool
    """True if the vault was open before; requests for the vault then wait."""


class VaultRegistry:
    """The vaults in the settings, and the vaults that requests refer to; each vault is opened once and kept
    up to date."""

    def __init__(
        self,
        settings: Settings,
        models: ModelSource,
        on_progress: OnProgress,
        hosting: Hosting | None = None,
        on_rename: OnRename = lambda former, path, name: True,
    ) -> None:
        self.settings = settings
        self.hosting = hosting or hosting_of(settings)
        self._models = models
        self._on_progress = on_progress
        self._on_rename = on_rename
        self._paused: frozenset[Path] = frozenset()
        self._followers: dict[Path, VaultFollower] = {}
        self._opening: dict[Path, _Opening] = {}
        self._judging: dict[Path, asyncio.Task[None]] = {}
        self._closing: dict[Path, asyncio.Task[None]] = {}
        self._healing: dict[Path, asyncio.Task[None]] = {}
        self._healed: dict[Path, tuple[int, float]] = {}
        """Number of consecutive replacements of a vault's ledger, and the monotonic time of the last
        replacement."""
        self._failed = FailedVaults(self._open)
        self._configuring = asyncio.Lock()
        """Held while settings are applied, so that a task with old settings cannot overwrite new ones."""

    async def start_workers(self) -> None:
        """Start the workers that the configured vaults need."""
        roots = [vault.path for vault in self.settings.vaults]
        await self._models.start([paths.vault_data_directory(root) for root in roots])

    @property
    def worker(self) -> SemanticWorker:
        """The worker of the first open vault, or the default worker if no vault is open."""
        if followers := self.followers:
            return followers[0].worker
        return self._models.pool.worker(self._models.choice.main)

    @property
    def followers(self) -> list[VaultFollower]:
        """The open vaults: first the configured vaults, in the order of the settings, then the other vaults
        in the order in which they were opened."""
        order = {entry.path: number for number, entry in enumerate(self.settings.vaults)}
        followers = self._followers.values()
        return sorted(followers, key=lambda each: order.get(each.vault.options.root, len(order)))

    @property
    def failed(self) -> list[FailedVault]:
        """Configured vaults that could not be opened; opening them is retried."""
        return self._failed.all()

    async def open_configured(self, settings: Settings, paused: frozenset[Path] = frozenset()) -> None:
        """Open the vaults in ``settings``; close removed vaults, and reopen vaults whose options changed.

        The vaults whose folders are in ``paused`` are opened, but their changes are not indexed. A vault that
        fails to open is retried later and does not block the others.
        """
        await (await self.begin_opening(settings, paused))

    async def begin_opening(self, settings: Settings, paused: frozenset[Path]) -> asyncio.Future[Any]:
        """Apply ``settings`` like `open_configured`, but return a future without waiting for the vaults to
        open.

        A request about one vault then does not have to wait for another vault.
        """
        async with self._configuring:
            return await self._begin_opening(settings, paused)

    async def list_again(self) -> None:
        """List the vaults again, then open and close vaults to match the list."""
        async with self._configuring:
            opening = await self._begin_opening(self.settings, self._paused)
        await opening

    async def _begin_opening(self, settings: Settings, paused: frozenset[Path]) -> asyncio.Future[Any]:
        previous_roots = {vault.path for vault in self.settings.vaults}
        settings = await asyncio.to_thread(self.hosting.listed, settings)
        self.settings, self._paused = settings, paused
        for each in self.followers:
            each.worker.keep_reranker(settings.search.reranker)
            if each.vault.options.root in paused:
                each.expect_close(each.vault.options.paused_reason.error())
        configured = self._known().configured()
        for options in configured:
            if options.root in self._opening:
                is_changed = self._opening[options.root].options != options
            else:
                follower = self._followers.get(options.root)
                is_changed = follower is not None and follower.vault.options != options
            if is_changed:
                self.close_vault(options.root)
        places = {options.root: options.storage for options in configured}
        names = {options.name.casefold() for options in configured}
        for follower in self.followers:
            options = follower.vault.options
            place = places.get(options.root) or self.hosting.storage(settings, options.root)
            has_moved = options.storage != place
            # Access rights are by name, so this vault would inherit the other vault's rights.
            has_lost_name = options.root not in places and options.name.casefold() in names
            if has_moved or has_lost_name or options.paused != (options.root in paused):
                self.close_vault(options.root)
        for root in previous_roots - {options.root for options in configured}:
            self.close_vault(root)
        return asyncio.gather(*(self._open(options) for options in configured), return_exceptions=True)

    async def check_deletable(self, root: Path) -> None:
        """Check that a vault's index can be deleted. Raises Unavailable if it cannot."""
        directory = paths.vault_data_directory(root)
        await asyncio.to_thread(self.hosting.check_deletable, self.settings, directory)

    async def forget(self, root: Path, *, drop: bool) -> bool:
        """Forget a vault on another machine, and with ``drop`` also delete its index there. Return False for
        a vault on this machine.

        Raises UsageError or Unavailable.
        """
        follower = self._followers.get(root)
        vault = None if follower is None else follower.vault
        if not await asyncio.to_thread(self.hosting.forget, self.settings, root, vault, drop=drop):
            return False
        await self.list_again()
        await closed_soon(self.close_vault(root, delete_index=True))
        return True

    async def find(self, vault: str | None, folder: str | None) -> VaultFollower:
        """Return the vault whose name or folder is ``vault``, opening it if necessary. Without ``vault``,
        return the vault that contains ``folder``; if no vault contains it, return the only known vault.

        Raises UsageError if no vault or several vaults match, VaultMissing if the folder is missing, and
        Unavailable if the vault cannot be opened or the vaults cannot be listed.
        """
        self.close_missing()
        return await self._open(self.options_of(vault, folder))

    def options_of(self, vault: str | None, folder: str | None) -> VaultOptions:
        """Return the options of the vault that a request refers to, open or not. Raises UsageError,
        VaultMissing or Unavailable."""
        known = self._known()
        self._check_listed(known)
        try:
            return known.named(vault, folder) if vault else known.around(folder)
        except (OSError, RuntimeError, ValueError):  # name too long, NUL, or unknown user in ~user
            problem = f"no vault at {quote(vault or folder or '')};"
            raise known.unresolved(VaultMissing, problem) from None

    async def find_all(self) -> Mapping[str, VaultFollower | Exception]:
        """Return the configured and the open vaults by name. For a vault that cannot be opened, the value is
        the exception.

        Raises UsageError if there are no vaults, and Unavailable if the vaults cannot be listed.
        """
        self.close_missing()
        known = self._known()
        self._check_listed(known)
        names = known.names()
        if not names:
            raise known.unresolved(UsageError, "there is no vault yet;")
        opened = await asyncio.gather(
            *(opened_soon(self._open(known.at(root)), name) for root, name in names.items()),
            return_exceptions=True,
        )
        vaults: dict[str, VaultFollower | Exception] = {}
        for name, each in zip(names.values(), opened, strict=True):
            if not isinstance(each, VaultFollower | Exception):
                raise each
            vaults[name] = each
        return vaults

    def close_missing(self) -> None:
        """Close vaults that are not in the settings if their folders have been missing for a long time. Their
        indexes are kept."""
        configured = {entry.path for entry in self.settings.vaults}
        for follower in self.followers:
            root = follower.vault.options.root
            is_gone = follower.missing_seconds() >= MISSING_SECONDS and not paths.is_folder(root)
            if root not in configured and is_gone:
                log.info("closing %s: its folder has been missing for a while", follower.vault.name)
                self.close_vault(root)

    def close_vault(self, root: Path, *, delete_index: bool = False) -> asyncio.Task[None]:
        """Start closing the vault at ``root`` and, if requested, deleting its index; return the task.

        The vault counts as closed from now on, but can be opened again only when the task is done.
        """
        judging = self._judging.pop(root, None)
        if judging is not None and judging is not asyncio.current_task():
            judging.cancel()
        self._failed.forget(root)
        follower = self._followers.pop(root, None)
        opening, closing = self._opening.pop(root, None), self._closing.get(root)
        before: list[asyncio.Task[Any]] = [opening.task] if opening else []
        before += [closing] if closing else []
        closing = asyncio.create_task(self._close_after(before, root, follower, delete_index=delete_index))
        self._closing[root] = closing
        closing.add_done_callback(lambda task: self._closed(root, task))
        return closing

    async def _close_after(
        self,
        tasks: Sequence[asyncio.Task[Any]],
        root: Path,
        follower: VaultFollower | None,
        *,
        delete_index: bool,
    ) -> None:
        if tasks:
            await asyncio.wait(tasks)
        follower = follower or self._followers.pop(root, None)
        if follower is not None:
            try:
                await follower.close()
            finally:
                vault = follower.vault
                self._models.pool.release(vault.spaces.models.main)
                vault.embedding.release_previous()
                if vault.spaces.second is not None:
                    vault.spaces.second.release_previous()
        if delete_index:
            await asyncio.to_thread(self._delete_index, paths.vault_data_directory(root))

    def _delete_index(self, directory: Path) -> None:
        self.hosting.delete(self.settings, directory)
        shutil.rmtree(directory, ignore_errors=True)

    def _closed(self, root: Path, task: asyncio.Task[None]) -> None:
        if self._closing.get(root) is task:
            del self._closing[root]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("closing %s failed", root, exc_info=error)

    def stop_indexing(self) -> None:
        """Make the indexing of all vaults stop soon, because the vaults are about to be closed."""
        for follower in self._followers.values():
            follower.vault.indexer.stop()

    async def close(self) -> None:
        """Close all vaults."""
        self._failed.stop()
        opening = (each.task for each in self._opening.values())
        for task in (*opening, *self._judging.values(), *self._healing.values()):
            task.cancel()
        await asyncio.gather(
            *(follower.close() for follower in self._followers.values()), *self._closing.values()
        )
        self._followers.clear()

    async def heal(self) -> bool:
        """Replace damaged ledgers and reopen their vaults; return when the vaults are open.

        Returns False if there was nothing to repair.
        """
        for follower in self.followers:
            if not follower.vault.ledger.is_sound():
                self._heal_later(follower)
        waiting: list[asyncio.Task[Any]] = [*self._healing.values()]
        waiting += [each.task for each in self._opening.values() if each.is_again]
        if waiting:
            await asyncio.wait(waiting)
        return bool(waiting)

    def _heal_later(self, follower: VaultFollower) -> None:
        root = follower.vault.options.root
        is_open = self._followers.get(root) is follower and root not in self._closing
        if is_open and root not in self._healing:
            log.error(
                "the ledger of %s is damaged or was replaced; opening the vault again", follower.vault.name
            )
            task = self._healing[root] = asyncio.create_task(self._open_anew(follower))
            task.add_done_callback(lambda _: self._healing.pop(root, None))

    async def _open_anew(self, follower: VaultFollower) -> None:
        options = follower.vault.options
        times, last = self._healed.get(options.root, (0, 0.0))
        now = time.monotonic()
        if now - last > HEALED_SECONDS:
            times = 0
        self._healed[options.root] = times + 1, now
        if times:
            await asyncio.sleep(pause_after(times))
        if self._followers.get(options.root) is follower:
            replaced = f"the ledger of {options.name} was damaged and is being replaced; try again"
            follower.expect_close(IndexDamaged(replaced))
            self.close_vault(options.root)
            with contextlib.suppress(VaultseekError):
                opened = await self._open(options)
                # It may be of another ledger, with other notes at the same revision.
                opened.vault.rebuild_keyword_index()

    def free_name(self, root: Path) -> str:
        """Return a name for the vault at ``root``, with a number appended if another vault has the same
        name."""
        return self._known().free_name(root)

    def _check_listed(self, known: KnownVaults) -> None:
        problem = self.hosting.problem
        if problem is not None and not known.names():
            raise Unavailable(str(problem), problem.cause)

    def _known(self) -> KnownVaults:
        opened = [follower.vault.options for follower in self.followers]
        return self.hosting.known(self.settings, opened, self._paused)

    # -- opening ---------------------------------------------------------------------------------------

    async def _open(self, options: VaultOptions) -> VaultFollower:
        """Return the open vault; concurrent requests share one opening task."""
        root, closing = options.root, self._closing.get(options.root)
        if root in self._followers and closing is None:
            return self._followers[root]
        opening = self._opening.get(root)
        if opening is None:
            task = asyncio.get_running_loop().create_task(self._start(options, closing))
            opening = self._opening[root] = _Opening(options, task, is_again=closing is not None)
            task.add_done_callback(lambda _: self._opened(root, opening))
        return await asyncio.shield(opening.task)

    def _opened(self, root: Path, opening: _Opening) -> None:
        if self._opening.get(root) is opening:
            del self._opening[root]

    async def _start(self, options: VaultOptions, closing: asyncio.Task[None] | None) -> VaultFollower:
        if closing is not None:  # the vault is being reopened, for example with another model
            await asyncio.wait([closing])
        try:
            if options.folder is not None:
                await self._follow_rename(options)
            follower = await self._follow(options)
        except Exception as error:
            is_configured = any(entry.path == options.root for entry in self.settings.vaults)
            raise self._failed.add(options, error, again=is_configured) from error
        self._failed.forget(options.root)
        return follower

    async def _follow_rename(self, options: VaultOptions) -> None:
        """If the vault was moved from another path, keep its index and its position in the list of vaults."""
        former = await asyncio.to_thread(former_root, options.root)
        if former is None:
            return
        if not await asyncio.to_thread(self._on_rename, former, options.root, options.name):
            return
        await asyncio.wait([self.close_vault(former)])
        await asyncio.to_thread(take_index, former, options.root)
        log.info("the vault at %s is now at %s; it keeps its index", former, options.root)

    async def _follow(self, options: VaultOptions) -> VaultFollower:
        directory = paths.vault_data_directory(options.root)
        models = await asyncio.to_thread(self._models.of_vault, options, directory)
        async with contextlib.AsyncExitStack() as undoing:
            worker = await self._models.pool.keep(models.main)
            undoing.callback(self._models.pool.release, models.main)
            vault = await asyncio.to_thread(self._open_files, options, directory, models)
            undoing.push_async_callback(asyncio.to_thread, vault.close)
            worker.keep_reranker(self.settings.search.reranker)
            follower = VaultFollower(vault, worker, self._on_progress, self._heal_later, self.hosting)
            follower.start()
            undoing.pop_all()
        self._followers[options.root] = follower
        if self._models.choice.automatic and not options.paused and options.folder is not None:
            self._judging[options.root] = asyncio.create_task(self._judge_language(follower, directory))
        return follower

    def _open_files(self, options: VaultOptions, directory: Path, models: VaultModels) -> OpenVault:
        pool = self._models.pool
        return OpenVault.open(
            options,
            directory,
            pool.worker(models.main),
            self._models.spec(models.main),
            models=models,
            pool=pool,
        )

    # -- language --------------------------------------------------------------------------------------

    async def _judge_language(self, follower: VaultFollower, directory: Path) -> None:
        """Detect the language of the vault's notes after the first scan and whenever many notes have changed.

        If another model suits this language better, reopen the vault with that model.
        """
        vault = follower.vault
        while True:
            await follower.changed_notes.wait_for_share(
                lambda: vault.ledger.counts().notes, pause=LANGUAGE_SECONDS, share=LANGUAGE_CHANGED_SHARE
            )
            if self._followers.get(vault.options.root) is not follower:
                return
            models = await asyncio.to_thread(self._models.of_notes, vault.ledger, directory)
            if models is not None and models.main != vault.spaces.models.main:
                break
        while follower.waiting_clients:
            await asyncio.sleep(LANGUAGE_SECONDS)
        root = vault.options.root
        message = "reopening the vault %s with the model %s, chosen for the notes' language"
        log.info(message, vault.name, models.main.name)
        if self._followers.get(root) is follower:
            self.close_vault(root)
            await self._open(vault.options)


async def closed_soon(closing: asyncio.Task[None]) -> None:
    """Wait briefly for a vault to close; closing then continues in the background."""
    await asyncio.wait([closing], timeout=CLOSE_SECONDS)


async def opened_soon(opening: Awaitable[T], name: str) -> T:
    """Return the result of the task ``opening``, which opens the vault ``name``. Raises Unavailable if
    opening takes too long."""
    try:
        async with asyncio.timeout(OPENING_SECONDS):
            return await opening
    except TimeoutError:
        raise Unavailable(f"{name} is still being opened; try again in a moment") from None
