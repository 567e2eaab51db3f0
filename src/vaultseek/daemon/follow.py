"""Tasks that keep an open vault in sync with its source, and its index compact and undamaged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from vaultseek.base.model import JSON, Reason, reason_json
from vaultseek.core.graph.vault_structure import VaultStructure
from vaultseek.core.indexing.open_vault import OpenVault
from vaultseek.core.indexing.status import VaultStatus
from vaultseek.core.notes.complete import VaultCompleter
from vaultseek.daemon.activity import ActivityReporter, ChangedNotes
from vaultseek.daemon.folder_source import FolderSource
from vaultseek.daemon.hosting import Hosting
from vaultseek.daemon.maintenance import Maintenance
from vaultseek.daemon.scans import Backlog, Scans
from vaultseek.daemon.sources import PausedSource, Source
from vaultseek.daemon.tasks import Work, keep_running
from vaultseek.errors import Unavailable, VaultseekError
from vaultseek.semantic.worker import SemanticWorker
from vaultseek.store.graph import GRAPH_MISSING

NAMES_SECONDS = 1.0
"""Seconds to wait before reading the names of notes for completion, so that the first searches are not
delayed."""


class VaultFollower:
    """The tasks that keep one open vault up to date, with their progress.

    ``on_progress`` is called on the event loop with the paths of changed notes (an empty list if only the
    progress or state changed); ``on_damage`` is called when the ledger is damaged and the vault must be
    reopened.
    """

    def __init__(
        self,
        vault: OpenVault,
        worker: SemanticWorker,
        on_progress: OnProgress,
        on_damage: OnDamage = lambda follower: None,
        hosting: Hosting | None = None,
    ) -> None:
        self.vault = vault
        self.worker = worker
        self._on_damage = on_damage
        self._loop = asyncio.get_running_loop()
        self._tasks: list[asyncio.Task[None]] = []
        self.maintenance = Maintenance(vault)
        self._scans = Scans(was_indexed=vault.ledger.counts().notes > 0, is_done=vault.options.paused)
        self._backlog = Backlog(vault, worker, self._scans)
        self.changed_notes = ChangedNotes()
        self.waiting_clients = 0
        """Number of clients waiting until everything is embedded. While it is positive, the vault must not be
        reopened."""
        self.structure = VaultStructure()
        self.completer = VaultCompleter(vault.ledger)
        self._ranking_names = False
        self._hosting = hosting or Hosting()
        self._source = self._choose_source(ActivityReporter(vault, partial(on_progress, self)))
        self.rescan = self._source.rescan
        self.degraded_reason = self._source.degraded_reason
        self.missing_seconds = self._source.missing_seconds
        self.wait_if_new = self._scans.wait_if_new
        self.wait_for_first_scan = self._scans.wait_for_first
        self.wait_until_embedded = self._backlog.wait_until_embedded
        self.is_at_work = self._backlog.is_at_work

    def _choose_source(self, reporter: ActivityReporter) -> Source:
        vault = self.vault
        if vault.options.paused:
            return PausedSource(vault)
        if (source := self._hosting.source(vault, self._scans, reporter)) is not None:
            return source
        return FolderSource(vault, reporter, self._scans, self._backlog, self.maintenance, self.changed_notes)

    def start(self) -> None:
        """Start the tasks, beginning with the first scan. Searches are answered even before that scan."""
        self._spawn(partial(self._rank_names, NAMES_SECONDS), "names")
        self._spawn(self._report_damage, "ledger")
        self.vault.engine.start_background_writer()
        for work, name in (*self._hosting.tasks(self.vault), *self._source.tasks()):
            self._spawn(work, name)

    async def close(self) -> None:
        """Stop all tasks and close the vault; its index is kept."""
        self.vault.indexer.stop()
        for task in self._tasks:
            task.cancel()
        await self._scans.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(self._source.stop(), asyncio.to_thread(self.vault.close))

    def expect_close(self, ending: VaultseekError) -> None:
        """Announce that the vault is about to be closed; waiting clients then get the error ``ending``."""
        self._scans.ending = ending

    def keep_names_ranked(self) -> None:
        """In the background, rank the names of changed notes for completion, if the vault has many names."""
        if self.completer.crowded and not self._ranking_names:
            self._spawn(self._rank_names, "names")

    async def _rank_names(self, pause: float = 0.0) -> None:
        self._ranking_names = True
        try:
            await asyncio.sleep(pause)
            with suppress(Unavailable):  # a ledger on a server; the next change causes a retry
                await asyncio.to_thread(self.completer.prepare)
        finally:
            self._ranking_names = False

    # -- requests --------------------------------------------------------------------------------------

    @property
    def state(self) -> str:
        """The state of the indexing, as shown by ``index/status``."""
        return self.vault.activity.state

    @property
    def pending(self) -> int:
        """Number of notes not yet read plus number of vectors not yet stored."""
        return self._backlog.count

    def status(self) -> VaultStatus:
        """Return a snapshot of the vault and its index. Call it in a thread, because it reads the ledger."""
        vault, ledger, options = self.vault, self.vault.ledger, self.vault.options
        try:
            computed, problems = ledger.vectors.embeddings_computed(), ledger.problems.all()
        except Unavailable:  # the ledger is on a server
            computed, problems = 0, []
        return VaultStatus(
            name=options.name,
            path=str(options.root),
            activity=vault.activity,
            counts=ledger.counts(),
            embeddings_computed=computed,
            rate=vault.embedding.rate.per_second(),
            revision=ledger.revision,
            problems=problems,
            lanes=_lanes(vault, self.worker),
            models=vault.spaces.as_json(),
        )

    def progress(self, *, vectors: bool = True) -> JSON:
        """Return the content of the vault's ``index/progress`` notification; without ``vectors``, it covers
        only notes."""
        vault, reason = self.vault, self._backlog.waiting_reason()
        return vault.activity.progress_json(
            vault.name,
            vault.ledger.counts(),
            vault.embedding.rate.per_second(),
            vectors=vectors,
            waiting_for=reason.text if reason else None,
        )

    async def refresh_concepts(self) -> None:
        """Synchronize the concept vocabulary with the ledger, unless the vault is busy.

        Raises WorkerUnavailable or IndexDamaged.
        """
        self.vault.concepts.enable()
        if self._backlog.is_empty():
            await self.vault.concepts.refresh()

    # -- tasks -----------------------------------------------------------------------------------------

    async def _report_damage(self) -> None:
        await self.maintenance.wait_for_damage()
        self._on_damage(self)

    def _spawn(self, work: Work, name: str) -> None:
        title = f"{name} {self.vault.name}"
        task = self._loop.create_task(keep_running(work, title), name=title)
        self._tasks = [task, *(other for other in self._tasks if not other.done())]


OnProgress = Callable[[VaultFollower, list[str]], None]
OnDamage = Callable[[VaultFollower], None]


def _lanes(vault: OpenVault, worker: SemanticWorker) -> JSON:
    state = worker.state
    semantic_up = vault.embedding.ready and state.status == "ready"
    unready = Reason("being_built", "the vectors are not ready yet")
    outage = vault.engine.outage  # the last known state of the engine, without contacting it
    away = None if outage is None else Reason.of(outage)
    reasons = {
        "keyword": away or vault.keyword_reason(),
        "semantic": away
        or (None if semantic_up else vault.activity.embed_problem or state.reason or unready),
        "graph": None if vault.graph else GRAPH_MISSING,
    }
    return {lane: {"up": reason is None, **reason_json(reason)} for lane, reason in reasons.items()}
