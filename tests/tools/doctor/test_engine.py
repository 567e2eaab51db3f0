"""Looking at an engine before it is used: what is wrong is one line, and nothing is created."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from vaultseek.engines.administration import probe_engine
from vaultseek.errors import ConfigError, Unavailable
from vaultseek.settings.engine import EngineOptions
from vaultseek.tools.doctor.engine import in_words


class Server:
    """Milvus Lite on a port, in this process, with a version of its own choice."""

    def __init__(self, file: Path) -> None:
        import grpc
        from milvus_lite.adapter.grpc.servicer import MilvusServicer
        from milvus_lite.db import MilvusLite
        from pymilvus.grpc_gen import common_pb2, milvus_pb2, milvus_pb2_grpc

        outer = self
        self.version = "v2.5.4"

        class Servicer(MilvusServicer):
            def GetVersion(self, request: Any, context: Any) -> Any:  # noqa: N802
                return milvus_pb2.GetVersionResponse(status=common_pb2.Status(), version=outer.version)

        self._server = grpc.server(ThreadPoolExecutor(2))
        self._database = MilvusLite(str(file))
        milvus_pb2_grpc.add_MilvusServiceServicer_to_server(Servicer(self._database), self._server)
        port = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()
        self.options = EngineOptions(f"http://127.0.0.1:{port}")

    def collections(self) -> list[str]:
        from pymilvus import MilvusClient

        client = MilvusClient(uri=self.options.uri, dedicated=True)
        names: list[str] = client.list_collections()
        client.close()
        return names

    def stop(self) -> None:
        self._server.stop(0).wait()
        self._database.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    pytest.importorskip("milvus_lite", reason="needs the extra: pip install 'vaultseek[milvus]'")
    server = Server(tmp_path_factory.mktemp("milvus") / "engine.db")
    yield server
    server.stop()


def test_a_look_creates_nothing(server, tmp_path):
    assert probe_engine(server.options, {}) == "v2.5.4"
    assert server.collections() == []
    file = tmp_path / "new.db"
    assert probe_engine(EngineOptions(str(file)), {"notes": tmp_path / "notes"}) == "Milvus Lite"
    assert not file.exists()


def test_a_server_that_is_too_old_is_one_line(server, monkeypatch):
    monkeypatch.setattr(server, "version", "v2.3.9")
    with pytest.raises(Unavailable, match=r"v2\.3\.9, too old; use 2\.5 or newer$"):
        probe_engine(server.options, {})


def test_collections_of_others_are_one_line(server):
    from pymilvus import MilvusClient

    from vaultseek.engines.milvus import schema

    name = f"theirs_{schema.VERSION}_notes"
    client = MilvusClient(uri=server.options.uri, dedicated=True)
    client.create_collection(name, dimension=4)
    with pytest.raises(Unavailable, match=rf"{name} .* is not one of vaultseek's.*set index\.collections"):
        probe_engine(replace(server.options, prefix="theirs"), {})
    client.drop_collection(name)
    client.close()


def test_a_file_has_to_be_outside_of_vaults_and_on_a_disk_with_space(server, tmp_path, monkeypatch):
    notes = tmp_path / "notes"
    notes.mkdir()
    (tmp_path / "link").symlink_to(notes)
    for place in (notes / "a.db", tmp_path / "link" / "deep" / "a.db"):
        with pytest.raises(ConfigError, match="inside the vault mine, where nothing is written"):
            probe_engine(EngineOptions(str(place)), {"mine": notes})
    from vaultseek.engines import administration

    monkeypatch.setattr(administration, "LEAST_FREE", 1 << 62)
    with pytest.raises(Unavailable, match=r"the disk of .* is full"):
        probe_engine(EngineOptions(str(tmp_path / "a.db")), {})


def test_numbers_in_words():
    counted = [
        ("notes", 1, 1),
        ("passages", 2000, 2000),
        ("vectors of notes", 3, 2),
        ("second vectors", 5, None),
    ]
    numbers = [{"of": of, "ledger": ledger, "engine": found} for of, ledger, found in counted]
    words = "1 note, 2,000 passages, 2 of 3 vectors of notes, unknown of 5 second vectors"
    assert in_words({"numbers": numbers}) == words
