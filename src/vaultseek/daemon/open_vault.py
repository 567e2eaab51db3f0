"""One open vault: its ledger, its indexes, and the tasks that keep them true to the disk."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from vaultseek import paths
from vaultseek.errors import Busy, IndexDamaged, Unavailable, VaultMissing, WorkerUnavailable
from vaultseek.index.concept_vocabulary import Concept
from vaultseek.index.graph import Graph
from vaultseek.index.keyword.index import KeywordIndex
from vaultseek.index.ledger import Counts, Ledger, NoteRow
from vaultseek.index.vectors.index import NoteIds
from vaultseek.indexing import concepts, reconcile
from vaultseek.indexing.concepts import Concepts
from vaultseek.indexing.crash_marker import Breadcrumb
from vaultseek.indexing.embed import Embedding, OldModels, Recipe, follow
from vaultseek.indexing.ingest import Intake, Keyword, Reading
from vaultseek.limits import (
    NOTE_PARSE_BYTES,
    OPENING_CHARS,
    QUERY_EMBED_SECONDS,
    RESCAN_SECONDS,
    RETRY_SECONDS,
)
from vaultseek.markdown.resolve import Names
from vaultseek.model import JSON, Reason, reason_json
from vaultseek.vault.diff import Changes
from vaultseek.vault.ignore import Ignore
from vaultseek.vault.settle import Hints, Settled
from vaultseek.vault.watch import Watcher
from vaultseek.worker import SemanticAnswer, SemanticWorker

LIVENESS_SECONDS = 2.0
NOTES_BEHIND = 20
"""With more notes than this still to be read, an answer says that it does not know all."""
PROBLEMS_TOLD = 2000
MISSING_RESCAN_SECONDS = 10.0
POLL_SECONDS = 5.0
POLL_SHARE = 20
"""Where changes cannot be noticed, everything is compared this often, for a twentieth of the time at most."""
FIRST_LOOK_SECONDS = 0.8

T = TypeVar("T")
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class VaultPlace:
    """Which vault: its name for people, its real path, and how it wants to be read."""

    name: str
    root: Path
    exclude: tuple[str, ...] = ()
    language: str | None = None
    rescan_seconds: float = RESCAN_SECONDS
    max_note_bytes: int = NOTE_PARSE_BYTES
    paused: bool = False
    """Answers from what is known, and does not follow the vault."""
    expansion: bool = False
    """Queries are expanded unless they say otherwise, so that the vocabulary for that has to be there."""


class Keeper:
    """Keeps one vault's index true: watches, compares, takes in, embeds, and says how far it is."""

    def __init__(
        self,
        place: VaultPlace,
        worker: SemanticWorker,
        recipe: Recipe,
        on_progress: OnProgress,
        old_models: OldModels | None = None,
    ) -> None:
        self.place = place
        self.state = "opening"
        self.reason: Reason | None = None
        self._worker = worker
        self._recipe = recipe
        self._on_progress = on_progress
        self._old_models = old_models
        self._writer = ThreadPoolExecutor(1, thread_name_prefix=f"writer-{place.name}")
        self._tasks: list[asyncio.Task[None]] = []
        self._embed_wake = asyncio.Event()
        self._tidy_wake = asyncio.Event()
        self._scanned = asyncio.Condition()
        self._scans_begun = 0
        self._scans_done = 0
        self._reading_total = 0
        self._reading_done = 0
        self._loss_accepted = False
        self._known_before = False
        self._scan_seconds = 0.0
        self._last_change: float | None = None
        self._embed_problem: Reason | None = None
        self._gone_since: float | None = None

    # -- life ------------------------------------------------------------------------------------------

    async def open(self) -> None:
        """Open what is on disk, so that searches can be answered; the comparison with the vault follows."""
        loop = asyncio.get_running_loop()
        self.hints = Hints(loop)
        self.ignore = Ignore(self.place.root, self.place.exclude)
        await self.in_writer(self._open_indexes)
        self.embedding = Embedding(
            self.ledger,
            self._worker,
            self.directory / "semantic",
            self._recipe,
            self.in_writer,
            self._old_models,
        )
        self.concepts = Concepts(
            self.directory,
            self._recipe.fingerprint,
            self.ledger,
            lambda: self.keyword.index,
            self._worker,
        )
        if self.place.paused:
            self.state, self.reason = "paused", self._pause()
            self._spawn(self._rest(), "rest")
            return
        self.state = "indexing"
        self._watcher = Watcher(self.place.root, self.hints.add, self.hints.lose)
        self._spawn(self._catch_up_and_watch(), "follow")
        self._spawn(follow(self.embedding, self._embed_wake, self._embed_state), "embed")
        self._spawn(self._doubt(), "doubt")
        self._spawn(self._tidy(), "tidy")
        self._spawn(concepts.follow(self.concepts, self._is_settled), "concepts")
        if self.place.expansion:
            self.concepts.want()

    async def close(self) -> None:
        """Stop all tasks and close every file; what was taken in so far is kept."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if hasattr(self, "_watcher"):
            await asyncio.to_thread(self._watcher.stop)
        await asyncio.to_thread(self._writer.shutdown)
        if hasattr(self, "ledger"):
            self.keyword.index.close()
            self.ledger.close()
            self._breadcrumb.close()
            self._lock.close()

    async def in_writer(self, work: Callable[..., T], *arguments: Any) -> T:
        """Run something in the one thread that writes."""
        return await asyncio.get_running_loop().run_in_executor(self._writer, work, *arguments)

    # -- asked by requests -----------------------------------------------------------------------------

    async def seen_everything(self, *, accept_loss: bool = False) -> None:
        """Return when all that was on disk at the moment of the call has been taken in.

        ``accept_loss``: that most notes are gone is meant so, and they are to be forgotten.
        """
        if self.place.paused:
            raise Unavailable(self._pause().text, "paused")
        async with self._scanned:
            self._loss_accepted = accept_loss
            wanted = self._scans_begun + 1
            self.hints.lose("asked to look")
            await self._scanned.wait_for(lambda: self._scans_done >= wanted)
        if self.state == "vault_missing":
            raise VaultMissing(self.reason.text if self.reason else f"the vault {self.name} is not there")
        if self.state in ("disk_full", "failing"):
            raise Unavailable(
                self.reason.text if self.reason else f"the vault {self.name} cannot be indexed now"
            )

    async def first_look(self) -> None:
        """Wait a moment for the first notes of a vault that was opened just now."""
        if not self._known_before:
            await self.compared(FIRST_LOOK_SECONDS)

    async def compared(self, seconds: float) -> bool:
        """Whether the vault has been compared with the disk since it was opened; waits for that so long."""
        if self._scans_done or self.place.paused:
            return True
        async with self._scanned:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._scanned.wait_for(lambda: self._scans_done > 0)
        return self._scans_done > 0

    def gone_seconds(self) -> float:
        """For how long the vault's folder has not been there; a paused vault is not looked at."""
        return 0.0 if self._gone_since is None else time.monotonic() - self._gone_since

    async def all_embedded(self) -> None:
        """Return when every vector is stored and can be searched; raises WorkerUnavailable if that fails."""
        failures = 0
        while self.counts().pending or self.semantic_reason() is not None:
            self._embed_wake.set()
            await asyncio.sleep(0.05)
            failures = failures + 1 if self._embed_problem else 0
            if failures > 100 or self._worker.state.status == "broken":
                problem = self._embed_problem
                raise WorkerUnavailable(problem.text if problem else "the semantic worker is down")

    async def concepts_made(self) -> None:
        """Return when the concept vocabulary is up to the ledger, if that can be now.

        Raises WorkerUnavailable or IndexDamaged.
        """
        self.concepts.want()
        if self._is_settled():
            await self.concepts.refresh()

    @property
    def name(self) -> str:
        """The vault's name."""
        return self.place.name

    @property
    def keyword_index(self) -> KeywordIndex:
        """The keyword index as it is now; another one after it was made again."""
        return self.keyword.index

    @property
    def graph(self) -> Graph | None:
        """The link graph, or None while it is not built yet."""
        return self._intake.graph

    def keyword_reason(self) -> Reason | None:
        """Why the keyword lane does not know all notes that are known, None if it does."""
        if not self.keyword.filling:
            return None
        return Reason("being_built", "the keyword index is being filled again")

    def gap(self) -> Reason | None:
        """Why an answer may not know all notes as they are now, None if it does. A pause is no gap."""
        if self.state in _GAPS:
            return self.reason
        if not self._scans_done and not self._known_before and self.state != "paused":
            return Reason("being_read", "the vault is being read for the first time")
        left = self._reading_total - self._reading_done
        if left > NOTES_BEHIND:
            progress = f"{self._reading_done} of {self._reading_total} notes so far"
            return Reason("being_read", f"the vault is being read, {progress}")
        return None

    def keyword_lost(self) -> None:
        """A search found the keyword index damaged: fill it again from the ledger."""
        if not self.keyword.filling:
            self.keyword.filling = True
            self._spawn(self.in_writer(self.keyword.refill, self.ledger), "refill")

    def semantic_reason(self) -> Reason | None:
        """Why the semantic lane cannot take part, None if it can."""
        state = self._worker.state
        if state.status != "ready":
            return state.reason or Reason("worker_unavailable", f"the semantic worker is {state.status}")
        if not self.embedding.ready:
            return Reason("being_built", "the vectors are not ready yet")
        if self.embedding.has_previous:
            return None
        counts = self.counts()
        if not counts.chunks or counts.embedded:
            return None
        return Reason("not_embedded", "no passage is embedded yet")

    async def ask_semantic(self, text: str, k: int, ids: NoteIds | None) -> SemanticAnswer:
        """The nearest passages and notes. Raises WorkerUnavailable or IndexDamaged."""
        try:
            answer = await self.embedding.query(text, k, ids, QUERY_EMBED_SECONDS)
            return await asyncio.to_thread(self._with_chunk_ids, answer)
        except IndexDamaged:
            await self.embedding.lose_store()
            self._embed_wake.set()
            raise

    async def near_concepts(self, text: str, vector: Any, count: int, floor: float) -> list[Concept]:
        """Terms of the vault near to the text, whose vector it is. Raises Unavailable."""
        if self.embedding.answering_model != self._recipe.fingerprint:
            raise Unavailable(
                "the vectors are being made again for another model; wait until they are there", "being_built"
            )
        try:
            return await self.concepts.near(text, vector, count, floor)
        except Unavailable:
            if self.place.paused:
                raise Unavailable(self._pause().text, "paused") from None
            raise

    async def note_vectors(self, notes: Sequence[int]) -> Mapping[int, Any]:
        """The notes' own vectors, as far as there are any. Raises WorkerUnavailable or IndexDamaged."""
        return await self.embedding.note_vectors(notes, QUERY_EMBED_SECONDS)

    async def rerank(self, query: str, texts: Sequence[str], model: str, seconds: float) -> Sequence[float]:
        """How well each text answers the query, in [0, 1]. Raises WorkerUnavailable."""
        scores = await self._worker.rerank(query, texts, model, deadline=seconds)
        return [float(score) for score in scores]

    def _with_chunk_ids(self, answer: SemanticAnswer) -> SemanticAnswer:
        """The vector store knows chunks by number; what has gone since is left out."""
        ids = self.ledger.chunks.ids([int(hit.id) for hit in answer.chunks])
        hits = [hit._replace(id=ids[int(hit.id)]) for hit in answer.chunks if int(hit.id) in ids]
        return replace(answer, chunks=hits)

    def text_of_note(self, row: NoteRow) -> str:
        """The text that stands for the whole note in the vector store."""
        return self.embedding.recipe.note(row, self.ledger.chunks.opening(row.id, OPENING_CHARS)).text

    def index_state(self) -> JSON:
        """The ``index`` part of an answer."""
        counts = self.counts()
        return {
            "notes": counts.notes,
            "chunks": counts.chunks,
            "embedded": counts.embedded,
            "pending": self.pending(),
            "revision": self.ledger.revision,
            "state": self.state,
            **reason_json(self._told_reason(counts)),
        }

    def counts(self) -> Counts:
        """How many notes and chunks there are and how many vectors are missing."""
        return self.ledger.counts()

    def status(self) -> JSON:
        """The vault's part of ``index/status``."""
        counts = self.counts()
        problems = self.ledger.problems.all()
        rate = self.embedding.rate()
        return {
            "name": self.place.name,
            "path": str(self.place.root),
            "state": self.state,
            **reason_json(self._told_reason(counts)),
            "notes": counts.notes,
            "chunks": counts.chunks,
            "embedded": counts.embedded,
            "pending": self.pending(),
            "embeddings_computed": self.ledger.vectors.embeddings_computed(),
            "rate": round(rate, 1),
            "eta_seconds": round(counts.pending / rate) if rate else None,
            "last_change": self._last_change,
            "revision": self.ledger.revision,
            "problems": [{"path": path, **problem.as_json()} for path, problem in problems[:PROBLEMS_TOLD]],
            "problem_count": len(problems),
            "lanes": self._lanes(),
        }

    def pending(self) -> int:
        """Notes not yet read plus vectors not yet stored."""
        return self.counts().pending + max(0, self._reading_total - self._reading_done)

    def _told_reason(self, counts: Counts) -> Reason | None:
        """Why the state is what it is, and why texts that wait for their vectors go on waiting."""
        if not (counts.pending and self._embed_problem):
            return self.reason
        waiting = f"texts cannot be embedded: {self._embed_problem.text}"
        if self.reason is None:
            return Reason(self._embed_problem.code, waiting)
        return Reason(self.reason.code, f"{self.reason.text}; {waiting}")

    def progress(self) -> JSON:
        """What ``index/progress`` tells."""
        counts = self.counts()
        rate = self.embedding.rate()
        reading = self._reading_done < self._reading_total or self.state in ("opening", "indexing")
        return {
            "vault": self.place.name,
            "phase": "reading" if reading else "embedding" if counts.pending else "done",
            "notes": counts.notes,
            "notes_done": self._reading_done,
            "notes_total": self._reading_total,
            "chunks": counts.chunks,
            "embedded": counts.embedded,
            "pending": self.pending(),
            "rate": round(rate, 1),
            "eta_seconds": round(counts.pending / rate) if rate else None,
        }

    # -- tasks -----------------------------------------------------------------------------------------

    async def _rest(self) -> None:
        """Make what is known ready for searches, and nothing more."""
        await self.in_writer(self._load_names)
        while not self.embedding.ready:
            try:
                await self.embedding.open()
            except (WorkerUnavailable, IndexDamaged):
                await asyncio.sleep(RETRY_SECONDS)

    async def _catch_up_and_watch(self) -> None:
        await self.in_writer(self._load_names)
        # Watch before looking, so that nothing falls between.
        await asyncio.to_thread(self._watcher.start)
        self.hints.lose("just opened")
        while True:
            settled = await self.hints.settled()
            try:
                await self._work_off(settled)
            except VaultMissing as error:
                self._set_state("vault_missing", Reason.of(error))
                await self._scan_over(settled)
            except Exception as error:
                await self._failed(error, settled)

    async def _work_off(self, settled: Settled) -> None:
        if settled.doubt is not None:
            self._scans_begun += 1
            began = time.monotonic()
            changes = await self.in_writer(
                reconcile.everything, self.place.root, self._fresh_ignore(), self.ledger
            )
            self._scan_seconds = time.monotonic() - began
        else:
            await self._rules_changed(settled)
            changes = await self.in_writer(
                reconcile.hinted, self.place.root, self.ignore, self.ledger, settled.paths
            )
        if self._vanished(changes):
            await self._scan_over(settled)
            return
        await self._take(changes)
        gap = self._watcher.gap
        self._set_state("polling" if gap else "ready", Reason("polling", gap) if gap else None)
        await self._scan_over(settled)

    async def _failed(self, error: Exception, settled: Settled) -> None:
        """Nothing is lost by a failure: what was not taken in is still different from the ledger."""
        if paths.is_disk_full(error):
            reason = Reason("disk_full", "the disk is full; nothing new is indexed until there is room")
            self._set_state("disk_full", reason)
        else:
            log.error("taking in changes of %s failed; trying again", self.name, exc_info=error)
            words = f"taking in changes failed ({type(error).__name__}); see the log"
            self._set_state("failing", Reason("failing", words))
        await self._scan_over(settled)
        await asyncio.sleep(RETRY_SECONDS)
        self.hints.lose("the last attempt failed")

    async def _take(self, changes: Changes) -> None:
        changed = await self.in_writer(self._intake.take, changes, self._taking)
        if changed:
            self._last_change = time.time()
        self._reading_total = self._reading_done = 0
        if self._intake.graph is None:
            await self.in_writer(self._intake.build_graph)
        self._tidy_wake.set()
        self._embed_wake.set()
        self.concepts.wake.set()
        self._on_progress(self, changed)

    def _taking(self, done: int, total: int) -> None:
        self._reading_done, self._reading_total = done, total
        self._embed_wake_soon()

    async def _scan_over(self, settled: Settled) -> None:
        if settled.doubt is None:
            return
        async with self._scanned:
            self._scans_done = self._scans_begun
            self._scanned.notify_all()

    async def _tidy(self) -> None:
        """Merge segments of the keyword index, beside searches and saves."""
        while True:
            await self._tidy_wake.wait()
            self._tidy_wake.clear()
            try:
                while await asyncio.to_thread(self.keyword.tidy):
                    await asyncio.sleep(0)
            except (IndexDamaged, Busy, OSError) as error:
                log.warning("merging the keyword index of %s: %s", self.name, error)

    async def _doubt(self) -> None:
        """Look for reasons to distrust the watcher, and compare everything now and then anyway."""
        compared = time.monotonic()
        while True:
            before = time.monotonic()
            await asyncio.sleep(LIVENESS_SECONDS)
            now = time.monotonic()
            is_there = self.place.root.is_dir()
            self._gone_since = None if is_there else self._gone_since or now
            if now - before > 3 * LIVENESS_SECONDS:
                self.hints.lose("the machine was asleep")
            if not is_there:
                if self.state != "vault_missing":
                    self.hints.lose("the vault's folder is not there")
            elif not self._watcher.alive():
                await asyncio.to_thread(self._watcher.stop)
                await asyncio.to_thread(self._watcher.start)
                self.hints.lose("the watcher had to be started again")
            if now - compared > self._rescan_seconds():
                compared = now
                self.hints.lose("looking around")

    # -- steps -----------------------------------------------------------------------------------------

    def _rescan_seconds(self) -> float:
        """How often to compare everything: often while changes cannot be noticed otherwise."""
        if self.state == "vault_missing":
            return MISSING_RESCAN_SECONDS
        if self._watcher.gap is not None:
            return max(POLL_SECONDS, POLL_SHARE * self._scan_seconds)
        return self.place.rescan_seconds

    def _open_indexes(self) -> None:
        self.directory = paths.private_directory(paths.vault_data_directory(self.place.root))
        self._lock = paths.lock_directory(self.directory)
        (self.directory / "vault.json").write_text(json.dumps({"path": str(self.place.root)}))
        self.ledger = Ledger(self.directory / "ledger.sqlite")
        self.ledger.set_chunking_version(self._recipe.reading)
        self._known_before = self.ledger.counts().notes > 0
        self.keyword = Keyword(self.directory / "keyword", self.place.language)
        self.names = Names()
        reading = Reading(self.place.root, self._recipe.count, self._recipe.window, self.place.max_note_bytes)
        self._breadcrumb = Breadcrumb(self.directory / "reading")
        self._intake = Intake(reading, self.ledger, self.names, self.keyword, self._breadcrumb)

    def _load_names(self) -> None:
        for path, aliases in self.ledger.link_targets():
            self.names.add(path, aliases)
        self.keyword.catch_up(self.ledger)
        self._intake.build_graph()

    def _fresh_ignore(self) -> Ignore:
        self.ignore = Ignore(self.place.root, self.place.exclude)
        return self.ignore

    async def _rules_changed(self, settled: Settled) -> None:
        if any(path.startswith(".obsidian") for path in settled.paths):
            self.hints.lose("the app's settings changed")

    def _vanished(self, changes: Changes) -> bool:
        """A vault that loses most notes at once is rather unmounted; only the user can say otherwise."""
        if self._loss_accepted or not reconcile.vanished(changes, self.counts().notes):
            self._loss_accepted = False
            return False
        reason = (
            f"{len(changes.removed)} notes are gone at once; the index is kept. If they are meant to be gone"
        )
        self._set_state("vault_missing", Reason("vault_missing", f"{reason}, run `vaultseek index`"))
        return True

    def _pause(self) -> Reason:
        words = f"the vault {self.name} is paused; `vaultseek vault resume {self.name}` ends that"
        return Reason("paused", words)

    def _set_state(self, state: str, reason: Reason | None) -> None:
        if (state, reason) != (self.state, self.reason):
            self.state, self.reason = state, reason
            self._on_progress(self, [])

    def _embed_state(self, problem: Reason | None) -> None:
        self._embed_problem = problem
        self._on_progress(self, [])

    def _embed_wake_soon(self) -> None:
        self.hints.loop.call_soon_threadsafe(self._embed_wake.set)

    def _is_settled(self) -> bool:
        """Whether everything is read and embedded, so that there is time for lesser things."""
        reason = self.keyword_reason() or self.semantic_reason()
        return reason is None and self.state in ("ready", "polling") and not self.pending()

    def _lanes(self) -> JSON:
        semantic = self._worker.state.status
        up = self.embedding.ready and semantic == "ready"
        unready = Reason("being_built", "the vectors are not ready yet")
        graph = self._intake.graph is not None
        reasons = {
            "keyword": self.keyword_reason(),
            "semantic": None if up else self._embed_problem or self._worker.state.reason or unready,
            "graph": None if graph else Reason("being_built", "the link graph is being built"),
        }
        return {name: {"up": reason is None, **reason_json(reason)} for name, reason in reasons.items()}

    def _spawn(self, work: Any, name: str) -> None:
        task = asyncio.get_running_loop().create_task(work, name=f"{name} {self.place.name}")
        task.add_done_callback(_report)
        self._tasks.append(task)


OnProgress = Callable[[Keeper, list[str]], None]
_GAPS = ("vault_missing", "disk_full", "failing")
"""States in which what is on disk is not taken in."""


def _report(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        log.error("task %s ended", task.get_name(), exc_info=task.exception())
