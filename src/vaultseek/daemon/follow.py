"""Keep an open vault up to date with its folder: watch, settle, reconcile, index, embed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from vaultseek import paths
from vaultseek.daemon.files import WaitingFiles
from vaultseek.daemon.folder_watch import FolderWatch
from vaultseek.daemon.speaker import Speaker
from vaultseek.daemon.tasks import Work, keep_running
from vaultseek.daemon.upkeep import IndexUpkeep
from vaultseek.errors import Cancelled, IndexDamaged, Unavailable, VaultMissing, WorkerUnavailable
from vaultseek.index.graph import GRAPH_MISSING
from vaultseek.indexing import concepts, embed, reconcile, second_space
from vaultseek.indexing.open_vault import OpenVault
from vaultseek.indexing.shard_copy import ShardCopy
from vaultseek.indexing.status import Activity, VaultStatus
from vaultseek.limits import RETRY_SECONDS
from vaultseek.model import JSON, Reason, reason_json
from vaultseek.notes.complete import VaultCompleter
from vaultseek.vault.diff import Changes
from vaultseek.vault.settle import HintBatch
from vaultseek.worker import SemanticWorker

NOTES_BEHIND = 20
"""Unread notes above which an answer says that it may be incomplete."""
NAMES_SECONDS = 1.0
"""Pause before the names are read for completion, which would hold up the first searches."""
FIRST_SCAN_SECONDS = 0.8
"""Longest wait of searches for the first scan of a new vault, from when it was opened."""
EMBED_POLL_SECONDS = 0.05
COPY_SECONDS = 2.0
"""Time between two questions of a searcher whether a shard has changed."""
EMBED_FAILURES = 100
"""Failed checks of the embedding after which a waiting client gets an error."""

log = logging.getLogger(__name__)


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
        self._on_progress = on_progress
        self._on_damage = on_damage
        self._loop = asyncio.get_running_loop()
        options = vault.options
        self._watch = FolderWatch(options.root, lambda: self.state == "vault_missing", options.rescan_seconds)
        self._tasks: list[asyncio.Task[None]] = []
        self._files = WaitingFiles()
        self._preparing: tuple[tuple[str, ...], asyncio.Task[None]] | None = None
        self.upkeep = IndexUpkeep(vault)
        self._scanned = asyncio.Condition()
        self._scans_begun = 0
        self._scans_done = 0
        self._loss_accepted = False
        self._changed_notes = 0
        self._notes_changed = asyncio.Event()
        self._judged_at: int | None = None
        self.waiting_clients = 0
        """Clients that wait until everything is embedded, so that the vault must not be opened again."""
        self.completer = VaultCompleter(vault.ledger)
        self._ranking_names = False
        self._speaker: Speaker | None = None
        self._opened = time.monotonic()
        self._was_indexed_before = vault.ledger.counts().notes > 0
        self._notes_there = 0  # that the last comparison of everything did not want to be read
        self._closed = False

    def start(self) -> None:
        """Start the tasks. Searches can be answered already; the first scan follows."""
        vault = self.vault
        self._spawn(partial(self._rank_names, NAMES_SECONDS), "names")
        self._spawn(self._report_damage, "ledger")
        if vault.engine is not None and vault.engine.is_shared:
            self._speaker = Speaker(vault, vault.engine)
            self._spawn(self._speaker.speak, "heartbeat")
        if vault.options.paused:
            vault.activity = Activity("paused", vault.options.paused_reason)
            self._spawn(self._serve_paused, "serve")
            if vault.options.engine is not None:
                self._spawn(self._catch_up_engine, "engine")
            return
        if vault.shard is not None:
            self._spawn(partial(self._follow_shard, vault.shard), "shard")
            return
        vault.activity = Activity("indexing")
        self._spawn(self._follow, "follow")
        self._spawn(partial(embed.follow, vault.embedding, self._set_embed_problem), "embed")
        if (second := vault.spaces.second) is not None:
            self._spawn(partial(second_space.follow, second, self._is_idle), "second space")
        self._spawn(self._watch.check, "check")
        self._spawn(self.upkeep.merge_segments, "merge")
        if vault.options.engine is not None:
            self._spawn(self._catch_up_engine, "engine")
        self._spawn(partial(self.upkeep.compact_daily, self._has_time_to_compact), "compact")
        self._spawn(partial(concepts.follow, vault.concepts, self._is_idle), "concepts")
        if vault.options.expansion:
            vault.concepts.enable()

    async def close(self) -> None:
        """Stop all tasks and close the vault; what is indexed so far is kept."""
        self.vault.indexer.stop()
        for task in self._tasks:
            task.cancel()
        async with self._scanned:
            self._closed = True
            self._scanned.notify_all()
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
        return self.vault.activity.pending(self.vault.ledger.counts())

    def status(self) -> VaultStatus:
        """Return a snapshot of the vault and its index. Reads the ledger, so call it in a thread."""
        ledger, options = self.vault.ledger, self.vault.options
        return VaultStatus(
            name=options.name,
            path=str(options.root),
            activity=self.vault.activity,
            counts=ledger.counts(),
            embeddings_computed=ledger.vectors.embeddings_computed(),
            rate=self.vault.embedding.rate(),
            revision=ledger.revision,
            problems=ledger.problems.all(),
            lanes=self._lanes(),
            models=self.vault.spaces.as_json(),
        )

    def progress(self, *, vectors: bool = True) -> JSON:
        """Return the vault's ``index/progress`` notification; without ``vectors`` they are not waited for."""
        vault = self.vault
        return vault.activity.progress_json(
            vault.name,
            vault.ledger.counts(),
            vault.embedding.rate(),
            vectors=vectors,
            waiting_for=self._waiting_for(),
        )

    def _waiting_for(self) -> str | None:
        """Return why no vectors can be computed now, or None."""
        problem, worker = self.vault.activity.embed_problem, self.worker.state
        if problem is not None:
            return problem.text
        if worker.status == "ready":
            return None
        return worker.reason.text if worker.reason else "the model is being loaded"

    def degraded_reason(self) -> Reason | None:
        """Return why an answer may not cover all notes as they are now, or None. A pause is no reason."""
        activity = self.vault.activity
        if activity.state in _NOT_INDEXING or self.vault.shard is not None:
            return activity.reason
        is_first = not self._scans_done and not self._was_indexed_before and activity.state != "paused"
        if activity.notes_left > (0 if is_first else NOTES_BEHIND):
            done, total = self._notes_there + activity.notes_done, self._notes_there + activity.notes_total
            progress = f"{done:,} of {total:,} notes"
            return Reason("being_read", f"still reading, {progress} so far")
        return Reason("being_read", "still looking for the notes of this vault") if is_first else None

    def missing_seconds(self) -> float:
        """Return how long the vault's folder has been missing; 0 for a paused vault."""
        return self._watch.missing_seconds

    async def rescan(self, *, accept_loss: bool = False) -> None:
        """Return when everything that was on disk at the moment of the call is indexed.

        With ``accept_loss`` notes are removed from the index even if most of them are gone. Raises
        VaultMissing or Unavailable.
        """
        if self.vault.options.paused:
            raise Unavailable(self.vault.options.paused_reason.text, "paused")
        if self.vault.shard is not None:
            await self._copy_shard(self.vault.shard)
            return
        async with self._scanned:
            self._loss_accepted = accept_loss
            target = self._scans_begun + 1
            self._watch.request_rescan("a client requested it")
            await self._scanned.wait_for(lambda: self._closed or self._scans_done >= target)
        self._check_open()
        activity = self.vault.activity
        message = activity.reason.text if activity.reason else f"{self.vault.name} cannot be indexed now"
        if activity.state == "vault_missing":
            raise VaultMissing(message)
        if activity.state in ("disk_full", "failing"):
            raise Unavailable(message)

    async def wait_if_new(self) -> None:
        """Give the first scan of a vault without an index a moment, once: a long one is not waited for."""
        left = self._opened + FIRST_SCAN_SECONDS - time.monotonic()
        if not self._was_indexed_before and left > 0:
            await self.wait_for_first_scan(left)

    async def wait_for_first_scan(self, seconds: float) -> bool:
        """Wait up to ``seconds`` for the first scan since the vault was opened; true if it is done."""
        if self._scans_done or self.vault.options.paused:
            return True
        async with self._scanned:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._scanned.wait_for(lambda: self._scans_done > 0)
        return self._scans_done > 0

    async def wait_for_change_of_notes(self, pause: float, share: float) -> None:
        """Return ``pause`` seconds after the first scan, then after ``share`` of the notes have changed."""
        while True:
            await self._notes_changed.wait()
            self._notes_changed.clear()
            await asyncio.sleep(pause)
            new = self._changed_notes - (self._judged_at or 0)
            if self._judged_at is None or new > share * self.vault.ledger.counts().notes:
                self._judged_at = self._changed_notes
                return

    async def wait_until_embedded(self) -> None:
        """Return when every vector is stored and searchable, and an engine has all notes.

        Raises WorkerUnavailable or Unavailable if that fails.
        """
        failures = 0
        vault = self.vault
        while (
            vault.ledger.counts().pending
            or vault.embedding.has_previous
            or vault.semantic_reason() is not None
            or vault.keyword_reason() is not None
        ):
            self.vault.embedding.wake.set()
            await asyncio.sleep(EMBED_POLL_SECONDS)
            self._check_open()
            behind = vault.keyword_reason()
            problem = vault.activity.embed_problem or (
                behind if behind is not None and behind.code == "behind" else None
            )
            failures = failures + 1 if problem else 0
            if failures > EMBED_FAILURES or self.worker.state.status == "broken":
                raise WorkerUnavailable(problem.text if problem else "the semantic worker is down")

    def _check_open(self) -> None:
        """Raise Unavailable if the vault was closed while a client waited."""
        if self._closed:
            raise Unavailable(f"{self.vault.name} was closed meanwhile; try again")

    async def refresh_concepts(self) -> None:
        """Bring the concept vocabulary up to the ledger, unless the vault is busy.

        Raises WorkerUnavailable or IndexDamaged.
        """
        self.vault.concepts.enable()
        if self._is_idle():
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

    async def _follow_shard(self, shard: ShardCopy) -> None:
        """Keep the copy of a shard up to the engine, which may be away for a while."""
        while True:
            await self._copy_shard(shard)
            if not self.vault.embedding.ready:
                with contextlib.suppress(WorkerUnavailable, IndexDamaged):
                    await self.vault.embedding.open()
            await asyncio.sleep(COPY_SECONDS)

    async def _copy_shard(self, shard: ShardCopy) -> None:
        vault = self.vault
        try:
            behind = await asyncio.to_thread(shard.is_behind)
            if behind and self.state == "ready":
                self._set_state("ready", Reason("behind", "newer notes of this shard are being copied"))
            changed = await vault.in_writer(shard.step)
            if changed or not self._scans_done:
                await vault.in_writer(vault.indexer.load)
            self._set_state("ready", shard.reason())
        except Unavailable as error:
            self._set_state("shard_missing", Reason("behind", f"its shard is missing: {error}"))
        except Exception as error:  # such as a full disk, of which the ledger has an error of its own
            self._report_failure(error)
        else:
            if changed:
                vault.activity = replace(vault.activity, last_change=time.time())
                self._on_progress(self, [])
        async with self._scanned:
            self._scans_begun = self._scans_done = self._scans_done + 1
            self._scanned.notify_all()

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
            self._set_state("vault_missing", Reason.of(error))
            await self._finish_scan(batch)
        except Cancelled:
            raise
        except Exception as error:
            await self._retry_later(error, batch)

    async def _read_files(self, hints: asyncio.Task[HintBatch]) -> None:
        """Read some of the files that wait, for about a second, or none if a change comes first."""
        part = self._files.next()
        began = time.monotonic()
        if not await self._prepared(part, hints):
            self._files.put_back(part)
            return
        try:
            await self._apply(Changes(read=part))
        except Cancelled:
            raise
        except Exception as error:
            self._files.clear()
            await self._retry_later(error, HintBatch(frozenset(), "reading files failed"))
            return
        self._files.took(time.monotonic() - began)
        if not self._files:
            await self._finish_scan(HintBatch(frozenset(), "all files are read"))

    async def _prepared(self, part: tuple[str, ...], hints: asyncio.Task[HintBatch]) -> bool:
        """Return True once the texts of files are there to be indexed; False if a change on disk comes first.

        One file may take minutes, with OCR. Its reading then goes on, beside the writer.
        """
        while True:
            if self._preparing is None:
                work = asyncio.to_thread(self.vault.indexer.prepare, part)
                self._preparing = part, self._loop.create_task(work)
                self._preparing[1].add_done_callback(lambda done: done.cancelled() or done.exception())
            prepared, task = self._preparing
            await asyncio.wait((task, hints), return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                return False
            self._preparing = None
            if prepared == part:
                return True  # what failed fails again where the file is indexed, and is told there

    async def _load(self) -> bool:
        try:
            await self.vault.in_writer(self.vault.indexer.load)
        except Cancelled:
            raise
        except Exception as error:
            self._report_failure(error)
            return False
        return True

    async def _catch_up_engine(self) -> None:
        """Ask an engine again that did not answer, until it has what the ledger has."""
        while True:
            await asyncio.sleep(RETRY_SECONDS)
            await self.vault.in_writer(self.vault.indexer.catch_up_again)

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
                self._set_state("ready", None)
            else:
                self._set_state("polling", Reason("polling", poll_reason))
        await self._finish_scan(batch)

    async def _reconcile(self, batch: HintBatch) -> Changes:
        indexer = self.vault.indexer
        if batch.rescan_reason is None:
            if any(path.startswith(".obsidian") for path in batch.paths):
                self._watch.request_rescan("the app's settings changed")
            return await self.vault.in_writer(indexer.reconcile, batch.paths)
        self._scans_begun += 1
        began = time.monotonic()
        changes = await self.vault.in_writer(indexer.reconcile)
        self._notes_there = await self.vault.in_writer(indexer.count_others, changes.read)
        self._watch.note_scan(began)
        return changes

    def _looks_unmounted(self, changes: Changes, *, whole: bool) -> bool:
        """True if most notes are gone at once: only the user can say that they were deleted.

        ``whole``: everything was compared, which the user waits for who has said so.
        """
        accepted = whole and self._loss_accepted
        if accepted or not reconcile.looks_unmounted(changes, self.vault.ledger.counts().notes):
            self._loss_accepted = self._loss_accepted and not whole
            return False
        message = (
            f"{len(changes.removed)} notes are gone at once; the index is kept."
            " If they were deleted on purpose, run `vaultseek index`"
        )
        self._set_state("vault_missing", Reason("vault_missing", message))
        return True

    async def _apply(self, changes: Changes) -> None:
        vault = self.vault
        changed = await vault.in_writer(vault.indexer.apply, changes, self._report_read)
        last_change = time.time() if changed else vault.activity.last_change
        done, total = self._files.progress()
        vault.activity = replace(vault.activity, notes_done=done, notes_total=total, last_change=last_change)
        self.upkeep.changed.set()
        vault.embedding.wake.set()
        vault.concepts.wake.set()
        if vault.spaces.second is not None:
            vault.spaces.second.wake.set()
        self._changed_notes += len(changed)
        self._notes_changed.set()
        self._on_progress(self, changed)

    def _report_read(self, done: int, total: int) -> None:
        """Hand the progress of the writer thread to the event loop, which alone sets the activity."""
        self._loop.call_soon_threadsafe(self._set_read, done, total)

    def _set_read(self, done: int, total: int) -> None:
        done, total = self._files.progress(done, total)
        self.vault.activity = replace(self.vault.activity, notes_done=done, notes_total=total)
        self.vault.embedding.wake.set()

    async def _retry_later(self, error: Exception, batch: HintBatch) -> None:
        """Report the failure and request a rescan: what was not indexed still differs from the ledger."""
        self._report_failure(error)
        await self._finish_scan(batch)
        await asyncio.sleep(RETRY_SECONDS)
        self._watch.request_rescan("the last attempt failed")

    def _report_failure(self, error: Exception) -> None:
        if paths.is_disk_full(error):
            reason = Reason("disk_full", "the disk is full; nothing new is indexed until there is space")
            self._set_state("disk_full", reason)
        else:
            log.error("indexing changes of %s failed; trying again", self.vault.name, exc_info=error)
            message = f"indexing changes failed ({type(error).__name__}); see the log"
            self._set_state("failing", Reason("failing", message))

    async def _finish_scan(self, batch: HintBatch) -> None:
        if batch.rescan_reason is None or self._files:
            return
        async with self._scanned:
            self._scans_done = self._scans_begun
            self._scanned.notify_all()

    def _set_state(self, state: str, reason: Reason | None) -> None:
        activity = self.vault.activity
        if (state, reason) != (activity.state, activity.reason):
            self.vault.activity = replace(activity, state=state, reason=reason)
            self._on_progress(self, [])

    def _set_embed_problem(self, problem: Reason | None) -> None:
        self.vault.activity = replace(self.vault.activity, embed_problem=problem)
        self._on_progress(self, [])

    def _is_idle(self) -> bool:
        """True if everything is read and embedded, so that there is time for the concept vocabulary."""
        reason = self.vault.keyword_reason() or self.vault.semantic_reason()
        return reason is None and self._is_read() and not self.pending

    def _has_time_to_compact(self) -> bool:
        return self._is_idle() or (self._is_read() and self.worker.state.status == "broken")

    def _is_read(self) -> bool:
        return self.state in ("ready", "polling") and not self.vault.activity.notes_left

    def _lanes(self) -> JSON:
        vault, worker = self.vault, self.worker.state
        semantic_up = vault.embedding.ready and worker.status == "ready"
        unready = Reason("being_built", "the vectors are not ready yet")
        reasons = {
            "keyword": vault.keyword_reason(),
            "semantic": None if semantic_up else vault.activity.embed_problem or worker.reason or unready,
            "graph": None if vault.graph else GRAPH_MISSING,
        }
        return {lane: {"up": reason is None, **reason_json(reason)} for lane, reason in reasons.items()}

    def _spawn(self, work: Work, name: str) -> None:
        title = f"{name} {self.vault.name}"
        task = self._loop.create_task(keep_running(work, title), name=title)
        self._tasks = [task, *(other for other in self._tasks if not other.done())]


OnProgress = Callable[[VaultFollower, list[str]], None]
OnDamage = Callable[[VaultFollower], None]
_NOT_INDEXING = ("vault_missing", "disk_full", "failing", "shard_missing")
"""States in which what is on disk is not indexed."""
