"""A folder of notes as the source of an open vault: watch, compare, index, embed."""

import asyncio
import contextlib
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from vaultseek.base.model import Reason
from vaultseek.content.files.diff import Changes
from vaultseek.content.files.obsidian import APP_FILE, OBSIDIAN_FOLDER
from vaultseek.content.files.settle import HintBatch
from vaultseek.core.indexing import concepts, embed, reconcile
from vaultseek.core.indexing.open_vault import OpenVault
from vaultseek.core.indexing.status import Activity
from vaultseek.daemon.activity import ActivityReporter, ChangedNotes
from vaultseek.daemon.files import FilePreparation, FileQueue
from vaultseek.daemon.folder_watch import FolderWatch
from vaultseek.daemon.maintenance import Maintenance
from vaultseek.daemon.scans import EMBED_POLL_SECONDS, Backlog, Extent, Scans
from vaultseek.daemon.sources import Source
from vaultseek.daemon.tasks import Work, pause_after
from vaultseek.errors import Cancelled, Unavailable, VaultMissing, advise

UNREAD_NOTES_TOLERATED = 20
"""Number of unread notes above which an answer is reported as possibly incomplete."""
LARGE_NOTES = 2_000
START_SECONDS = 0.5
"""Seconds to wait before loading a large vault that already has an index. The first searches use this index,
and loading would delay them."""
ENGINE_SECONDS = 0.5
"""Maximum seconds to wait for the engine to store a change before clients are notified of it."""


class FolderSource(Source):
    """The folder of an open vault; its notes are read whenever they change."""

    def __init__(
        self,
        vault: OpenVault,
        reporter: ActivityReporter,
        scans: Scans,
        backlog: Backlog,
        maintenance: Maintenance,
        changed_notes: ChangedNotes,
    ) -> None:
        self._vault = vault
        self._reporter = reporter
        self._scans = scans
        self._backlog = backlog
        self._maintenance = maintenance
        self._changed_notes = changed_notes
        self._loop = asyncio.get_running_loop()
        options = vault.options
        self._watch = FolderWatch(
            options.root, lambda: self._state == "vault_missing", options.rescan_seconds
        )
        self._files = FileQueue()
        self._preparation = FilePreparation(vault.indexer.prepare)
        self._failures = 0
        self._requested = asyncio.Event()  # set when a client has requested a scan since the last one began
        self._unchanged_notes = 0  # number of files that the last full comparison did not need to read

    def tasks(self) -> Iterator[tuple[Work, str]]:
        """Start indexing; yield the source's tasks, with their names."""
        vault, maintenance = self._vault, self._maintenance
        vault.activity = Activity("indexing")
        yield self._follow, "follow"
        yield partial(embed.follow, vault.embedding, self._reporter.set_embed_problem), "embed"
        if (second := vault.spaces.second) is not None:
            yield partial(embed.follow, second, second.set_problem, self._backlog.is_empty), "second space"
        yield self._watch.check, "check"
        yield maintenance.merge_segments, "merge"
        yield partial(maintenance.compact_daily, self._backlog.is_idle), "compact"
        yield partial(concepts.follow, vault.concepts, self._backlog.is_empty), "concepts"
        if vault.options.expansion:
            vault.concepts.enable()

    async def stop(self) -> None:
        """Stop watching the folder."""
        await self._watch.stop()

    @property
    def _state(self) -> str:
        return self._vault.activity.state

    def degraded_reason(self) -> Reason | None:
        """Return the reason why an answer might not reflect the latest changes to notes, or None."""
        activity = self._vault.activity
        if activity.state in _NOT_INDEXING:
            return activity.reason
        is_first = self._scans.is_new
        if activity.notes_left > (0 if is_first else UNREAD_NOTES_TOLERATED):
            done, total = (
                self._unchanged_notes + activity.notes_done,
                self._unchanged_notes + activity.notes_total,
            )
            progress = f"{done:,} of {total:,} notes"
            return Reason("being_read", f"still reading, {progress} so far")
        return Reason("being_read", "still looking for the notes in this vault") if is_first else None

    def missing_seconds(self) -> float:
        """Return the number of seconds for which the vault's folder has been missing."""
        return self._watch.missing_seconds

    async def rescan(self, *, accept_loss: bool = False, extent: Extent = Extent.ALL) -> None:
        """Wait until everything that was on disk at the time of the call is indexed.

        With ``accept_loss``, notes are removed from the index even if most of them are missing. The call does
        not wait for files outside ``extent``, and waits for the engine only if ``extent`` covers all files.
        Raises VaultMissing or Unavailable.
        """
        await self._scans.wait_for_next(self._request_rescan, accept_loss=accept_loss, extent=extent)
        files = extent is Extent.ALL
        if files:
            await self._load_graph()
        while files and not self._vault.engine.is_synced:
            self._scans.check_open(self._vault.name)
            await asyncio.sleep(EMBED_POLL_SECONDS)
        self._scans.check_open(self._vault.name)
        activity = self._vault.activity
        message = activity.reason.text if activity.reason else f"{self._vault.name} cannot be indexed now"
        if activity.state == "vault_missing":
            raise VaultMissing(message, advice=activity.reason.advice if activity.reason else None)
        if activity.state in ("disk_full", "failing"):
            raise Unavailable(message)

    def _request_rescan(self) -> None:
        self._requested.set()
        self._watch.request_rescan("requested by a client")

    # -- tasks -----------------------------------------------------------------------------------------

    async def _follow(self) -> None:
        if self._vault.ledger.counts().notes > LARGE_NOTES:
            await asyncio.sleep(START_SECONDS)
        with contextlib.suppress(Cancelled):
            while not await self._load():
                await asyncio.sleep(pause_after(self._failures))
            # Watch before the first scan, so that no change between the two is missed.
            await self._watch.start()
            self._watch.request_rescan("the vault was opened")
            while True:
                hints = self._loop.create_task(self._watch.next_batch())
                try:
                    # Reading files may be slow, so notes saved in the meantime come first.
                    while self._files and not hints.done():
                        await self._read_files(hints)
                    batch = await hints
                finally:
                    hints.cancel()
                await self._follow_batch(batch)

    async def _follow_batch(self, batch: HintBatch) -> None:
        try:
            await self._process(batch)
            await self._load_graph()
            if not self._files:  # otherwise, the waiting files may be the cause of the failures
                self._failures = 0
        except VaultMissing as error:
            self._reporter.set_state("vault_missing", Reason.of(error))
            await self._finish_scan(batch)
        except Cancelled:
            raise
        except Exception as error:
            await self._retry_later(error, batch)

    async def _read_files(self, hints: asyncio.Task[HintBatch]) -> None:
        """Read some of the waiting files, for about a second; read none if a change arrives first."""
        await asyncio.wait((hints,), timeout=self._files.pause())
        if hints.done():
            return
        part = self._files.next()
        began = time.monotonic()
        failed = await self._preparation.failed(part, hints)
        if failed is None:
            self._files.requeue(part)
            return
        self._files.retry_later(failed)
        try:
            await self._apply(Changes(read=tuple(path for path in part if path not in failed)))
        except Cancelled:
            raise
        except Exception as error:
            self._files.clear()
            await self._retry_later(error, HintBatch(frozenset(), "reading files failed"))
            return
        self._files.record_duration(time.monotonic() - began)
        self._failures = 0
        if self._files.extent() is not Extent.NOTES:
            await self._finish_scan(HintBatch(frozenset(), "the files were read"))

    async def _load(self) -> bool:
        try:
            # The first keyword answers of a new vault must not wait for the import of NetworkX.
            await self._vault.in_writer(partial(self._vault.indexer.load, graph=not self._scans.is_new))
        except Cancelled:
            raise
        except Exception as error:
            self._failures += 1
            self._reporter.report_failure(error)
            return False
        self._failures = 0
        return True

    async def _load_graph(self) -> None:
        if self._vault.graph is None:
            await self._vault.in_writer(self._vault.indexer.load_graph)

    # -- steps -----------------------------------------------------------------------------------------

    async def _process(self, batch: HintBatch) -> None:
        changes = await self._reconcile(batch)
        self._watch.add_unreadable(
            path for path, problem in changes.problems if problem.code == "unreadable_folder"
        )
        whole = batch.rescan_reason is not None
        if (self._state == "vault_missing" and not whole) or await self._looks_unmounted(
            changes, whole=whole
        ):
            # Only a full comparison can show that the vault is complete again.
            await self._apply(self._files.defer(replace(changes, removed=(), attachments_removed=())))
        else:
            await self._apply(self._files.defer(changes))
            poll_reason = self._watch.poll_reason
            if poll_reason is None:
                self._reporter.set_state("ready", None)
            else:
                self._reporter.set_state("polling", Reason("polling", poll_reason))
        await self._finish_scan(batch)

    async def _reconcile(self, batch: HintBatch) -> Changes:
        indexer = self._vault.indexer
        if batch.rescan_reason is None:
            if batch.paths & {OBSIDIAN_FOLDER, APP_FILE}:
                self._watch.request_rescan("Obsidian's settings changed")
            return await self._vault.in_writer(indexer.reconcile, batch.paths)
        self._requested.clear()
        self._scans.begin()
        began = time.monotonic()
        changes = await self._vault.in_writer(indexer.reconcile)
        self._unchanged_notes = await self._vault.in_writer(indexer.count_others, changes.read)
        self._watch.record_scan(began)
        return changes

    async def _looks_unmounted(self, changes: Changes, *, whole: bool) -> bool:
        """Return True if most notes disappeared at once, in which case the user must confirm their deletion.

        ``whole`` is true if the whole vault was compared. A confirmation counts only then.
        """
        vault = self._vault
        accepted = whole and self._scans.accepts_loss
        self._scans.accepts_loss = self._scans.accepts_loss and not whole
        if accepted or not await vault.in_writer(
            reconcile.looks_unmounted, changes, vault.ledger, vault.options.root
        ):
            return False
        message = (
            f"{len(changes.removed)} notes disappeared at once; their index is kept."
            " If they were deleted on purpose, index the vault"
        )
        advice = advise("index", vault.options.name)
        self._reporter.set_state("vault_missing", Reason("vault_missing", message, advice))
        return True

    async def _apply(self, changes: Changes) -> None:
        vault = self._vault
        # The activity may be set only in the event loop's thread.
        changed = await vault.in_writer(
            vault.indexer.apply,
            changes,
            lambda done, total: self._loop.call_soon_threadsafe(self._set_progress, done, total),
        )
        await vault.engine.wait_until_synced(ENGINE_SECONDS)
        last_change = time.time() if changed else vault.activity.last_change
        done, total = self._files.progress()
        vault.activity = replace(vault.activity, notes_done=done, notes_total=total, last_change=last_change)
        self._maintenance.changed.set()
        vault.embedding.wake.set()
        vault.concepts.wake.set()
        if vault.spaces.second is not None:
            vault.spaces.second.wake.set()
        self._changed_notes.add(len(changed))
        self._reporter.notify(changed)

    def _set_progress(self, done: int, total: int) -> None:
        done, total = self._files.progress(done, total)
        self._vault.activity = replace(self._vault.activity, notes_done=done, notes_total=total)
        self._vault.embedding.wake.set()

    async def _retry_later(self, error: Exception, batch: HintBatch) -> None:
        """Report the failure; after a pause, request a rescan, which finds files that still differ from the
        ledger.

        A client's request ends the pause early, because the user may have fixed the cause and may be waiting.
        """
        self._failures += 1
        self._reporter.report_failure(error)
        await self._finish_scan(batch)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(pause_after(self._failures)):
                await self._requested.wait()
        self._watch.request_rescan("the last attempt failed")

    async def _finish_scan(self, batch: HintBatch) -> None:
        if batch.rescan_reason is not None:
            await self._scans.finish(self._files.extent())


_NOT_INDEXING = ("vault_missing", "disk_full", "failing")
"""States in which changes on disk are not indexed."""
