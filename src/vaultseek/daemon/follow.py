"""Keep an open vault up to date with its folder: watch, settle, reconcile, index, embed."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from vaultseek.base.limits import RETRY_SECONDS
from vaultseek.base.model import JSON, Reason
from vaultseek.content.files.diff import Changes
from vaultseek.content.files.settle import HintBatch
from vaultseek.core.indexing import concepts, embed, reconcile, second_space
from vaultseek.core.indexing.open_vault import OpenVault
from vaultseek.core.indexing.status import Activity, VaultStatus
from vaultseek.core.notes.complete import VaultCompleter
from vaultseek.daemon.activity import ActivityReporter
from vaultseek.daemon.backlog import EMBED_POLL_SECONDS, Backlog
from vaultseek.daemon.changed_notes import ChangedNotes
from vaultseek.daemon.files import FilePreparation, WaitingFiles
from vaultseek.daemon.folder_watch import FolderWatch
from vaultseek.daemon.scans import Scans
from vaultseek.daemon.shard_follow import ShardFollower
from vaultseek.daemon.snapshot import progress_of, status_of
from vaultseek.daemon.speaker import Speaker
from vaultseek.daemon.tasks import Work, keep_running
from vaultseek.daemon.upkeep import IndexUpkeep
from vaultseek.errors import Cancelled, IndexDamaged, Unavailable, VaultMissing, WorkerUnavailable
from vaultseek.semantic.worker import SemanticWorker

NOTES_BEHIND = 20
"""Unread notes above which an answer says that it may be incomplete."""
ENGINE_SECONDS = 0.5
"""Longest wait for an engine to have a change before clients are told of it."""
LOOK_SECONDS = 5.0
"""Time between two looks whether an engine answers."""
NAMES_SECONDS = 1.0
"""Pause before the names are read for completion, which would hold up the first searches."""


class VaultFollower:
    """The tasks that keep one open vault up to date, and how far they are.

    The tasks of a paused vault only make it ready for searches. ``on_progress`` is called on the event loop
    with the paths of changed notes, and with none when only the progress or the state has changed;
    ``on_damage`` when the ledger is damaged, so that the vault has to be opened again.
    """

    def __init__(
        self,
        vault: OpenVault,
        worker: SemanticWorker,
        on_progress: OnProgress,
        on_damage: OnDamage = lambda follower: None,
    ) -> None:
        self.vault = vault
        self.worker = worker
        self._on_damage = on_damage
        self._loop = asyncio.get_running_loop()
        options = vault.options
        self._watch = FolderWatch(options.root, lambda: self.state == "vault_missing", options.rescan_seconds)
        self._tasks: list[asyncio.Task[None]] = []
        self._files = WaitingFiles()
        self._preparation = FilePreparation(vault.indexer.prepare)
        self.upkeep = IndexUpkeep(vault)
        self._reporter = ActivityReporter(vault, partial(on_progress, self))
        self._scans = Scans(was_indexed=vault.ledger.counts().notes > 0)
        self._shard: ShardFollower | None = None
        if vault.shard is not None:
            self._shard = ShardFollower(vault, vault.shard, self._scans, self._reporter)
        self._backlog = Backlog(vault, worker, self._scans)
        self.changed_notes = ChangedNotes()
        self.waiting_clients = 0
        """Clients that wait until everything is embedded, so that the vault must not be opened again."""
        self.completer = VaultCompleter(vault.ledger)
        self._ranking_names = False
        self._speaker: Speaker | None = None
        self._notes_there = 0  # that the last comparison of everything did not want to be read

    def start(self) -> None:
        """Start the tasks. Searches can be answered already; the first scan follows."""
        vault = self.vault
        self._spawn(partial(self._rank_names, NAMES_SECONDS), "names")
        self._spawn(self._report_damage, "ledger")
        if vault.engine is not None:
            vault.engine.write_apart()
            self._spawn(self._look_at_engine, "engine's state")
        if vault.engine is not None and vault.engine.is_shared:
            self._speaker = Speaker(vault, vault.engine)
            self._spawn(self._speaker.speak, "heartbeat")
        if vault.options.paused:
            vault.activity = Activity("paused", vault.options.paused_reason)
            self._spawn(self._serve_paused, "serve")
            if vault.options.engine is not None:
                self._spawn(self._catch_up_engine, "engine")
            return
        if self._shard is not None:
            self._spawn(self._shard.follow, "shard")
            return
        vault.activity = Activity("indexing")
        self._spawn(self._follow, "follow")
        self._spawn(partial(embed.follow, vault.embedding, self._reporter.set_embed_problem), "embed")
        if (second := vault.spaces.second) is not None:
            self._spawn(partial(second_space.follow, second, self._backlog.is_empty), "second space")
        self._spawn(self._watch.check, "check")
        self._spawn(self.upkeep.merge_segments, "merge")
        if vault.options.engine is not None:
            self._spawn(self._catch_up_engine, "engine")
        self._spawn(partial(self.upkeep.compact_daily, self._backlog.has_time_to_compact), "compact")
        self._spawn(partial(concepts.follow, vault.concepts, self._backlog.is_empty), "concepts")
        if vault.options.expansion:
            vault.concepts.enable()

    async def close(self) -> None:
        """Stop all tasks and close the vault; what is indexed so far is kept."""
        self.vault.indexer.stop()
        for task in self._tasks:
            task.cancel()
        await self._scans.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._speaker is not None:
            await self._speaker.say_goodbye()
        await asyncio.gather(self._watch.stop(), asyncio.to_thread(self.vault.close))

    def keep_names_ranked(self) -> None:
        """Rank the names of changed notes for completion in the background, if there are many."""
        if self.completer.crowded and not self._ranking_names:
            self._spawn(self._rank_names, "names")

    async def _rank_names(self, pause: float = 0.0) -> None:
        self._ranking_names = True
        try:
            await asyncio.sleep(pause)
            await asyncio.to_thread(self.completer.prepare)
        finally:
            self._ranking_names = False

    # -- requests --------------------------------------------------------------------------------------

    @property
    def state(self) -> str:
        """The state of the indexing, as ``index/status`` names it."""
        return self.vault.activity.state

    @property
    def pending(self) -> int:
        """Notes not yet read plus vectors not yet stored."""
        return self._backlog.count

    def status(self) -> VaultStatus:
        """Return a snapshot of the vault and its index. Reads the ledger, so call it in a thread."""
        return status_of(self.vault, self.worker)

    def progress(self, *, vectors: bool = True) -> JSON:
        """Return the vault's ``index/progress`` notification; without ``vectors`` they are not waited for."""
        return progress_of(self.vault, self.worker, vectors=vectors)

    def degraded_reason(self) -> Reason | None:
        """Return why an answer may not cover all notes as they are now, or None. A pause is no reason."""
        activity = self.vault.activity
        if activity.state in _NOT_INDEXING or self.vault.shard is not None:
            return activity.reason
        is_first = self._scans.is_new and activity.state != "paused"
        if activity.notes_left > (0 if is_first else NOTES_BEHIND):
            done, total = self._notes_there + activity.notes_done, self._notes_there + activity.notes_total
            progress = f"{done:,} of {total:,} notes"
            return Reason("being_read", f"still reading, {progress} so far")
        return Reason("being_read", "still looking for the notes of this vault") if is_first else None

    def missing_seconds(self) -> float:
        """Return how long the vault's folder has been missing; 0 for a paused vault."""
        return self._watch.missing_seconds

    async def rescan(self, *, accept_loss: bool = False, files: bool = True) -> None:
        """Return when everything that was on disk at the moment of the call is indexed.

        With ``accept_loss`` notes are removed from the index even if most of them are gone; without ``files``
        only notes are waited for, and no engine. Raises VaultMissing or Unavailable.
        """
        if self.vault.options.paused:
            raise Unavailable(self.vault.options.paused_reason.text, "paused")
        if self._shard is not None:
            await self._shard.copy()
            return
        request = partial(self._watch.request_rescan, "a client requested it")
        await self._scans.wait_for_next(request, accept_loss=accept_loss, files=files)
        while files and self.vault.engine is not None and not self.vault.engine.is_level:
            self._scans.check_open(self.vault.name)
            await asyncio.sleep(EMBED_POLL_SECONDS)
        self._scans.check_open(self.vault.name)
        activity = self.vault.activity
        message = activity.reason.text if activity.reason else f"{self.vault.name} cannot be indexed now"
        if activity.state == "vault_missing":
            raise VaultMissing(message)
        if activity.state in ("disk_full", "failing"):
            raise Unavailable(message)

    async def wait_if_new(self) -> None:
        """Give the first scan of a vault without an index a moment, once: a long one is not waited for."""
        if not self.vault.options.paused:
            await self._scans.wait_if_new()

    async def wait_for_first_scan(self, seconds: float) -> bool:
        """Wait up to ``seconds`` for the first scan since the vault was opened; true if it is done."""
        return self.vault.options.paused or await self._scans.wait_for_first(seconds)

    async def wait_until_embedded(self) -> None:
        """Return when every vector is stored and searchable, and an engine has all notes.

        Raises WorkerUnavailable or Unavailable if that fails.
        """
        await self._backlog.wait_until_embedded()

    async def refresh_concepts(self) -> None:
        """Bring the concept vocabulary up to the ledger, unless the vault is busy.

        Raises WorkerUnavailable or IndexDamaged.
        """
        self.vault.concepts.enable()
        if self._backlog.is_empty():
            await self.vault.concepts.refresh()

    # -- tasks -----------------------------------------------------------------------------------------

    async def _serve_paused(self) -> None:
        await self.vault.in_writer(self.vault.indexer.load)
        is_level = False
        while not is_level:  # another engine gets what there is
            try:
                is_level = not await self.vault.embedding.copy()
            except (WorkerUnavailable, IndexDamaged):
                await asyncio.sleep(RETRY_SECONDS)

    async def _follow(self) -> None:
        with contextlib.suppress(Cancelled):
            await self._follow_changes()

    async def _follow_changes(self) -> None:
        while not await self._load():
            await asyncio.sleep(RETRY_SECONDS)
        # Watch before the first scan, so that no change falls between.
        await self._watch.start()
        self._watch.request_rescan("the vault was opened")
        while True:
            hints = self._loop.create_task(self._watch.next_batch())
            try:
                # Files may take long to read: a note that is saved meanwhile comes first.
                while self._files and not hints.done():
                    await self._read_files(hints)
                batch = await hints
            finally:
                hints.cancel()
            await self._follow_batch(batch)

    async def _follow_batch(self, batch: HintBatch) -> None:
        try:
            await self._process(batch)
        except VaultMissing as error:
            self._reporter.set_state("vault_missing", Reason.of(error))
            await self._finish_scan(batch)
        except Cancelled:
            raise
        except Exception as error:
            await self._retry_later(error, batch)

    async def _read_files(self, hints: asyncio.Task[HintBatch]) -> None:
        """Read some of the files that wait, for about a second, or none if a change comes first."""
        await asyncio.wait((hints,), timeout=self._files.pause())
        if hints.done():
            return
        part = self._files.next()
        began = time.monotonic()
        failed = await self._preparation.failed(part, hints)
        if failed is None:
            self._files.put_back(part)
            return
        self._files.try_later(failed)
        try:
            await self._apply(Changes(read=tuple(path for path in part if path not in failed)))
        except Cancelled:
            raise
        except Exception as error:
            self._files.clear()
            await self._retry_later(error, HintBatch(frozenset(), "reading files failed"))
            return
        self._files.took(time.monotonic() - began)
        if not self._files:
            await self._finish_scan(HintBatch(frozenset(), "all files are read"))

    async def _load(self) -> bool:
        try:
            await self.vault.in_writer(self.vault.indexer.load)
        except Cancelled:
            raise
        except Exception as error:
            self._reporter.report_failure(error)
            return False
        return True

    async def _catch_up_engine(self) -> None:
        """Ask an engine again that did not answer, until it has what the ledger has."""
        while True:
            await asyncio.sleep(RETRY_SECONDS)
            await self.vault.in_writer(self.vault.indexer.catch_up_again)

    async def _look_at_engine(self) -> None:
        """Notice an engine that does not answer, or answers again, also when nobody searches."""
        while (engine := self.vault.engine) is not None:
            engine.look()
            await asyncio.sleep(LOOK_SECONDS)

    async def _report_damage(self) -> None:
        await self.upkeep.wait_for_damage()
        self._on_damage(self)

    # -- steps -----------------------------------------------------------------------------------------

    async def _process(self, batch: HintBatch) -> None:
        if self.state == "vault_missing" and batch.rescan_reason is None and self._watch.may_scan_again():
            batch = replace(batch, rescan_reason="the vault may be back")
        changes = await self._reconcile(batch)
        whole = batch.rescan_reason is not None
        if (self.state == "vault_missing" and not whole) or self._looks_unmounted(changes, whole=whole):
            # Only a comparison of everything can tell that the vault is whole again.
            await self._apply(self._files.put_off(replace(changes, removed=(), attachments_removed=())))
        else:
            await self._apply(self._files.put_off(changes))
            poll_reason = self._watch.poll_reason
            if poll_reason is None:
                self._reporter.set_state("ready", None)
            else:
                self._reporter.set_state("polling", Reason("polling", poll_reason))
        await self._finish_scan(batch)

    async def _reconcile(self, batch: HintBatch) -> Changes:
        indexer = self.vault.indexer
        if batch.rescan_reason is None:
            if any(path.startswith(".obsidian") for path in batch.paths):
                self._watch.request_rescan("the app's settings changed")
            return await self.vault.in_writer(indexer.reconcile, batch.paths)
        self._scans.begin()
        began = time.monotonic()
        changes = await self.vault.in_writer(indexer.reconcile)
        self._notes_there = await self.vault.in_writer(indexer.count_others, changes.read)
        self._watch.note_scan(began)
        return changes

    def _looks_unmounted(self, changes: Changes, *, whole: bool) -> bool:
        """True if most notes are gone at once: only the user can say that they were deleted.

        ``whole``: everything was compared, which the user waits for who has said so.
        """
        accepted = whole and self._scans.accepts_loss
        if accepted or not reconcile.looks_unmounted(changes, self.vault.ledger.counts().notes):
            self._scans.accepts_loss = self._scans.accepts_loss and not whole
            return False
        message = (
            f"{len(changes.removed)} notes are gone at once; the index is kept."
            " If they were deleted on purpose, run `vaultseek index`"
        )
        self._reporter.set_state("vault_missing", Reason("vault_missing", message))
        return True

    async def _apply(self, changes: Changes) -> None:
        vault = self.vault
        changed = await vault.in_writer(vault.indexer.apply, changes, self._report_read)
        if vault.engine is not None:
            await vault.engine.become_level(ENGINE_SECONDS)
        last_change = time.time() if changed else vault.activity.last_change
        done, total = self._files.progress()
        vault.activity = replace(vault.activity, notes_done=done, notes_total=total, last_change=last_change)
        self.upkeep.changed.set()
        vault.embedding.wake.set()
        vault.concepts.wake.set()
        if vault.spaces.second is not None:
            vault.spaces.second.wake.set()
        self.changed_notes.add(len(changed))
        self._reporter.notify(changed)

    def _report_read(self, done: int, total: int) -> None:
        """Hand the progress of the writer thread to the event loop, which alone sets the activity."""
        self._loop.call_soon_threadsafe(self._set_read, done, total)

    def _set_read(self, done: int, total: int) -> None:
        done, total = self._files.progress(done, total)
        self.vault.activity = replace(self.vault.activity, notes_done=done, notes_total=total)
        self.vault.embedding.wake.set()

    async def _retry_later(self, error: Exception, batch: HintBatch) -> None:
        """Report the failure and request a rescan: what was not indexed still differs from the ledger."""
        self._reporter.report_failure(error)
        await self._finish_scan(batch)
        await asyncio.sleep(RETRY_SECONDS)
        self._watch.request_rescan("the last attempt failed")

    async def _finish_scan(self, batch: HintBatch) -> None:
        if batch.rescan_reason is not None:
            await self._scans.finish(files=not self._files)

    def _spawn(self, work: Work, name: str) -> None:
        title = f"{name} {self.vault.name}"
        task = self._loop.create_task(keep_running(work, title), name=title)
        self._tasks = [task, *(other for other in self._tasks if not other.done())]


OnProgress = Callable[[VaultFollower, list[str]], None]
OnDamage = Callable[[VaultFollower], None]
_NOT_INDEXING = ("vault_missing", "disk_full", "failing", "shard_missing")
"""States in which what is on disk is not indexed."""
