"""A vault's shard in PostgreSQL, as used by its indexer and by searchers."""

import asyncio
import logging
import threading
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from vaultseek.base import paths
from vaultseek.base.extras import require_extra
from vaultseek.base.model import Reason
from vaultseek.core.indexing.engine import Engine, ResolvedLink
from vaultseek.errors import Unavailable
from vaultseek.semantic.worker import CHUNKS, NOTES, SemanticWorker
from vaultseek.store.documents import stored_documents
from vaultseek.store.keyword.analysis import ANALYZER_VERSION
from vaultseek.store.keyword.inverter import Lexicon, invert
from vaultseek.store.keyword.segment import MemorySegment
from vaultseek.store.ledger import Ledger, UnchangedNote
from vaultseek_server.engines.copies import rows_of_notes, times_of_notes
from vaultseek_server.engines.heartbeat import Heartbeat
from vaultseek_server.engines.postgres.backend import PostgresBackend
from vaultseek_server.engines.postgres.database import ShardLedger
from vaultseek_server.engines.postgres.schema import missing
from vaultseek_server.engines.vectors import ShardVectors, drop_tables, is_vector_table, table_name
from vaultseek_server.engines.writer import ShardFile, ShardWriter
from vaultseek_server.settings import EngineOptions

SLOW_SECONDS = 2.0
"""Number of seconds after which answers report that a sync is still running."""
END_SECONDS = 0.5
"""Maximum number of seconds to finish the current batch when a vault is closed; an unfinished batch is
written again later."""
SYNC_POLL_SECONDS = 0.02
"""Number of seconds between checks in ``wait_until_synced``."""

_FOR_ALL = "all-"
"""Prefix of the version of analysis rules that assign one language to all notes. The language follows the
prefix."""
log = logging.getLogger(__name__)


class PostgresEngine(Engine):
    """A vault in PostgreSQL; the part common to indexers and searchers."""

    stores_vectors = True
    writer: ShardWriter | None = None
    """The writer of the shard; None if another daemon maintains the shard."""

    def __init__(self, backend: PostgresBackend, ledger: Ledger, language: str | None) -> None:
        super().__init__(language)
        self.backend = backend
        self.index = backend.words
        self._ledger = ledger

    @property
    def outage(self) -> Unavailable | None:
        """The reason why the server did not answer the last request, or None. Reading this property makes no
        request."""
        return self.backend.server.outage

    def vector_store(self, worker: SemanticWorker) -> ShardVectors:
        """Return the store for the vectors that a worker computes."""
        return ShardVectors(worker, self.backend.server, self._ledger, self.writer)

    def close(self) -> None:
        """Close the connections to the server."""
        self.backend.close()


class IndexedShard(PostgresEngine):
    """A shard that this daemon writes from its ledger.

    If the server does not answer, the shard falls behind and later catches up by revision. ``sync`` returns
    when the shard has caught up; after ``start_background_writer``, it returns at once.
    """

    writer: ShardWriter

    def __init__(
        self, options: EngineOptions, name: str, folder: Path, ledger: Ledger, language: str | None
    ) -> None:
        """Open the shard. ``folder`` contains the files that an indexer keeps for a shard."""
        shard = options.shard or ShardFile(folder).give_name(name)
        super().__init__(backend_of(replace(options, shard=shard)), ledger, language)
        self.writer = ShardWriter(self.backend, folder, name)
        self._last: str | None = None
        """The position in the ledger's changes that the server has reached, or None if it is unknown."""
        self._lexicon = Lexicon()
        self._failure: Unavailable | None = None
        self._pending_error: Exception | None = None
        """The last local error in the background thread, such as a full disk; it is raised once."""
        self._began: float | None = None
        """The monotonic time at which the running sync started, or None."""
        self._wanted = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_rebuild_wanted = False
        self._is_closed = False
        with suppress(Unavailable):
            self._last = self.backend.position()

    @property
    def problem(self) -> Unavailable | None:
        """The reason why the server is behind, such as a slow sync; None if the server is up to date or its
        state is unknown."""
        began = self._began
        seconds = 0.0 if began is None else time.monotonic() - began
        problem = self._failure or self.writer.lost
        if problem is None and seconds > SLOW_SECONDS and not self.rebuilding:
            return Unavailable(f"writing to the engine has taken {seconds:.0f} s so far", "behind")
        return problem

    @property
    def is_indexing(self) -> bool:
        """True while the server builds an index of vectors."""
        return self.backend.server.is_indexing

    @property
    def is_synced(self) -> bool:
        """True if no data is being sent to the server, or if ``problem`` explains why the server lacks
        data."""
        is_idle = not self._wanted.is_set() and self._began is None
        return self._thread is None or is_idle or self.problem is not None

    async def wait_until_synced(self, seconds: float) -> None:
        """Wait up to about ``seconds`` for the server to be synced. Raises local errors, such as a full
        disk."""
        end = time.monotonic() + seconds
        while not self.is_synced and time.monotonic() < end:
            await asyncio.sleep(SYNC_POLL_SECONDS)
        error, self._pending_error = self._pending_error, None
        if error is not None:
            raise error

    def start_background_writer(self) -> None:
        """Write in a separate thread from now on, so that the ledger's writer does not wait for a server.

        The thread does not keep the process alive.
        """
        if self._thread is None:
            name = f"engine-{self.backend.options.shard}"
            self._thread = threading.Thread(target=self._sync_when_wanted, name=name, daemon=True)
            self._thread.start()

    def sync(self, ledger: Ledger) -> None:
        """Bring the server up to the ledger's revision, if the server answers."""
        if self._thread is not None:
            self._wanted.set()
        else:
            self._sync()

    def rebuild(self, ledger: Ledger) -> None:
        """Discard the notes on the server, and write all notes from the ledger again."""
        self.rebuilding = self._is_rebuild_wanted = True
        self.sync(ledger)

    def before_touch(self, ledger: Ledger, notes: Sequence[UnchangedNote], revision: int) -> None:
        """Mark notes as changed if their modification times will change. The shard stores these times and
        must be updated."""
        before = times_of_notes(ledger, [note.path for note in notes])
        other = [note for note in notes if before[note.path][1] != note.modified]
        ledger.mark_changed([before[note.path][0] for note in other], revision)

    def before_relink(
        self, ledger: Ledger, resolved: Sequence[ResolvedLink], read: Collection[int], revision: int
    ) -> None:
        """Mark notes as changed if their links will resolve to other targets. The shard stores the targets
        and must be updated."""
        sources = {note for note, _, _ in resolved}
        before = ledger.links.resolved(sorted(sources - set(read)))
        other = {note for note, ordinal, path in resolved if before.get((note, ordinal), path) != path}
        ledger.mark_changed(sorted(other), revision)

    def drop_vectors(self, stores: Collection[str], former: Collection[str]) -> None:
        """Drop the tables of vectors outside of ``stores``, except those of ``former`` models, which
        searchers may still use. If the server does not answer, the tables are dropped another time."""
        kept = {table_name(store, collection) for store in stores for collection in (CHUNKS, NOTES)}
        with suppress(Unavailable):
            unused = [
                table
                for table, version in self.backend.state().items()
                if is_vector_table(table) and version and table not in kept
                if version.split("/")[0] not in former
            ]
            if unused:
                with self.writer.transaction() as backend:
                    drop_tables(backend, unused)

    def publish(self, beat: Heartbeat) -> None:
        """Write a heartbeat to the shard, for searchers. Raises Unavailable if the server does not answer, or
        if another indexer has taken over the shard."""
        self.writer.publish(beat)

    def close(self) -> None:
        """Release the shard and close the connections, without waiting for a server that does not answer."""
        self.stopped.set()
        self._wanted.set()
        if self._thread is not None:
            self._thread.join(END_SECONDS)
        self._is_closed = True
        self.writer.close()
        super().close()

    def _sync_when_wanted(self) -> None:
        """Run a sync whenever one is requested, until the shard is closed."""
        while self._wanted.wait() and not self.stopped.is_set():
            self._sync()

    def _sync(self) -> None:
        """Write the changes that the server lacks. In the background thread, errors that do not come from the
        server are kept for later."""
        self._began = time.monotonic()
        self._wanted.clear()
        try:
            self._write_all()
        except Unavailable as error:
            if self._failure is None:
                log.warning("the engine is behind the ledger: %s", error)
            self._failure = error
        except Exception as error:
            if self._thread is None:
                raise
            if not self._is_closed:  # once it is closed, errors are expected
                self._keep_error(error)
        finally:
            self._began = None

    def _keep_error(self, error: Exception) -> None:
        what = paths.shortage(error) or type(error).__name__
        is_known = self._pending_error is not None
        self._pending_error = error  # a waiting caller gets the error at once
        self._failure = Unavailable(f"writing failed ({what}); trying again", "behind")
        if not is_known:
            log.error("writing to the engine failed; trying again", exc_info=error)

    def _write_all(self) -> None:
        if not self.writer.acquire():  # the shard was emptied, vectors included
            for space in (self._ledger.space, self._ledger.second_space):
                if space.is_followed:
                    space.begin_store("")
        self._last = self.backend.position()
        self.rebuilding |= self._last is None
        if self._is_rebuild_wanted:
            self._is_rebuild_wanted = False
            self._discard()
        self._follow(self._ledger)
        self.rebuilding, self._failure = False, None

    def _discard(self) -> None:
        with self.writer.transaction() as backend:
            backend.drop_notes()
        self._last = None

    def _apply(self, ledger: Ledger, ids: Sequence[int], removed: Collection[int], position: str) -> None:
        documents = stored_documents(ledger, ids)
        self._lexicon.shrink()
        segment = MemorySegment(*invert(documents, self._lexicon, self._rules)) if documents else None
        there = {document.note for document in documents}
        rows = rows_of_notes(ledger, sorted(there))
        with self.writer.transaction() as backend:
            backend.replace(rows, segment, [*removed, *(set(ids) - there)], position)
            if self._is_closed:
                raise Unavailable("the vault has been closed; try again", "behind")
        self._last = position

    def _position(self) -> str | None:
        return self._last

    def _origin(self, ledger: Ledger) -> str:
        analysis = f"{ANALYZER_VERSION}.{self._rules.version}".replace(":", "-")
        return f"{ledger.generation}:{analysis}"


class SearchedShard(PostgresEngine):
    """A shard that another daemon writes. Its tables serve as the ledger, and each refresh shows new data."""

    _ledger: ShardLedger

    def __init__(self, ledger: ShardLedger, language: str | None) -> None:
        super().__init__(ledger.backend, ledger, language)
        self._beat: Heartbeat | None = None
        self.missing: Unavailable | None = None
        """The reason why the last refresh failed, if the shard is missing or unreachable; otherwise None."""
        self._difference = ""
        """Description of a difference between indexer and searcher that would lead to different answers; ""
        if there is none."""

    @property
    def outage(self) -> Unavailable | None:
        """The reason why the server did not answer the last request, or why the shard is missing; otherwise
        None."""
        return super().outage or self.missing

    def use_space(self, name: str) -> None:
        """Read the vectors of the vector space ``name`` from now on."""
        self._ledger.vector_tables = (table_name(name, CHUNKS), table_name(name, NOTES))

    def sync(self, ledger: Ledger) -> None:
        """Choose the language for the notes; the indexer does everything else."""
        self._choose_language(ledger)

    def rebuild(self, ledger: Ledger) -> None:
        """Do nothing, because a searcher writes nothing."""

    def pending_count(self, ledger: Ledger) -> int:
        """Return 0, because the ledger is the engine itself."""
        return 0

    def synced_revision(self, ledger: Ledger) -> int:
        """Return the revision of the ledger, which is the engine itself."""
        return ledger.revision

    def step(self) -> bool:
        """Refresh the ledger; return True if it has changed. Raises Unavailable if the shard is missing or
        unreachable."""
        state = self.backend.state()
        position = state.get("position")
        if not position:
            raise Unavailable(missing(self.backend.options), "vault_missing")
        self._beat = Heartbeat.of_state(state)
        vectors = next((state.get(table, "") for table in self._ledger.vector_tables), "")
        changed = self._ledger.refresh(position, vectors, state.get("mark", ""))
        version, _, rules = position.split(":")[1].partition(".")
        self._configured = rules.removeprefix(_FOR_ALL) if rules.startswith(_FOR_ALL) else None
        self._difference = ""
        if version != str(ANALYZER_VERSION):
            self._difference = (
                "the vault's indexer runs a different version of vaultseek, with incompatible text analysis "
                f"({version}, here {ANALYZER_VERSION}); run the same version on all machines"
            )
        elif not vectors and self._ledger.counts().notes:
            self._difference = (
                "the engine has no vectors from this model; set the same model.name on all machines"
            )
        return changed

    def reason(self) -> Reason | None:
        """Return the reason why the shard may be behind the folder, as reported by its indexer, or None."""
        if self._beat is not None and (reason := self._beat.behind()):
            return reason
        return Reason("behind", self._difference) if self._difference else None

    def is_abandoned(self) -> bool:
        """Return true if the shard's indexer has stopped or is silent."""
        return self._beat is not None and self._beat.is_last


def open_ledger(options: EngineOptions) -> ShardLedger:
    """Return the ledger stored in a shard. Raises Unavailable if there is no such shard."""
    backend = backend_of(options)
    position = backend.position()
    if position is None:
        backend.close()
        raise Unavailable(missing(options), "vault_missing")
    return ShardLedger(backend, position)


def backend_of(options: EngineOptions) -> PostgresBackend:
    """Return the backend for an engine. It connects on first use.

    Raises a one-line ConfigError for unusable settings.
    """
    require_extra(options.kind, options.title)
    options.check()
    options.token()
    return PostgresBackend(options)
