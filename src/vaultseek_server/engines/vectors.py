"""Vectors of a shard. The semantic worker computes them; PostgreSQL stores and searches them.

The vectors are stored in half precision, which halves their size and the size of their approximate index.
"""

import asyncio
import logging
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from struct import pack
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from vaultseek.errors import Unavailable, WorkerUnavailable
from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.vectors.port import NoteIds
from vaultseek.semantic.worker import CHUNKS, NOTES, SemanticAnswer, SemanticWorker
from vaultseek.semantic.worker.state import Numbers, WorkerState
from vaultseek.store.ledger import Ledger
from vaultseek_server.engines.postgres.backend import PostgresBackend
from vaultseek_server.engines.postgres.server import Server
from vaultseek_server.engines.writer import ShardWriter

log = logging.getLogger(__name__)
T = TypeVar("T")
ANSWER_VECTORS = 20
"""Number of best notes per list whose vectors are part of an answer."""
VECTOR_PASSAGES = 5
"""Maximum number of passages per note in an answer."""
PASSAGES_PER_NOTE = 2
"""Number of passages first requested for each wanted note; if the passages belong to too few notes, more are
requested."""
MOST_HITS = 16_384
LARGE_SHARE = 0.25
"""Share of the vault's notes. A filter that admits more than this is applied after a search of the whole
vault."""
BULK_VECTORS = 1000
"""Minimum number of vectors in a batch for which more batches are expected. The index is then built later,
after the last batch, because this is faster."""
INDEXED_VECTORS = 20_000
"""Minimum number of vectors for which an approximate index is built; fewer vectors are compared one by
one."""
INDEX_SECONDS, INDEX_MEMORY = 7200.0, "256MB"
"""Time limit in seconds for building an approximate index, and the server's minimum ``maintenance_work_mem``
during the build."""
_threads = ThreadPoolExecutor(4, thread_name_prefix="engine")
"""Threads for requests to servers, so that a hanging request blocks no other part of the program."""
_writing_threads = ThreadPoolExecutor(4, thread_name_prefix="engine-write")
"""Threads for writes, which may take minutes while searches continue."""
_NEAR = "SELECT number, note, 1 - (vector <=> %s::halfvec) FROM"
_FIRST = "ORDER BY vector <=> %s::halfvec LIMIT %s"
_TABLES = "vectors_"
"""Prefix of the names of tables with vectors."""
_HEADER = 4
"""Number of bytes that the server sends before the numbers of a vector."""


Hits = tuple[NDArray[np.int64], NoteIds, NDArray[np.float32]]
"""Vectors nearest to a question, best first: their numbers, notes and cosines."""


class ShardVectors:
    """The vectors of one vault in PostgreSQL; ``worker`` embeds the texts. See ``VectorKeeper`` for the
    methods.

    The last part of a store's path names its vector space. ``writer`` has the right to write; without a
    writer, another daemon maintains the vectors, and writing does nothing. Raises WorkerUnavailable if the
    server does not answer.
    """

    counts_quickly = False

    def __init__(
        self, worker: SemanticWorker, server: Server, ledger: Ledger, writer: ShardWriter | None = None
    ) -> None:
        self.ready, self.embed = worker.ready, worker.embed
        self._worker = worker
        self._server = server
        self._writer = writer
        self._ledger = ledger
        self._unindexed: set[str] = set()
        """Names of the tables for which no approximate index could be built."""

    @property
    def state(self) -> WorkerState:
        return self._worker.state

    async def apply(
        self,
        store: Path,
        collection: str,
        *,
        numbers: Numbers = (),
        notes: Numbers = (),
        vectors: Vectors | None = None,
        deletes: Numbers = (),
        version: str | None = None,
        deadline: float | None = None,
    ) -> None:
        if (writer := self._writer) is None:
            return
        table, ids = table_name(store, collection), np.asarray(notes, np.int64)

        def write() -> None:
            # A note removed in the meantime needs no vector; its vector would be an orphan.
            kept = np.isin(ids, list(self._ledger.notes.revisions(ids.tolist())))
            with writer.transaction() as backend:
                self._delete(table, deletes)
                if kept.any() and vectors is not None:
                    self._put(table, np.asarray(numbers, np.int64)[kept], ids[kept], vectors[kept])
                if version is not None:
                    backend.set_state(table, version)
            if 0 < len(ids) < BULK_VECTORS:
                self.make_index(table)

        await _ask(write, deadline, _writing_threads)

    async def query(
        self,
        store: Path,
        text: str | Vectors,
        k: int,
        *,
        allowed: NoteIds | None = None,
        deadline: float | None = None,
    ) -> SemanticAnswer:
        began = time.perf_counter()
        if isinstance(text, str):  # some models embed questions differently from passages
            nothing = (None, None)
            answer = await self._worker.query(store, text, 1, collections=nothing, deadline=deadline)
            vector = answer.vector
        else:
            vector = np.asarray(text, np.float32)
        embedded = time.perf_counter()
        passages, notes = await asyncio.gather(
            *(
                _ask(partial(self._nearest, table_name(store, each), vector, k, allowed, per_note), deadline)
                for each, per_note in ((CHUNKS, PASSAGES_PER_NOTE), (NOTES, 1))
            )
        )
        best = sorted({*passages[1][:ANSWER_VECTORS].tolist(), *notes[1][:ANSWER_VECTORS].tolist()})
        return SemanticAnswer(
            *passages,
            *notes[1:],
            vector,
            1000 * (embedded - began),
            1000 * (time.perf_counter() - embedded),
            await self.vectors(store, best, deadline=deadline),
        )

    async def vectors(
        self, store: Path, notes: Sequence[int], *, deadline: float | None = None
    ) -> Mapping[int, Vectors]:
        sql = f"SELECT note, vector FROM {table_name(store, NOTES)} WHERE note = ANY(%s)"
        rows = await _ask(lambda: self._server.rows(sql, list(notes)), deadline)
        return {note: np.frombuffer(data, ">f2", offset=_HEADER).astype(np.float32) for note, data in rows}

    async def version(self, store: Path, collection: str, *, deadline: float | None = None) -> str | None:
        await self._worker.ready(deadline)  # callers may use the store from here on
        sql, table = "SELECT value FROM state WHERE name = %s", table_name(store, collection)
        rows = await _ask(lambda: self._server.rows(sql, table), deadline)
        return rows[0][0] if rows else None

    async def count(self, store: Path, collection: str, *, deadline: float | None = None) -> int:
        sql = f"SELECT count(*) FROM {table_name(store, collection)}"
        rows = await _ask(lambda: self._server.rows(sql), deadline)
        return rows[0][0] if rows else 0

    async def drop(self, store: Path, *, deadline: float | None = None) -> None:
        if (writer := self._writer) is None:
            return

        def drop() -> None:
            with writer.transaction() as backend:
                drop_tables(backend, [table_name(store, CHUNKS), table_name(store, NOTES)])

        await _ask(drop, deadline, _writing_threads)

    def _nearest(self, table: str, vector: Vectors, k: int, notes: NoteIds | None, per_note: int) -> Hits:
        """Return vectors of the ``k`` notes nearest to ``vector``; with ``notes``, only among these notes."""
        text = "[" + ",".join(f"{value:.6g}" for value in vector.tolist()) + "]"
        known, source = ((), table) if notes is None else ((notes.tolist(),), f"{table} WHERE note = ANY(%s)")
        limit = min(MOST_HITS, k * per_note)
        if notes is not None and len(notes) > LARGE_SHARE * self._ledger.counts().notes:
            # The nearest notes include enough allowed ones; comparing this many ids would take the server
            # long.
            many = min(MOST_HITS, int(2 * limit / LARGE_SHARE))
            rows = self._server.rows(f"{_NEAR} {table} {_FIRST}", text, text, many)
            passing = np.isin([note for _, note, _ in rows], notes)
            rows = [row for row, passes in zip(rows, passing.tolist(), strict=True) if passes]
            if len({note for _, note, _ in rows}) >= k:
                return _first_notes(sorted(rows, key=_by_cosine), k)
        while True:
            rows = self._server.rows(f"{_NEAR} {source} {_FIRST}", text, *known, text, limit)
            if known and len(rows) < limit:
                # There are no more vectors, or the approximate index gave up at its limit.
                every = f"WITH part AS MATERIALIZED (SELECT number, note, vector FROM {source})"
                rows = self._server.rows(f"{every} {_NEAR} part {_FIRST}", *known, text, text, limit)
            if len(rows) < limit or limit == MOST_HITS or len({note for _, note, _ in rows}) >= k:
                return _first_notes(sorted(rows, key=_by_cosine), k)
            limit = min(MOST_HITS, limit * 4)

    def _put(self, table: str, numbers: NDArray[np.int64], notes: NoteIds, vectors: Vectors) -> None:
        size = vectors.shape[1]
        self._server.run(
            f"CREATE TABLE IF NOT EXISTS {table} (number bigint PRIMARY KEY, note bigint NOT NULL,"
            f" vector halfvec({size}) NOT NULL);"
            f"CREATE INDEX IF NOT EXISTS {table}_note ON {table} (note)"
        )
        self._delete(table, numbers)
        # Rows in the binary format of COPY: the number of columns, then each column, preceded by its number
        # of bytes.
        fields: list[Any] = [("begin", "V6"), ("number", ">i8"), ("bytes", "V4"), ("note", ">i8")]
        rows = np.zeros(len(numbers), [*fields, ("head", "V8"), ("vector", ">f2", size)])
        rows["begin"], rows["bytes"] = np.void(pack(">hi", 3, 8)), np.void(pack(">i", 8))
        rows["head"] = np.void(pack(">ihh", _HEADER + 2 * size, size, 0))
        rows["number"], rows["note"], rows["vector"] = numbers, notes, vectors
        self._server.copy_binary(f"{table} (number, note, vector)", rows.tobytes())

    def _delete(self, table: str, numbers: Numbers) -> None:
        if len(numbers) and self._server.has_table(table):
            self._server.run(f"DELETE FROM {table} WHERE number = ANY(%s)", np.asarray(numbers).tolist())

    def make_index(self, table: str) -> None:
        """Build an approximate index if there are enough vectors and no index yet. This may take minutes."""
        server = self._server
        many = f"SELECT 1 FROM {table} WHERE to_regclass(%s) IS NULL OFFSET {INDEXED_VECTORS - 1} LIMIT 1"
        if table in self._unindexed or not server.rows(many, f"{server.schema}.{table}_near"):
            return
        server.is_indexing = True
        try:
            with server.transaction(INDEX_SECONDS):
                memory = "SELECT set_config('maintenance_work_mem', %s, true)"
                less = "pg_size_bytes(current_setting('maintenance_work_mem')) < pg_size_bytes(%s)"
                server.rows(f"{memory} WHERE {less}", INDEX_MEMORY, INDEX_MEMORY)
                server.run(f"CREATE INDEX {table}_near ON {table} USING hnsw (vector halfvec_cosine_ops)")
        except Unavailable as error:
            if server.outage is not None:
                raise
            self._unindexed.add(table)
            log.warning("vectors are compared one by one until the next start: %s", error)
        finally:
            server.is_indexing = False


def _by_cosine(row: tuple[int, int, float]) -> tuple[float, int]:
    return -row[2], row[0]


def _first_notes(rows: Sequence[tuple[int, int, float]], k: int) -> Hits:
    """Return vectors of the first ``k`` notes, a few vectors per note."""
    counts: Counter[int] = Counter()
    kept = []
    for row in rows:
        if row[1] in counts or len(counts) < k:
            counts[row[1]] += 1
            if counts[row[1]] <= VECTOR_PASSAGES:
                kept.append(row)
    numbers, notes = (np.array([row[place] for row in kept], np.int64) for place in (0, 1))
    return numbers, notes, np.array([row[2] for row in kept], np.float32)


def table_name(store: Path | str, collection: str) -> str:
    """Return the name of a collection's table. In the state, the collection's version is stored under this
    name."""
    return f"{_TABLES}{re.sub(r'[^a-z0-9]+', '', Path(store).name.lower())[:30]}_{collection}"


def is_vector_table(name: str) -> bool:
    """Return true for the name of a table with vectors."""
    return name.startswith(_TABLES)


def drop_tables(backend: PostgresBackend, tables: Sequence[str]) -> None:
    """Drop tables with vectors and their versions, within a transaction."""
    for table in tables:
        backend.server.run(f"DROP TABLE IF EXISTS {table}")
        backend.set_state(table, "")


async def _ask(work: Callable[[], T], deadline: float | None, threads: ThreadPoolExecutor = _threads) -> T:
    """Run ``work`` in a thread and return its result. Raises WorkerUnavailable if the server does not answer
    in time."""
    running = asyncio.get_running_loop().run_in_executor(threads, work)
    try:
        async with asyncio.timeout(deadline):
            return await running
    except TimeoutError:
        raise WorkerUnavailable(
            "the engine took too long to find vectors; the search is tried again automatically", "deadline"
        ) from None
    except Unavailable as error:
        raise WorkerUnavailable(str(error), error.cause) from error
