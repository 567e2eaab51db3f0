"""Faults while writing to an engine: answers report them, and the engine catches up from the ledger."""

import asyncio
import contextlib
import re
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from postgres_server import PostgresServer, stored
from semantic_here import WorkerHere, index_here
from vaultseek.core.indexing.open_vault import OpenVault, VaultOptions
from vaultseek.core.indexing.unembedded import EmbeddingSpec
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.errors import Unavailable, WorkerUnavailable
from vaultseek.settings.search import SearchSettings
from vaultseek_server.engines import engine as engine_module
from vaultseek_server.engines import heartbeat as heartbeat_module
from vaultseek_server.engines.heartbeat import Heartbeat
from vaultseek_server.engines.postgres import server as server_module
from vaultseek_server.engines.postgres.backend import PostgresBackend
from vaultseek_server.engines.postgres.server import Server
from vaultseek_server.engines.storage import IndexedStorage
from vaultseek_server.engines.vectors import ShardVectors
from vaultseek_server.settings import EngineOptions
from worlds import write_files

pytestmark = pytest.mark.slow

NOTES = {
    "pumps.md": "---\ntags: [work/pumps]\n---\n# Pumps\n\nThe sump pump of the station, with a float switch.",
    "brakes.md": "# Brakes\n\nThe brake pads of the tram. #work\n\n[[pumps]]",
    "garden.md": "# Garden\n\nRoses and a pump for the pond. #home",
}
LATER = {
    "brakes.md": "# Brakes\n\nNothing but a pump now, see [[garden]].",
    "lamp.md": "# Lamp\n\nA lighthouse has a lamp. #work",
}
QUERIES = ("sump pump", "lighthouse lamp", "pump tag:work", "tram", "[[garden]]", "roses")
CATCH_UP_SECONDS = 20.0
BEHIND_SECONDS = 3.0
"""Seconds that an engine may be behind before a test checks it anyway."""


@pytest.fixture
def engine(server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineOptions:
    """The options of an engine. A failed connection is retried at once, because tests bring engines back."""
    monkeypatch.setattr(server_module, "PAUSE_SECONDS", 0.0)
    return EngineOptions(server.uri, seconds=20.0, write_seconds=20.0)


@contextlib.contextmanager
def opened(root: Path, directory: Path, engine: EngineOptions) -> Iterator[OpenVault]:
    spec = EmbeddingSpec("test", lambda text: len(text) // 4 + 1, 254)
    vault = OpenVault.open(
        VaultOptions(root.name, root, storage=IndexedStorage(engine)), directory, WorkerHere(), spec
    )
    with contextlib.closing(vault):
        vault.indexer.load()
        yield vault


def index(vault: OpenVault) -> None:
    """Index by word, then by meaning, as far as the engine allows."""
    with contextlib.suppress(OSError):
        vault.indexer.apply(vault.indexer.reconcile())
    with contextlib.suppress(OSError, WorkerUnavailable):
        embed(vault)


def embed(vault: OpenVault) -> None:
    async def steps() -> None:
        while await vault.embedding.step():
            pass

    asyncio.run(steps())


def catch_up(vault: OpenVault) -> None:
    """Do the daemon's periodic work for long enough."""
    vault.indexer.apply(vault.indexer.reconcile())
    began = time.monotonic()
    while True:  # an engine that was unreachable may take longer than a request may
        vault.indexer.sync_again()
        seconds = time.monotonic() - began
        with contextlib.suppress(*([WorkerUnavailable] if seconds < CATCH_UP_SECONDS else [])):
            embed(vault)
            if vault.keyword_reason() is None or seconds > BEHIND_SECONDS:
                return
        time.sleep(0.1)


def search(vault: OpenVault, query: str, mode: Any = "hybrid") -> tuple[list[str], dict[str, Any]]:
    trace = asyncio.run(Searcher(vault).run(SearchRequest(query, SearchSettings(), mode=mode)))
    return [candidate.note for candidate in trace.results], dict(trace.partial)


def is_as_fresh(vault: OpenVault, folder: Path) -> bool:
    """Compare all answers with those of a new index, and the engine's counts with the ledger's."""
    fresh = index_here(vault.options.root, folder)
    with contextlib.closing(fresh):
        for mode in ("keyword", "semantic", "hybrid"):
            for query in QUERIES:
                assert search(vault, query, mode) == search(fresh, query, mode), (mode, query)
        counts = vault.ledger.counts()
        assert counts == fresh.ledger.counts()
    assert vault.engine is not None
    vectors = {"chunks": counts.chunks, "notes": counts.notes}
    assert stored(vault.engine.backend) == (counts.notes, counts.chunks, vectors)
    return True


class Trouble:
    """A fault in the middle of the first write of notes or of vectors."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, written: str, begin: Callable[[], object]) -> None:
        self.happened = False
        owner, method = {"notes": (PostgresBackend, "replace"), "vectors": (ShardVectors, "_put")}[written]
        put = getattr(owner, method)

        def with_trouble(it: Any, *what: Any) -> None:
            put(it, *what)
            if not self.happened:
                self.happened = True
                begin()

        monkeypatch.setattr(owner, method, with_trouble)


@pytest.mark.parametrize("written", ["notes", "vectors"])
def test_an_engine_that_is_killed_while_it_is_written_to(tmp_path, engine, server, monkeypatch, written):
    root = write_files(tmp_path / "vault", NOTES)
    with opened(root, tmp_path / "index", engine) as vault:
        index(vault)
        embedded = vault.ledger.vectors.embeddings_computed()
        write_files(root, LATER)
        (root / "garden.md").unlink()
        with monkeypatch.context() as during:
            trouble = Trouble(during, written, server.stop)
            index(vault)
            assert trouble.happened
        assert "lamp.md" in {row.path for row in vault.ledger.notes.by_id(vault.ledger.notes.ids()).values()}
        assert search(vault, "path:lamp")[0] == ["lamp.md"]
        server.start()
        catch_up(vault)
        assert vault.keyword_reason() is None
        assert is_as_fresh(vault, tmp_path / "fresh")
        # Two notes have new texts, one for a passage and one for the note; no vector was computed twice.
        assert vault.ledger.vectors.embeddings_computed() == embedded + 4


@pytest.mark.parametrize("written", ["notes", "vectors"])
def test_an_engine_that_hangs_while_it_is_written_to(tmp_path, engine, server, monkeypatch, written):
    root = write_files(tmp_path / "vault", NOTES)
    engine = replace(engine, seconds=1.0, write_seconds=1.0)
    with opened(root, tmp_path / "index", engine) as vault:
        index(vault)
        write_files(root, LATER)
        with monkeypatch.context() as during:
            trouble = Trouble(during, written, server.freeze)
            index(vault)
            assert trouble.happened
        if written == "notes":
            reason = vault.keyword_reason()
            assert reason is not None
            assert "does not answer" in reason.text
        assert search(vault, "path:lamp")[0] == ["lamp.md"]
        server.thaw()
        catch_up(vault)
        assert vault.keyword_reason() is None
        assert is_as_fresh(vault, tmp_path / "fresh")


def test_an_engine_that_takes_long_is_behind_while_it_does(tmp_path, engine, monkeypatch):
    monkeypatch.setattr(engine_module, "SLOW_SECONDS", 0.0)
    root = write_files(tmp_path / "vault", NOTES)
    said = []
    with opened(root, tmp_path / "index", engine) as vault:
        index(vault)
        write_files(root, LATER)
        assert vault.keyword_reason() is None
        Trouble(monkeypatch, "notes", lambda: said.append(search(vault, "lighthouse", "keyword")))
        index(vault)
        [(notes, partial)] = said
        assert notes == []
        assert (
            "some changes are not in the engine yet: writing to the engine has taken" in partial["vault"].text
        )
        assert search(vault, "lighthouse", "keyword") == (["lamp.md"], {})


def test_a_full_disk_of_the_server(tmp_path, engine, monkeypatch):
    def refuse(server: Server, *_: object) -> None:
        with server.connection():
            raise psycopg.errors.DiskFull("could not extend file: No space left on device")

    psycopg = pytest.importorskip("psycopg")
    root = write_files(tmp_path / "vault", NOTES)
    with opened(root, tmp_path / "index", engine) as vault:
        with monkeypatch.context() as full:
            full.setattr(Server, "copy", refuse)
            index(vault)
            reason = vault.keyword_reason()
            assert reason is not None
            assert f"the disk of PostgreSQL at {engine.place} is full" in reason.text
            assert search(vault, "path:garden")[0] == ["garden.md"]
        catch_up(vault)
        assert vault.keyword_reason() is None
        assert is_as_fresh(vault, tmp_path / "fresh")


@pytest.mark.parametrize(("lost", "is_closed"), [("some", False), ("all", True)])
def test_an_engine_that_is_restored_as_it_was_before(tmp_path, engine, server, lost, is_closed):
    root = write_files(tmp_path / "vault", NOTES)
    with contextlib.ExitStack() as closing:
        vault = closing.enter_context(opened(root, tmp_path / "index", engine))
        if lost == "all":
            server.back_up(tmp_path / "backup")
        index(vault)
        if lost == "some":
            catch_up(vault)
            server.back_up(tmp_path / "backup")
        write_files(root, LATER)
        (root / "garden.md").unlink()
        catch_up(vault)
        embedded = vault.ledger.vectors.embeddings_computed()
        if is_closed:
            closing.pop_all().close()
        server.restore(tmp_path / "backup")
        if is_closed:
            vault = closing.enter_context(opened(root, tmp_path / "index", engine))
        write_files(root, {"new.md": "# New\n\nAnother lamp."})
        index(vault)
        catch_up(vault)
        assert is_as_fresh(vault, tmp_path / "fresh")
        assert vault.ledger.vectors.embeddings_computed() == embedded + 2


def test_an_index_that_is_restored_as_it_was_before(tmp_path, engine):
    """The engine is ahead of a restored ledger: notes from after the backup must not remain."""
    root = write_files(tmp_path / "vault", NOTES)
    with opened(root, tmp_path / "index", engine) as vault:
        index(vault)
    shutil.copytree(tmp_path / "index", tmp_path / "backup")
    write_files(root, LATER)
    with opened(root, tmp_path / "index", engine) as vault:
        index(vault)
    (root / "lamp.md").unlink()
    shutil.rmtree(tmp_path / "index")
    shutil.copytree(tmp_path / "backup", tmp_path / "index")
    with opened(root, tmp_path / "index", engine) as vault:
        catch_up(vault)
        assert is_as_fresh(vault, tmp_path / "fresh")


def test_an_index_that_is_restored_and_goes_on_before_the_engine_is_there(tmp_path, engine, server):
    """The new revisions equal or exceed those in the engine, but belong to different notes."""
    root = write_files(tmp_path / "vault", NOTES)
    with opened(root, tmp_path / "index", engine) as vault:
        index(vault)
        shutil.copytree(tmp_path / "index", tmp_path / "backup")
        write_files(root, LATER)
        index(vault)
    (root / "lamp.md").unlink()
    shutil.rmtree(tmp_path / "index")
    (tmp_path / "backup").rename(tmp_path / "index")
    server.stop()
    with opened(root, tmp_path / "index", engine) as vault:
        for number in range(4):
            write_files(root, {"garden.md": f"# Garden\n\nRoses, {number} of them."})
            index(vault)
        assert vault.keyword_reason() is not None
        server.start()
        catch_up(vault)
        assert is_as_fresh(vault, tmp_path / "fresh")


def test_two_indexers_of_one_shard_do_not_mix_it(tmp_path, engine, monkeypatch):
    """A copied index has the same shard: the newer indexer takes it over, and the older one reports that."""
    root = write_files(tmp_path / "vault", NOTES)
    with opened(root, tmp_path / "first", engine) as vault:
        index(vault)
        assert vault.engine is not None
        shutil.copytree(tmp_path / "first", tmp_path / "second")
        other_root = write_files(tmp_path / "other", {**NOTES, "own.md": "# Own\n\nA lamp of its own."})
        with opened(other_root, tmp_path / "second", engine) as other:
            index(other)
            assert is_as_fresh(other, tmp_path / "fresh")
            assert other.engine is not None
            other.engine.publish(heartbeat())
            with pytest.raises(Unavailable, match="changed outside vaultseek"):
                vault.engine.publish(heartbeat())
            assert vault.keyword_reason() is not None
            write_files(root, LATER)
            index(vault)
            for _ in range(3):
                vault.indexer.sync_again()
                reason = vault.keyword_reason()
                assert reason is not None
                expected = r"indexer on else writes to the same shard, vault-.*: one index is a copy .*/first"
                assert re.search(expected, reason.text)
            assert search(vault, "path:lamp")[0] == ["lamp.md"]
            assert is_as_fresh(other, tmp_path / "fresh")
        # From here on, the other indexer counts as silent: this one has the shard again, with none of its
        # rows.
        monkeypatch.setattr(heartbeat_module, "SILENCE_SECONDS", 0.0)
        catch_up(vault)
        assert vault.keyword_reason() is None
        assert is_as_fresh(vault, tmp_path / "fresh")


def heartbeat() -> Heartbeat:
    return Heartbeat("else", "ready")


def test_an_index_that_is_deleted_while_it_is_open_has_its_shard_again(tmp_path, engine):
    root = write_files(tmp_path / "vault", NOTES)
    with opened(root, tmp_path / "index", engine) as vault:
        index(vault)
        assert vault.engine is not None
        shard = vault.engine.backend.options.shard
        shutil.rmtree(tmp_path / "index")
    with opened(root, tmp_path / "index", engine) as vault:
        assert vault.engine is not None
        assert vault.engine.backend.options.shard == shard
        catch_up(vault)
        assert is_as_fresh(vault, tmp_path / "fresh")


def test_a_frozen_engine_holds_up_no_request_of_any_vault(server, engine):
    options = [replace(engine, seconds=1.0, shard=f"frozen {number}") for number in range(4)]
    with contextlib.ExitStack() as files:
        backends = [files.enter_context(contextlib.closing(PostgresBackend(each))) for each in options]
        assert [ask(backend) for backend in backends] == [""] * len(backends)
        server.freeze()
        with ThreadPoolExecutor(8) as threads:
            said = list(threads.map(ask, [*backends, *backends], timeout=60.0))
        assert set(said) == {f"PostgreSQL at {engine.place} does not answer"}
        assert all(backend.server.outage is not None for backend in backends)
        server.thaw()
        assert [ask(backend) for backend in backends] == [""] * len(backends)
        assert all(backend.server.outage is None for backend in backends)


def ask(backend: PostgresBackend) -> str:
    """Return the error of an engine that does not answer, "" if it answers."""
    try:
        backend.position()
    except Unavailable as error:
        return str(error)
    return ""
