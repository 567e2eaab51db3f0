"""Faults of an engine while it is written to: answers say so, and the ledger makes good for all of it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import namedtuple
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engines import lite_engine
from semantic_here import WorkerHere, index_here
from vaultseek.core.indexing.open_vault import OpenVault, VaultOptions
from vaultseek.core.indexing.unembedded import EmbeddingSpec
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.engines import sync as engine_sync
from vaultseek.engines import writer as shard_writer
from vaultseek.engines.heartbeat import Heartbeat
from vaultseek.errors import Unavailable, WorkerUnavailable
from vaultseek.settings.engine import EngineOptions
from vaultseek.settings.search import SearchSettings
from worlds import write_files

pytestmark = pytest.mark.long

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
"""Longest time for which an engine may be behind before a test looks at it as it is."""
Usage = namedtuple("Usage", "total used free")


@pytest.fixture(scope="module")
def lite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineOptions]:
    with lite_engine(tmp_path_factory.mktemp("milvus"), seconds=20.0, write_seconds=20.0) as options:
        yield options


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask an engine again at once, which is right for one that a test has brought back."""
    from vaultseek.engines.milvus import connection as milvus_connection

    monkeypatch.setattr(milvus_connection, "PAUSE_SECONDS", 0.0)


@contextlib.contextmanager
def opened(root: Path, directory: Path, engine: EngineOptions) -> Iterator[OpenVault]:
    spec = EmbeddingSpec("test", lambda text: len(text) // 4 + 1, 254)
    vault = OpenVault.open(VaultOptions(root.name, root, engine=engine), directory, WorkerHere(), spec)
    with contextlib.closing(vault):
        vault.indexer.load()
        yield vault


def index(vault: OpenVault) -> None:
    """Index by word, then by meaning, each as far as the engine lets it."""
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
    """Do what the daemon does now and then, for long enough."""
    vault.indexer.apply(vault.indexer.reconcile())
    began = time.monotonic()
    while True:  # an engine that was away may take longer than a request has
        vault.indexer.catch_up_again()
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
    """Compare all answers with those of a new index, and the engine's numbers with those of the ledger."""
    fresh = index_here(vault.options.root, folder)
    with contextlib.closing(fresh):
        for mode in ("keyword", "semantic", "hybrid"):
            for query in QUERIES:
                assert search(vault, query, mode) == search(fresh, query, mode), (mode, query)
        counts = vault.ledger.counts()
        assert counts == fresh.ledger.counts()
    assert vault.engine is not None
    there = vault.engine.backend.statistics()
    assert (there.notes, there.passages) == (counts.notes, counts.chunks)
    by_kind = {kind: count for (_, kind), count in there.vectors.items()}
    assert by_kind == {"passages": counts.chunks, "notes": counts.notes}
    return True


class Trouble:
    """A fault at the first write to a collection whose name ends so; ``end`` makes an end of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, ending: str, begin: Callable[[], None]) -> None:
        from vaultseek.engines.milvus.client import MilvusClient

        self.happened = False
        upsert = MilvusClient.upsert

        def with_trouble(client: MilvusClient, name: str, rows: Any) -> None:
            if name.endswith(ending) and not self.happened:
                self.happened = True
                begin()
            upsert(client, name, rows)

        monkeypatch.setattr(MilvusClient, "upsert", with_trouble)


def process(options: EngineOptions) -> int:
    from vaultseek.engines.milvus.lite import lite_server

    number = lite_server(options.file).process
    assert number is not None
    return number


@pytest.mark.parametrize("written", ["notes", "state", "_passages"])
def test_an_engine_that_is_killed_while_it_is_written_to(tmp_path, lite, monkeypatch, written):
    root = write_files(tmp_path / "vault", NOTES)
    options = replace(lite, shard=f"killed{written}")
    with opened(root, tmp_path / "milvus", options) as vault:
        index(vault)
        embedded = vault.ledger.vectors.embeddings_computed()
        write_files(root, LATER)
        (root / "garden.md").unlink()
        with monkeypatch.context() as during:
            trouble = Trouble(during, written, lambda: os.kill(process(lite), signal.SIGKILL))
            index(vault)
            assert trouble.happened
        assert "lamp.md" in {row.path for row in vault.ledger.notes.by_id(vault.ledger.notes.ids()).values()}
        assert search(vault, "path:lamp")[0] == ["lamp.md"]
        catch_up(vault)
        assert vault.keyword_reason() is None
        assert is_as_fresh(vault, tmp_path / "fresh")
        # The texts of two notes are new, for a passage and a note each; of none the vector was made twice.
        assert vault.ledger.vectors.embeddings_computed() == embedded + 4


@pytest.mark.parametrize("written", ["notes", "_passages"])
def test_an_engine_that_hangs_while_it_is_written_to(tmp_path, lite, monkeypatch, written):
    root = write_files(tmp_path / "vault", NOTES)
    options = replace(lite, shard=f"slow{written}", seconds=1.0, write_seconds=1.0)
    with opened(root, tmp_path / "milvus", options) as vault:
        index(vault)
        write_files(root, LATER)
        number = process(lite)
        with monkeypatch.context() as during:
            trouble = Trouble(during, written, lambda: os.kill(number, signal.SIGSTOP))
            index(vault)
            assert trouble.happened
        if written == "notes":
            reason = vault.keyword_reason()
            assert reason is not None
            assert "does not answer" in reason.text
        assert search(vault, "path:lamp")[0] == ["lamp.md"]
        os.kill(number, signal.SIGCONT)
        catch_up(vault)
        assert vault.keyword_reason() is None
        assert is_as_fresh(vault, tmp_path / "fresh")


def test_an_engine_that_takes_long_is_behind_while_it_does(tmp_path, lite, monkeypatch):
    monkeypatch.setattr(engine_sync, "SLOW_SECONDS", 0.0)
    root = write_files(tmp_path / "vault", NOTES)
    said = []
    with opened(root, tmp_path / "milvus", lite) as vault:
        index(vault)
        write_files(root, LATER)
        assert vault.keyword_reason() is None
        Trouble(monkeypatch, "notes", lambda: said.append(search(vault, "lighthouse", "keyword")))
        index(vault)
        [(notes, partial)] = said
        assert notes == []
        assert "some changes are not in the engine yet: syncing to the engine for" in partial["keyword"].text
        assert search(vault, "lighthouse", "keyword") == (["lamp.md"], {})


@pytest.mark.parametrize("written", ["notes", "_passages"])
def test_a_disk_that_is_full_before_a_write(tmp_path, lite, monkeypatch, written):
    root = write_files(tmp_path / "vault", NOTES)
    options = replace(lite, shard=f"full{written}")
    with opened(root, tmp_path / "milvus", options) as vault:
        index(vault)
        write_files(root, LATER)
        with monkeypatch.context() as during:
            fill = lambda: during.setattr(shutil, "disk_usage", lambda path: Usage(10**9, 10**9, 10**6))  # noqa: E731
            trouble = Trouble(during, written, fill)
            with pytest.raises(OSError, match="No space left"):
                catch_up(vault)
            assert trouble.happened
            with pytest.raises(OSError, match="No space left"):
                catch_up(vault)
        assert search(vault, "path:lamp")[0] == ["lamp.md"]
        catch_up(vault)
        assert is_as_fresh(vault, tmp_path / "fresh")


def copied(file: Path, to: Path) -> None:
    """Copy the file of Milvus Lite, which is a folder, while nobody has it open."""
    from vaultseek.engines.milvus.lite import lite_server

    lite_server(file if file.name == "engine.db" else to).stop()
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(file, to)


@pytest.mark.parametrize(("lost", "is_closed"), [("some", False), ("all", True)])
def test_an_engine_that_is_restored_as_it_was_before(tmp_path, lite, lost, is_closed):
    root = write_files(tmp_path / "vault", NOTES)
    file, backup = tmp_path / "engine.db", tmp_path / "backup"
    options = replace(lite, uri=str(file))
    with contextlib.ExitStack() as closing:
        vault = closing.enter_context(opened(root, tmp_path / "milvus", options))
        if lost == "all":
            assert vault.engine is not None
            vault.engine.backend.statistics()  # the collections, with nothing in them
            copied(file, backup)
        index(vault)
        if lost == "some":
            copied(file, backup)
        write_files(root, LATER)
        (root / "garden.md").unlink()
        catch_up(vault)
        embedded = vault.ledger.vectors.embeddings_computed()
        if is_closed:
            closing.pop_all().close()
        copied(backup, file)
        if is_closed:
            vault = closing.enter_context(opened(root, tmp_path / "milvus", options))
        write_files(root, {"new.md": "# New\n\nAnother lamp."})
        index(vault)
        catch_up(vault)
        assert is_as_fresh(vault, tmp_path / "fresh")
        assert vault.ledger.vectors.embeddings_computed() == embedded + 2


def test_an_index_that_is_restored_as_it_was_before(tmp_path, lite):
    """The engine is ahead of such a ledger: notes of the time between must not stay there."""
    root = write_files(tmp_path / "vault", NOTES)
    options = lite
    with opened(root, tmp_path / "milvus", options) as vault:
        index(vault)
    shutil.copytree(tmp_path / "milvus", tmp_path / "backup")
    write_files(root, LATER)
    with opened(root, tmp_path / "milvus", options) as vault:
        index(vault)
    (root / "lamp.md").unlink()
    shutil.rmtree(tmp_path / "milvus")
    shutil.copytree(tmp_path / "backup", tmp_path / "milvus")
    with opened(root, tmp_path / "milvus", options) as vault:
        catch_up(vault)
        assert is_as_fresh(vault, tmp_path / "fresh")


def test_an_index_that_is_restored_and_goes_on_before_the_engine_is_there(tmp_path, lite, monkeypatch):
    """Its revisions are those of the engine again, or later ones, with other notes."""
    from vaultseek.engines.milvus.lite import LiteServer, lite_server

    root = write_files(tmp_path / "vault", NOTES)
    with opened(root, tmp_path / "milvus", lite) as vault:
        index(vault)
        shutil.copytree(tmp_path / "milvus", tmp_path / "backup")
        write_files(root, LATER)
        index(vault)
    (root / "lamp.md").unlink()
    shutil.rmtree(tmp_path / "milvus")
    (tmp_path / "backup").rename(tmp_path / "milvus")
    with monkeypatch.context() as gone:
        gone.setattr(LiteServer, "_start", absent)
        lite_server(lite.file).stop()
        with opened(root, tmp_path / "milvus", lite) as vault:
            for number in range(4):
                write_files(root, {"garden.md": f"# Garden\n\nRoses, {number} of them."})
                index(vault)
            assert vault.keyword_reason() is not None
            gone.undo()
            catch_up(vault)
            assert is_as_fresh(vault, tmp_path / "fresh")


def absent(*_: object) -> None:
    raise Unavailable("Milvus Lite cannot open the file: it is not there")


@pytest.mark.parametrize("version", ["2.4.17", "v2.3.0"])
def test_a_server_that_is_too_old_is_one_line_and_nothing_is_lost(tmp_path, lite, monkeypatch, version):
    from pymilvus import MilvusClient

    root = write_files(tmp_path / "vault", NOTES)
    with monkeypatch.context() as old:
        old.setattr(MilvusClient, "get_server_version", lambda *_, **__: version)
        with opened(root, tmp_path / "milvus", lite) as vault:
            index(vault)
            reason = vault.keyword_reason()
            assert reason is not None
            assert f"is {version}, too old; use 2.5 or newer" in reason.text
            assert "\n" not in reason.text
            assert search(vault, "path:garden")[0] == ["garden.md"]
            assert search(vault, "pump", "keyword") == ([], {"keyword": reason})
            old.undo()
            catch_up(vault)
            assert is_as_fresh(vault, tmp_path / "fresh")


@pytest.fixture(scope="module")
def server(lite, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineOptions]:
    """The way to a server, which several indexers may use."""
    folder = tmp_path_factory.mktemp("server")
    command = [
        sys.executable,
        str(Path(__file__).parents[1] / "milvus_server.py"),
        str(folder / "a.db"),
        "0",
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        port = int(running.stdout.readline())
        yield EngineOptions(uri=f"http://127.0.0.1:{port}", seconds=20.0, write_seconds=20.0)
        running.communicate()


def test_two_indexers_of_one_shard_do_not_mix_it(tmp_path, server, monkeypatch):
    """A copied index is of the same shard: whoever comes later has it, and the other says so."""
    root = write_files(tmp_path / "vault", NOTES)
    with opened(root, tmp_path / "first", server) as vault:
        index(vault)
        assert vault.engine is not None
        shutil.copytree(tmp_path / "first", tmp_path / "second")
        other_root = write_files(tmp_path / "other", {**NOTES, "own.md": "# Own\n\nA lamp of its own."})
        shard_writer._open.clear()  # as in another process
        with opened(other_root, tmp_path / "second", server) as other:
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
                vault.indexer.catch_up_again()
                reason = vault.keyword_reason()
                assert reason is not None
                expected = r"indexer on else writes to the same shard, vault-.*: one index is a copy .*/first"
                assert re.search(expected, reason.text)
            assert search(vault, "path:lamp")[0] == ["lamp.md"]
            assert is_as_fresh(other, tmp_path / "fresh")
        # The other is silent from now on: this one has the shard again, with nothing of the other in it.
        monkeypatch.setattr(shard_writer, "SILENCE_SECONDS", 0.0)
        catch_up(vault)
        assert vault.keyword_reason() is None
        assert is_as_fresh(vault, tmp_path / "fresh")


def heartbeat() -> Heartbeat:
    return Heartbeat(1.0, "else", "ready")


def test_a_copied_index_is_not_opened_beside_its_original(tmp_path, lite):
    root = write_files(tmp_path / "vault", NOTES)
    with opened(root, tmp_path / "first", lite) as vault:
        index(vault)
        shutil.copytree(tmp_path / "first", tmp_path / "second")
        with (
            pytest.raises(Unavailable, match=r"copy of the one in .*/first: both are the shard .*/second"),
            opened(root, tmp_path / "second", lite),
        ):
            pass
    with opened(root, tmp_path / "second", lite) as other:
        assert other.keyword_reason() is None


def test_an_index_that_is_deleted_while_it_is_open_has_its_shard_again(tmp_path, lite):
    root = write_files(tmp_path / "vault", NOTES)
    with opened(root, tmp_path / "index", lite) as vault:
        index(vault)
        assert vault.engine is not None
        shard = vault.engine.backend.options.shard
        shutil.rmtree(tmp_path / "index")
    with opened(root, tmp_path / "index", lite) as vault:
        assert vault.engine is not None
        assert vault.engine.backend.options.shard == shard
        catch_up(vault)
        assert is_as_fresh(vault, tmp_path / "fresh")


def test_two_shards_with_one_number_are_told_apart(tmp_path, lite, monkeypatch):
    from vaultseek.engines.milvus import backend

    monkeypatch.setattr(backend, "shard_number", lambda name: 7)
    root = write_files(tmp_path / "vault", NOTES)
    with (
        opened(root, tmp_path / "first", replace(lite, shard="a")) as first,
        opened(root, tmp_path / "second", replace(lite, shard="b")) as second,
    ):
        index(first)
        index(second)
        reason = second.keyword_reason()
        assert reason is not None
        assert "the shards b and a cannot be in one engine together" in reason.text
        assert is_as_fresh(first, tmp_path / "fresh")


@pytest.mark.parametrize(
    "text", ["[Errno 28] No space left on device", "quota: disk quota exhausted, please"]
)
def test_a_full_disk_that_only_the_engine_notices(tmp_path, lite, server, monkeypatch, text):
    from pymilvus import MilvusClient
    from pymilvus.exceptions import MilvusException

    def refuse(*_: object, **__: object) -> None:
        raise MilvusException(1, text)

    root = write_files(tmp_path / "vault", NOTES)
    with (
        opened(root, tmp_path / "lite", lite) as here,
        opened(root, tmp_path / "server", server) as there,
    ):
        with monkeypatch.context() as full:
            full.setattr(MilvusClient, "upsert", refuse)
            with pytest.raises(OSError, match="No space left"):
                catch_up(here)
            there.indexer.apply(there.indexer.reconcile())
            reason = there.keyword_reason()
            assert reason is not None
            assert f"the disk of Milvus at {server.uri} is full" in reason.text
        for vault in (here, there):
            catch_up(vault)
            assert vault.keyword_reason() is None
            assert is_as_fresh(vault, tmp_path / f"fresh {vault is here}")


class LaggingReads:
    """A client whose reads see nothing of late, unless they ask for all that was written."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from pymilvus import MilvusClient

        self.asked: list[str] = []
        for name in ("query", "get", "search"):
            monkeypatch.setattr(MilvusClient, name, self._reading(getattr(MilvusClient, name)))

    def _reading(self, read: Callable[..., Any]) -> Callable[..., Any]:
        def lagging(*args: Any, consistency_level: str, **options: Any) -> Any:
            self.asked.append(consistency_level)
            if consistency_level == "Strong":
                return read(*args, consistency_level=consistency_level, **options)
            if read.__name__ == "search":
                return [[]]
            return [{"count(*)": 0}] if options.get("output_fields") == ["count(*)"] else []

        return lagging


@pytest.mark.parametrize("consistency", ["Eventually", "Bounded", "Session"])
def test_an_engine_that_shows_writes_late_is_not_taken_for_another(tmp_path, lite, monkeypatch, consistency):
    root = write_files(tmp_path / "vault", NOTES)
    with monkeypatch.context() as during:
        reads = LaggingReads(during)
        with opened(root, tmp_path / "milvus", replace(lite, consistency=consistency)) as vault:
            index(vault)
            given = vault.ledger.space.store()
            write_files(root, LATER)
            catch_up(vault)
            assert vault.keyword_reason() is None
            assert vault.ledger.space.store() == given
            with pytest.raises(Unavailable, match="does not yet show the latest changes"):
                search(vault, "sump pump", "semantic")
            assert vault.ledger.space.store() == given
            assert vault.engine is not None
            assert vault.engine.backend.statistics().notes == 4
        assert set(reads.asked) >= {"Strong"}


def test_an_engine_that_never_has_all_notes_is_filled_again_once(tmp_path, lite, monkeypatch):
    from vaultseek.engines.milvus.backend import MilvusBackend

    root = write_files(tmp_path / "vault", NOTES)
    drops: list[tuple[str, ...]] = []
    drop, statistics = MilvusBackend.drop, MilvusBackend.statistics

    def counted_drop(backend: MilvusBackend, *parts: str) -> None:
        drops.append(parts)
        drop(backend, *parts)

    def short(backend: MilvusBackend, **options: Any) -> Any:
        there = statistics(backend, **options)
        return replace(there, notes=there.notes - 1)

    monkeypatch.setattr(MilvusBackend, "drop", counted_drop)
    with opened(root, tmp_path / "milvus", lite) as vault:
        with monkeypatch.context() as during:
            during.setattr(MilvusBackend, "statistics", short)
            index(vault)
            fillings = drops.count(("notes and text",))
            said = []
            for _ in range(5):
                vault.indexer.catch_up_again()
                reason = vault.keyword_reason()
                assert reason is not None
                said.append(reason.text)
            assert "2 of 3 notes; it is filled again" in said[0]
            assert "2 of 3 notes, also after it was filled again; see that nobody else" in said[-1]
            write_files(root, LATER)
            index(vault)
            vault.indexer.catch_up_again()
            reason = vault.keyword_reason()
            assert reason is not None
            assert "3 of 4 notes, also after" in reason.text
            assert drops.count(("notes and text",)) == fillings + 1
        catch_up(vault)
        assert vault.keyword_reason() is None
        assert is_as_fresh(vault, tmp_path / "fresh")
