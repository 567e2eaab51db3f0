"""A vault in Milvus Lite: the same answers, and nothing lost while the engine is gone, slow or refuses."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from engines import lite_engine
from semantic_here import WorkerHere, index_here
from vaultseek.core.indexing import batches, ingest
from vaultseek.core.indexing.open_vault import OpenVault, VaultOptions
from vaultseek.core.indexing.unembedded import EmbeddingSpec
from vaultseek.core.library import index_vault
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.engines import sync as engine_sync
from vaultseek.errors import ConfigError, Unavailable
from vaultseek.settings.engine import EngineOptions
from vaultseek.settings.model import IndexSettings
from vaultseek.settings.search import SearchSettings
from worlds import write_files

NOTES = {
    "pumps.md": "---\ntags: [work/pumps]\n---\n# Pumps\n\nThe sump pump of the station, with a float switch.",
    "brakes.md": "# Brakes\n\nThe brake pads of the tram. #work\n\n[[pumps]]",
    "garden.md": "# Garden\n\nRoses and a pump for the pond. #home",
    "straße.md": "# Straße\n\nDie Pumpen an der Straße sind alt. #home",
    "words.md": "# Words\n\nfloat the switch, and pump the sump",
}
QUERIES = [
    "sump pump",
    "pumpen",
    "float switch",
    "pmup",
    "brake tag:work",
    "sum*",
    "pump -tag:home",
    "[[pumps]]",
]


@pytest.fixture(scope="module")
def lite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineOptions]:
    with lite_engine(tmp_path_factory.mktemp("milvus"), seconds=30.0) as options:
        yield options


@contextlib.contextmanager
def opened(root: Path, directory: Path, engine: EngineOptions) -> Iterator[OpenVault]:
    spec = EmbeddingSpec("test", lambda text: len(text) // 4 + 1, 254)
    options = VaultOptions(root.name, root, engine=engine)
    vault = OpenVault.open(options, directory, WorkerHere(), spec)
    with contextlib.closing(vault):
        vault.indexer.load()
        yield vault


def index(vault: OpenVault) -> None:
    vault.indexer.apply(vault.indexer.reconcile())


def search(vault: OpenVault, query: str, mode="hybrid"):
    trace = asyncio.run(Searcher(vault).run(SearchRequest(query, SearchSettings(), mode=mode)))
    return [candidate.note for candidate in trace.results], trace.partial


def engine_process(options: EngineOptions) -> int:
    from vaultseek.engines.milvus.lite import lite_server

    process = lite_server(options.file).process
    assert process is not None
    return process


def test_an_engine_gives_the_order_of_the_embedded_one_and_its_vectors(tmp_path, lite):
    root = write_files(tmp_path / "vault", NOTES)
    embedded = index_here(root, tmp_path / "embedded")
    with opened(root, tmp_path / "milvus", replace(lite, shard="order")) as vault:
        asyncio.run(index_vault(vault))
        for query in QUERIES:
            for mode in ("hybrid", "keyword", "semantic"):
                assert search(vault, query, mode) == search(embedded, query, mode), (query, mode)
        answer, known = (each.keyword_index.search("sump pump", 10) for each in (vault, embedded))
        assert answer.columns.scores.tolist() == pytest.approx(known.columns.scores.tolist())
        assert answer.columns.proximity.tolist() == pytest.approx(known.columns.proximity.tolist())
        write_files(root, {"words.md": "nothing any more", "new.md": "a sump pump, brand new"})
        (root / "garden.md").unlink()
        asyncio.run(index_vault(vault))
        asyncio.run(index_vault(embedded))
        for query in QUERIES:
            assert search(vault, query) == search(embedded, query), query
    embedded.close()


@pytest.mark.fault("K12")
def test_notes_that_came_first_do_not_decide_how_the_rest_is_ranked(tmp_path, lite):
    root = write_files(tmp_path / "vault", {f"short{n}.md": f"zanzibar {'so ' * n}" for n in range(40)})
    words = [f"word{n}" for n in range(400)]
    with opened(root, tmp_path / "milvus", replace(lite, shard="lengths")) as vault:
        index(vault)
        write_files(
            root, {f"long{n}.md": f"zanzibar zanzibar {' '.join(words[: 60 + n])}" for n in range(300)}
        )
        index(vault)
        embedded = index_here(root, tmp_path / "embedded")
        assert search(vault, "zanzibar", "keyword")[0][:10] == search(embedded, "zanzibar", "keyword")[0][:10]
        embedded.close()


def test_a_page_holds_all_notes_of_one_commit():
    """Or a commit of many notes would be applied again and again: a page ends before the next revision."""
    assert max(batches.MOST_NOTES, ingest.BATCH_NOTES) <= engine_sync.CATCH_UP_NOTES


def test_an_engine_that_is_killed_is_started_again_and_catches_up(tmp_path, lite, monkeypatch):
    from vaultseek.engines.milvus import connection as milvus_connection

    monkeypatch.setattr(milvus_connection, "PAUSE_SECONDS", 0.0)
    root = write_files(tmp_path / "vault", NOTES)
    options = replace(lite, shard="killed", seconds=5.0)
    with opened(root, tmp_path / "milvus", options) as vault:
        index(vault)
        assert search(vault, "sump pump", "keyword")[0]
        os.kill(engine_process(lite), signal.SIGKILL)
        with contextlib.suppress(Unavailable):
            search(vault, "sump pump", "keyword")
        assert search(vault, "sump pump", "keyword")[0]


def test_what_an_absent_engine_was_not_given_it_gets_by_revision(tmp_path, lite, monkeypatch):
    from vaultseek.engines.milvus import connection as milvus_connection
    from vaultseek.engines.milvus.lite import LiteServer, lite_server

    monkeypatch.setattr(milvus_connection, "PAUSE_SECONDS", 0.0)
    root = write_files(tmp_path / "vault", NOTES)
    options = replace(lite, shard="absent", seconds=5.0)
    with opened(root, tmp_path / "milvus", options) as vault:
        index(vault)
        with monkeypatch.context() as gone:
            gone.setattr(LiteServer, "_start", absent)
            lite_server(lite.file).stop()
            write_files(root, {"later.md": "a lighthouse"})
            index(vault)
            reason = vault.keyword_reason()
            assert reason is not None
            assert reason.code == "behind"
            assert search(vault, "lighthouse", "keyword") == ([], {"keyword": reason})
            with pytest.raises(Unavailable, match="cannot open"):
                search(vault, "sump", "keyword")
            assert search(vault, "tag:work")[0] == ["brakes.md", "pumps.md"]  # the ledger answers
        vault.indexer.catch_up_again()
        assert vault.keyword_reason() is None
        assert search(vault, "lighthouse", "keyword") == (["later.md"], {})


def absent(*_: object) -> None:
    raise Unavailable("Milvus Lite cannot open the file: it is not there")


def test_an_engine_that_lost_its_notes_is_filled_from_the_ledger(tmp_path, lite):
    from vaultseek.engines.milvus.backend import MilvusBackend

    root = write_files(tmp_path / "vault", NOTES)
    options = replace(lite, shard="lost")
    with opened(root, tmp_path / "milvus", options) as vault:
        index(vault)
    with contextlib.closing(MilvusBackend(options)) as backend:
        backend.drop()
    with opened(root, tmp_path / "milvus", options) as vault:
        index(vault)
        assert "pumps.md" in search(vault, "sump pump", "keyword")[0]


def test_a_server_that_says_nothing_is_given_up_in_time(tmp_path, lite):
    root = write_files(tmp_path / "vault", NOTES)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        uri = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with opened(root, tmp_path / "milvus", EngineOptions(uri=uri, seconds=0.5)) as vault:
            index(vault)
            reason = vault.keyword_reason()
            assert reason is not None
            assert f"Milvus at {uri} does not answer" in reason.text
            assert search(vault, "pump", "keyword") == ([], {"keyword": reason})


def test_collections_of_another_program_are_left_alone(tmp_path, lite):
    from pymilvus import MilvusClient

    from vaultseek.engines.milvus import schema
    from vaultseek.engines.milvus.backend import MilvusBackend
    from vaultseek.engines.milvus.lite import lite_server

    client = MilvusClient(uri=lite_server(lite.file).address(), dedicated=True)
    client.create_collection(f"theirs_{schema.VERSION}_notes", dimension=4)
    client.close()
    with (
        contextlib.closing(MilvusBackend(replace(lite, prefix="theirs"))) as backend,
        pytest.raises(Unavailable, match=r"theirs_\d_notes .* is not one of vaultseek's.*index\.collections"),
    ):
        backend.statistics()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "index.uri is missing"),
        ({"uri": "notes.db"}, "start it with / or ~"),
        ({"uri": "ftp://milvus"}, "expected http:// or https://"),
        ({"uri": "https://me:secret@milvus"}, "holds a user or password"),
        ({"uri": "https://milvus", "certificate": "/no/such.pem"}, "found none at /no/such.pem"),
        (
            {"uri": "https://milvus", "token_variable": "NO_SUCH"},
            "NO_SUCH of index.token_variable is not",
        ),
        ({"uri": "https://milvus", "token_file": "{shared}"}, "others can read"),
        ({"uri": "https://milvus", "token_file": "/no/such"}, "cannot be read"),
    ],
)
def test_a_wrong_setting_is_one_line(tmp_path, lite, values, message):
    from vaultseek.engines.engine import open_backend

    shared = tmp_path / "token"
    shared.write_text("root:Milvus")
    shared.chmod(0o644)
    given = {key: value.replace("{shared}", str(shared)) for key, value in values.items()}
    options = IndexSettings(backend="milvus", **given).engine
    assert options is not None
    with pytest.raises(ConfigError, match=message) as raised:
        open_backend(options, "notes", tmp_path / "engine")
    assert "secret" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_token_comes_from_a_private_file_or_a_variable(tmp_path, monkeypatch):
    file = tmp_path / "token"
    file.write_text("root:Milvus\n")
    file.chmod(0o600)
    assert EngineOptions("https://milvus", token_file=str(file)).token() == "root:Milvus"
    monkeypatch.setenv("MY_TOKEN", "abc")
    assert EngineOptions("https://milvus", token_variable="MY_TOKEN").token() == "abc"
    assert EngineOptions("https://milvus").token() == ""
    assert IndexSettings().engine is None


def test_a_missing_extra_is_one_line(tmp_path, monkeypatch):
    import importlib.util

    from vaultseek.engines.engine import open_backend

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'vaultseek\[milvus\]'"):
        open_backend(EngineOptions("https://milvus"), "notes", tmp_path)


def test_a_commit_that_changes_more_notes_than_a_page_holds_is_written_page_by_page(
    tmp_path, lite, monkeypatch
):
    """Such as the renaming of a note that many link to: their links lead elsewhere, nothing else changes."""
    from vaultseek.engines.milvus.client import MilvusClient

    monkeypatch.setattr(engine_sync, "CATCH_UP_NOTES", 4)
    links = {f"{number}.md": f"# Note {number}\n\nSee [[hub]]." for number in range(11)}
    root = write_files(tmp_path / "vault", {**links, "hub.md": "# Hub\n\nA pump."})
    with opened(root, tmp_path / "milvus", replace(lite, shard="hub")) as vault:
        asyncio.run(index_vault(vault))
        written: list[tuple[str, int]] = []
        upsert = MilvusClient.upsert

        def noted(client: MilvusClient, name: str, rows: list[object]) -> None:
            written.append((name, len(rows)))
            upsert(client, name, rows)

        monkeypatch.setattr(MilvusClient, "upsert", noted)
        (root / "hub.md").rename(root / "sub hub.md")
        write_files(root, {"sub/hub.md": "# Hub\n\nAnother."})
        index(vault)
        assert vault.keyword_reason() is None
        assert vault.engine is not None
        by_name = {name: [size for each, size in written if each == name] for name, _ in written}
        assert max(by_name["notes"]) <= 4
        assert sum(by_name["notes"]) == len(links) + 2
        vectors = sum(sum(sizes) for name, sizes in by_name.items() if "_" in name)
        assert vectors == 0, "those of the note that moved stay as they are"
