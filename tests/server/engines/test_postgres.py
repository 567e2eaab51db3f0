"""A vault in PostgreSQL: the same answers for indexer and searchers, and no data lost with the server."""

import asyncio
import contextlib
import gc
import itertools
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from daemons import eventually
from former_models import DAY, check_clock, check_weeks, compact, set_clock
from postgres_server import PostgresServer, stored
from semantic_here import WorkerHere, index_here
from vaultseek.base.paths import folder_bytes
from vaultseek.core.indexing.open_vault import OpenVault, VaultOptions
from vaultseek.core.indexing.unembedded import EmbeddingSpec
from vaultseek.core.library import index_vault
from vaultseek.core.notes.complete import VaultCompleter
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.errors import ConfigError, Unavailable
from vaultseek.settings.search import SearchSettings
from vaultseek.store.ledger.vectors import UNUSED_DAYS
from vaultseek_server.engines import vectors as vectors_module
from vaultseek_server.engines.administration import delete_shard, names_of_shards, probe_engine
from vaultseek_server.engines.engine import backend_of
from vaultseek_server.engines.postgres import connections
from vaultseek_server.engines.postgres import server as server_module
from vaultseek_server.engines.postgres.backend import PostgresBackend
from vaultseek_server.engines.postgres.database import translated
from vaultseek_server.engines.storage import IndexedStorage, SearchedStorage
from vaultseek_server.settings import EngineOptions
from worlds import write_files

pytestmark = pytest.mark.slow
NOTES = {
    "work/pumps.md": "---\ntags: [work/pumps]\nyear: 2020\n---\n# Pumps\n\nThe sump pump, a float switch.",
    "brakes.md": "# Brakes\n\nThe brake pads of the tram. #work\n\n[[pumps]]\n\n- [ ] grease 100%_ of them",
    "garden.md": "# Garden\n\nRoses and a pump for the pond. #home",
    "straße.md": "# Straße\n\nDie Pumpen an der Straße sind alt. #home",
    "words.md": "# Words\n\nfloat the switch, and pump the sump",
    "codes.md": "# Codes\n\nE-4107 calls main(), or 089 / 123 45 67",
    "nul.md": f"# Nul\n\nA \0 and a pump [x](http://example.org/{'a/b' * 2000}) #{'long' * 900}",
    "news.md": "# News\n\nPolitical news, a political debate",
    "manners.md": "# Manners\n\nNobody was rude, and the letter of thanks was a polite one",
    "насос.md": f"# Насос\n\nВсё про насос. #{'x' * 700}a #{'x' * 700}b",
}
QUERIES = (
    "sump pump", "pumpen", "float switch", "pmup", "brake tag:work", "sum*", "pump -tag:home", "[[pumps]]",
    "path:work pump", "year:2020", '"float switch"', "links-to:[[pumps]]", "after:1900", 'task:"100%_"',
    "text:/sw[iI]tch/ pump", "STRASSE", 'title:"Straße"',
    "path:насос", '"про насос"', "links-to:насос", "a\0b",
    "main()", "E-4199", "0891234567", "polite",
)  # fmt: skip
MODES = ("hybrid", "keyword", "semantic")
HALF = 0.001
"""Maximum score difference caused by half-precision vectors."""


@pytest.fixture
def engine(server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineOptions:
    monkeypatch.setattr(server_module, "PAUSE_SECONDS", 0.0)
    return EngineOptions(server.uri, shard=tmp_path.name, seconds=20.0)


@contextlib.contextmanager
def opened(
    root: Path, directory: Path, engine: EngineOptions, *, is_searched: bool = False, model: str = "test"
) -> Iterator[OpenVault]:
    spec = EmbeddingSpec(model, lambda text: len(text) // 4 + 1, 254)
    options = VaultOptions(
        root.name, root, storage=(SearchedStorage if is_searched else IndexedStorage)(engine)
    )
    with contextlib.closing(OpenVault.open(options, directory, WorkerHere(), spec)) as vault:
        if is_searched:
            vault.engine.step()
        vault.indexer.load()
        if is_searched:
            with contextlib.suppress(Unavailable):
                asyncio.run(vault.embedding.open())
        yield vault


def answers(vault: OpenVault) -> dict[tuple[str, str], Any]:
    def search(query: str, mode: str) -> Any:
        trace = asyncio.run(Searcher(vault).run(SearchRequest(query, SearchSettings(), mode=mode)))
        return [each.note for each in trace.results], [each.score for each in trace.results], trace.partial

    return {(query, mode): search(query, mode) for query in QUERIES for mode in MODES}


def are_same(first: OpenVault, second: OpenVault) -> bool:
    others = answers(second)
    for asked, (notes, scores, partial) in answers(first).items():
        assert (notes, partial) == (others[asked][0], others[asked][2]), asked
        assert scores == pytest.approx(others[asked][1], abs=HALF), asked
    return True


def test_indexer_and_searcher_give_the_answers_of_the_embedded_engine_also_after_edits(tmp_path, engine):
    root = write_files(tmp_path / "vault", NOTES)
    embedded = index_here(root, tmp_path / "embedded")
    with opened(root, tmp_path / "indexer", engine) as indexer:
        asyncio.run(index_vault(indexer))
        with opened(tmp_path / "none", tmp_path / "searcher", engine, is_searched=True) as searcher:
            assert are_same(indexer, searcher)
            assert are_same(indexer, embedded)
            write_files(root, {"words.md": "nothing any more", "new.md": "a sump pump, brand new"})
            (root / "garden.md").unlink()
            for each in (indexer, embedded):
                asyncio.run(index_vault(each))
            assert searcher.engine.step()
            searcher.indexer.load()
            assert are_same(indexer, searcher)
            assert are_same(indexer, embedded)
            assert searcher.ledger.counts() == indexer.ledger.counts()
            assert searcher.ledger.languages() == indexer.ledger.languages()
    embedded.close()


def test_vectors_that_become_many_get_an_approximate_index_while_they_are_stored(
    tmp_path, engine, monkeypatch
):
    monkeypatch.setattr(vectors_module, "INDEXED_VECTORS", 3)
    root = write_files(tmp_path / "vault", NOTES)
    embedded = index_here(root, tmp_path / "embedded")
    with opened(root, tmp_path / "indexer", engine) as indexer:
        asyncio.run(index_vault(indexer))
        server = indexer.engine.backend.server
        made = server.rows(
            "SELECT indexname FROM pg_indexes WHERE schemaname = %s AND indexname LIKE %s",
            server.schema,
            "%near",
        )
        assert len(made) == 2
        assert are_same(indexer, embedded)
    embedded.close()


def test_while_an_index_of_vectors_is_made_the_engine_says_so(tmp_path, engine, server, monkeypatch):
    import psycopg

    root = write_files(tmp_path / "vault", NOTES)
    with opened(root, tmp_path / "indexer", engine) as indexer:
        asyncio.run(index_vault(indexer))
        vectors = indexer.engine.vector_store(WorkerHere())
        monkeypatch.setattr(vectors_module, "INDEXED_VECTORS", 3)
        with psycopg.connect(server.uri) as blocking:
            table = vectors_module.table_name(indexer.embedding.store, "notes")
            schema = indexer.engine.backend.server.schema
            blocking.execute(f"LOCK TABLE {schema}.{table} IN ROW EXCLUSIVE MODE")
            making = threading.Thread(target=vectors.make_index, args=(table,))
            making.start()
            eventually(lambda: indexer.engine.is_indexing, "it waits for the table")
        making.join()
        assert not indexer.engine.is_indexing


def test_a_searcher_keeps_nothing_and_needs_no_indexer(tmp_path, engine):
    root = write_files(tmp_path / "vault", {f"{n}.md": f"# {n}\n\n" + "A pump. " * 500 for n in range(40)})
    with opened(root, tmp_path / "indexer", engine) as indexer:
        asyncio.run(index_vault(indexer))
        expected = answers(indexer)
    shutil.rmtree(tmp_path / "indexer")
    with opened(tmp_path / "none", tmp_path / "searcher", engine, is_searched=True) as searcher:
        assert answers(searcher) == expected
    assert folder_bytes(tmp_path / "searcher") < 10_000


@pytest.mark.fault("K12")
def test_the_order_in_which_notes_come_does_not_matter(tmp_path, engine):
    root = write_files(tmp_path / "vault", {f"short{n}.md": f"zanzibar {'so ' * n}" for n in range(60)})
    words = [f"word{n}" for n in range(700)]
    with opened(root, tmp_path / "indexer", engine) as indexer:
        indexer.indexer.apply(indexer.indexer.reconcile())
        write_files(
            root, {f"long{n}.md": f"zanzibar zanzibar {' '.join(words[: 60 + n])}" for n in range(540)}
        )
        indexer.indexer.apply(indexer.indexer.reconcile())
        embedded = index_here(root, tmp_path / "embedded")
        first, known = (each.keyword_index.search("zanzibar", 10) for each in (indexer, embedded))
        assert first.columns.scores.tolist() == pytest.approx(known.columns.scores.tolist())
        embedded.close()


def test_an_index_of_vectors_that_looks_at_few_of_them_loses_no_note_of_a_filter(
    tmp_path, engine, server, monkeypatch
):
    import psycopg

    with psycopg.connect(server.uri, autocommit=True) as own:
        own.execute("CREATE ROLE hurried LOGIN SUPERUSER")
        for each in ("hnsw.max_scan_tuples = 1", "enable_seqscan = off", "enable_sort = off"):
            own.execute(f"ALTER ROLE hurried SET {each}")
    monkeypatch.setattr(vectors_module, "INDEXED_VECTORS", 3)
    engine = replace(engine, uri=engine.uri.replace("vaultseek@", "hurried@"))
    notes = {f"{n}.md": "the pump of the cellar" for n in range(900)}
    root = write_files(tmp_path / "vault", notes | {f"far/{n}.md": f"rose {n}" for n in range(100)})
    with opened(root, tmp_path / "indexer", engine) as indexer:
        asyncio.run(index_vault(indexer))
        found = asyncio.run(
            Searcher(indexer).run(
                SearchRequest("pump path:far/", SearchSettings(), mode="semantic", limit=100)
            )
        )
        assert len(found.results) == 100


def test_what_a_token_no_longer_sees_takes_no_connection(tmp_path, engine, server):
    import psycopg

    engine = replace(engine, uri=f"{engine.uri}?application_name=tokens")
    root = write_files(tmp_path / "vault", NOTES)
    with opened(root, tmp_path / "indexer", engine) as indexer:
        asyncio.run(index_vault(indexer))
        with (
            psycopg.connect(server.uri, autocommit=True) as own,
            opened(tmp_path / "none", tmp_path / "searcher", engine, is_searched=True) as searcher,
        ):
            gc.disable()
            try:
                for _ in range(12):
                    part = searcher.ledger.within(("work",))
                    assert VaultCompleter(part).complete("note", "pu", 5)
                sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tokens'"
                eventually(lambda: own.execute(sql).fetchone()[0] <= connections.MOST_IDLE, "they are closed")
            finally:
                gc.enable()


def test_a_searcher_reads_the_ledger_that_its_indexer_has_made_anew(tmp_path, engine):
    root = write_files(tmp_path / "vault", {"a.md": "[[b]] #one", "b.md": "", "c.md": "[[b]] #one"})
    with opened(root, tmp_path / "indexer", engine) as indexer:
        asyncio.run(index_vault(indexer))
    with opened(tmp_path / "none", tmp_path / "searcher", engine, is_searched=True) as searcher:
        assert searcher.indexer.names.resolve("b", "a.md").path == "b.md"
        (root / "b.md").rename(root / "d.md")
        with opened(root, tmp_path / "indexer", engine) as indexer:
            asyncio.run(index_vault(indexer))
        assert searcher.engine.step()
        searcher.indexer.load()
        assert searcher.indexer.names.resolve("b", "a.md").path is None
        assert searcher.ledger.is_sound()
        for file in (tmp_path / "indexer").glob("ledger*"):
            file.unlink()
        with opened(root, tmp_path / "indexer", engine) as indexer:
            asyncio.run(index_vault(indexer))
        assert searcher.engine.step()
        assert not searcher.ledger.is_sound(), "so it is opened again"


def test_a_change_that_could_not_be_counted_is_reported_again(tmp_path, engine, monkeypatch):
    root = write_files(tmp_path / "vault", {"a.md": "[[b]]", "b.md": ""})
    with opened(root, tmp_path / "indexer", engine) as indexer:
        asyncio.run(index_vault(indexer))
        with opened(tmp_path / "none", tmp_path / "searcher", engine, is_searched=True) as searcher:
            write_files(root, {"c.md": ""})
            asyncio.run(index_vault(indexer))
            with monkeypatch.context() as patch:
                patch.setattr(searcher.ledger, "_count", Mock(side_effect=Unavailable("the server is away")))
                with pytest.raises(Unavailable):
                    searcher.engine.step()
            assert searcher.engine.step()
            assert searcher.ledger.counts().notes == 3
            assert not searcher.engine.step()


def test_a_shard_that_somebody_deletes_is_made_again(tmp_path, engine):
    root = write_files(tmp_path / "vault", NOTES)
    with opened(root, tmp_path / "indexer", engine) as indexer:
        asyncio.run(index_vault(indexer))
        before = stored(indexer.engine.backend)
        with opened(tmp_path / "none", tmp_path / "searcher", engine, is_searched=True) as searcher:
            delete_shard(engine, engine.shard, lambda is_there: None, drop=True)
            with pytest.raises(Unavailable, match="the engine has no shard"):
                searcher.ledger.within(("work",)).counts()
        for _ in range(2):
            indexer.indexer.sync_again()
        asyncio.run(index_vault(indexer))
        assert stored(indexer.engine.backend) == before


def test_a_token_of_folders_sees_the_same_part_at_a_searcher(tmp_path, engine):
    root = write_files(tmp_path / "vault", NOTES)
    steps = (
        lambda vault: vault.indexer.apply(vault.indexer.reconcile()),
        lambda vault: asyncio.run(vault.embedding.open()),
        lambda vault: asyncio.run(index_vault(vault)),
    )
    with opened(root, tmp_path / "indexer", engine) as indexer:
        for step, folders in itertools.product(steps, (("work",), ("none",))):
            step(indexer)
            with opened(tmp_path / "none", tmp_path / "searcher", engine, is_searched=True) as searcher:
                parts = [vault.ledger.within(folders) for vault in (indexer, searcher)]
                counts = [part.counts() for part in parts]
                assert counts[0] == counts[1]
                assert parts[0].notes.ids() == parts[1].notes.ids()
                assert not parts[1].select("SELECT 1 FROM links WHERE resolved = 'brakes.md'")


def test_a_searcher_writes_nothing(tmp_path, engine):
    root = write_files(tmp_path / "vault", NOTES)
    with opened(root, tmp_path / "indexer", engine) as indexer:
        asyncio.run(index_vault(indexer))
        with opened(tmp_path / "none", tmp_path / "b", engine, is_searched=True, model="another") as searcher:
            with pytest.raises(Unavailable), searcher.ledger.commit():
                pass
            assert searcher.keyword_index.search("sump pump", 10).total
            assert "set the same model.name" in searcher.engine.reason().text


def test_a_server_that_ends_or_freezes_is_caught_up_with(tmp_path, engine, server):
    root = write_files(tmp_path / "vault", NOTES)
    engine = replace(engine, seconds=1.0, write_seconds=1.0)
    with opened(root, tmp_path / "indexer", engine) as indexer:
        asyncio.run(index_vault(indexer))
        for break_, mend in ((server.stop, server.start), (server.freeze, server.thaw)):
            break_()
            write_files(root, {"late.md": f"a late pump, by {break_.__name__}"})
            indexer.indexer.apply(indexer.indexer.reconcile())
            assert indexer.keyword_reason().code == "behind"
            with pytest.raises(Unavailable):
                indexer.keyword_index.search("late", 10)
            mend()
            indexer.indexer.sync_again()
            assert indexer.keyword_reason() is None
            assert len(indexer.keyword_index.search(break_.__name__, 10).columns.scores) == 1


def test_an_indexer_that_lost_the_shard_writes_nothing_more(tmp_path, engine):
    root = write_files(tmp_path / "vault", NOTES)
    with opened(root, tmp_path / "indexer", engine) as indexer:
        asyncio.run(index_vault(indexer))
        backend = indexer.engine.backend
        backend.set_state("mark", "of somebody else")
        backend.set_state("owner", "somebody else")
        before = stored(backend)
        write_files(root, {"late.md": "a late pump"})
        indexer.indexer.apply(indexer.indexer.reconcile())
        assert indexer.keyword_reason().code == "behind"
        assert stored(backend) == before


def test_vaults_share_few_connections(engine, server, monkeypatch):
    import psycopg

    engine = replace(engine, uri=f"{engine.uri}?application_name=shared")
    backends = [PostgresBackend(replace(engine, shard=f"{engine.shard} {n}")) for n in range(6)]
    barrier = threading.Barrier(len(backends))

    def use(backend: PostgresBackend) -> None:
        with backend.transaction():
            backend.set_state("position", backend.options.shard)
            barrier.wait(20)
        assert backend.position() == backend.options.shard

    with psycopg.connect(server.uri, autocommit=True) as own, ThreadPoolExecutor(len(backends)) as threads:

        def count() -> int:
            sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'shared'"
            return own.execute(sql).fetchone()[0]

        assert len(list(threads.map(use, backends))) == len(backends)
        eventually(lambda: 0 < count() <= connections.MOST_IDLE, "some are kept")
        for backend in backends:
            assert backend.position() == backend.options.shard
        monkeypatch.setattr(connections, "IDLE_SECONDS", 0.0)
        assert backends[0].position() == backends[0].options.shard
        eventually(lambda: count() == 1, "the others were used by nobody")
        for backend in backends:
            assert backend.position() == backend.options.shard
            backend.delete()
        backends[0].close()
        eventually(lambda: count() == 0, "a vault is closed")


def test_a_server_that_takes_no_more_connections_is_said_as_that(engine, server):
    import psycopg

    with psycopg.connect(server.uri, autocommit=True) as own:
        own.execute("CREATE ROLE few LOGIN CONNECTION LIMIT 0")
    with pytest.raises(Unavailable, match="refuses the connection: too many connections for role"):
        probe_engine(replace(engine, uri=engine.uri.replace("vaultseek@", "few@")))


def test_pgvector_may_be_in_the_schema_of_extensions(engine, server):
    import psycopg

    address = server.uri.rpartition("/")[0]
    for schema in ("extensions", "elsewhere"):
        with psycopg.connect(server.uri, autocommit=True) as own:
            own.execute(f"CREATE DATABASE of_{schema}")
        with psycopg.connect(f"{address}/of_{schema}", autocommit=True) as own:
            own.execute(f"CREATE SCHEMA {schema}; CREATE EXTENSION vector SCHEMA {schema}")
    assert "pgvector" in probe_engine(replace(engine, uri=f"{address}/of_extensions"))
    with pytest.raises(Unavailable, match="has pgvector in the schema elsewhere; use"):
        probe_engine(replace(engine, uri=f"{address}/of_elsewhere"))


def test_shards_of_others_are_not_listed(tmp_path, engine, server):
    import psycopg

    root = write_files(tmp_path / "vault", NOTES)
    with opened(root, tmp_path / "indexer", engine) as indexer:
        asyncio.run(index_vault(indexer))
        with psycopg.connect(server.uri, autocommit=True) as own:
            own.execute("CREATE ROLE plain LOGIN")
        assert engine.shard in names_of_shards(engine)
        assert not names_of_shards(replace(engine, uri=engine.uri.replace("vaultseek@", "plain@")))


def test_shards_are_listed_and_deleted(tmp_path, engine):
    root = write_files(tmp_path / "vault", NOTES)
    with opened(root, tmp_path / "indexer", engine) as indexer:
        asyncio.run(index_vault(indexer))
    assert names_of_shards(engine)[engine.shard] == "vault"
    delete_shard(engine, engine.shard, lambda is_there: None, drop=True)
    assert engine.shard not in names_of_shards(engine)
    with pytest.raises(Unavailable, match="the engine has no shard"):
        OpenVault.open(
            VaultOptions("v", root, storage=SearchedStorage(engine)),
            tmp_path / "searcher",
            WorkerHere(),
            EmbeddingSpec("test", len, 254),
        )


def test_a_server_is_looked_at_before_anything_is_switched_to_it(engine):
    assert "pgvector" in probe_engine(engine)
    with pytest.raises(Unavailable, match=r"refuses the connection: role .nobody. does"):
        probe_engine(replace(engine, uri=engine.uri.replace("vaultseek@", "nobody@")))
    with pytest.raises(Unavailable, match=r"refuses the connection: database .nothing. does"):
        probe_engine(replace(engine, uri=f"{engine.uri.rpartition('/')[0]}/nothing"))
    with pytest.raises(Unavailable, match="does not answer"):
        probe_engine(replace(engine, uri="postgresql://127.0.0.1:1/none", seconds=1.0))
    with pytest.raises(ConfigError, match="expected postgresql://HOST/DATABASE"):
        probe_engine(replace(engine, uri="http://127.0.0.1"))


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("a LIKE ? AND b > ?", "a ILIKE %s ESCAPE '' AND b > %s"),
        ("a LIKE ? ESCAPE '\\'", "a ILIKE %s ESCAPE '\\'"),
        ("path LIKE '%.base'", "path ILIKE '%.base' ESCAPE ''"),
        (
            "(a = ? OR coalesce(b, c) GLOB ?)",
            "(a = %s OR coalesce(b, c) ~ ('^' || replace(replace(%s, '*', '.*'), chr(63), '.') || '$'))",
        ),
        ("path LIKE '%.base' AND a = ?", "path ILIKE '%%.base' ESCAPE '' AND a = %s"),
        ("instr(text, ?) > 0", "strpos(text, %s) > 0"),
    ],
)
def test_statements_are_translated(sql, expected):
    assert translated(sql) == expected


@pytest.mark.fault("B12")
def test_b12_vectors_of_a_former_model_go_after_weeks_without_it(tmp_path, engine, monkeypatch):
    root = write_files(tmp_path / "vault", NOTES)

    def tables() -> int:
        sql = "SELECT count(*) FROM pg_tables WHERE schemaname = %s AND tablename LIKE 'vectors%%'"
        with contextlib.closing(backend_of(engine)) as backend:
            return int(backend.server.rows(sql, backend.server.schema)[0][0])

    check_weeks(lambda model: opened(root, tmp_path / "indexer", engine, model=model), set_clock(monkeypatch))
    assert tables() == 4
    with opened(root, tmp_path / "indexer", engine, model="first") as indexer:
        vectors = stored(indexer.engine.backend)[2]
        clock = set_clock(monkeypatch)
        for _ in range(UNUSED_DAYS + 2):
            clock.now += DAY
            compact(indexer)
        assert tables() == 2
        assert stored(indexer.engine.backend)[2] == vectors
        asyncio.run(index_vault(indexer))
        assert answers(indexer)["sump pump", "semantic"][0]


@pytest.mark.fault("B12", "C15")
def test_c15_a_clock_that_jumps_costs_no_vectors_of_models_in_use(tmp_path, engine, monkeypatch):
    root = write_files(tmp_path / "vault", NOTES)
    check_clock(lambda model: opened(root, tmp_path / "indexer", engine, model=model), set_clock(monkeypatch))
