"""A slow, hanging or full engine, while the daemon keeps its ledger: nothing else waits for it."""

import contextlib
import errno
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from postgres_server import PostgresServer, stored
from semantic_here import WorkerHere
from vaultseek.core.indexing.open_vault import OpenVault, VaultOptions
from vaultseek.core.indexing.unembedded import EmbeddingSpec
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.daemon.follow import VaultFollower
from vaultseek.semantic.models.catalogue import find_model
from vaultseek.settings.search import SearchSettings
from vaultseek_server.daemon import heartbeat as heartbeat_module
from vaultseek_server.daemon.hosting import Indexer
from vaultseek_server.engines import engine as engine_module
from vaultseek_server.engines.postgres import server as server_module
from vaultseek_server.engines.postgres.backend import PostgresBackend
from vaultseek_server.engines.storage import IndexedStorage
from vaultseek_server.settings import EngineOptions
from vaultseek_server.team.metrics import Metrics
from worlds import until, write_files

pytestmark = pytest.mark.slow
NOTES = {"pumps.md": "# Pumps\n\nThe sump pump.", "garden.md": "# Garden\n\nRoses."}


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """While set, the engine accepts notes and never answers."""
    frozen, thawed = threading.Event(), threading.Event()
    replace = PostgresBackend.replace

    def replace_when_thawed(backend: PostgresBackend, *what: Any) -> None:
        while frozen.is_set():
            thawed.wait(0.02)
        replace(backend, *what)

    monkeypatch.setattr(PostgresBackend, "replace", replace_when_thawed)
    monkeypatch.setattr(server_module, "PAUSE_SECONDS", 0.0)
    yield frozen
    frozen.clear()


@pytest.fixture
async def follow(tmp_path: Path, server: PostgresServer) -> AsyncIterator[Callable[..., VaultFollower]]:
    followers: list[VaultFollower] = []
    root = write_files(tmp_path / "vault", NOTES)
    model = find_model("hashing")
    spec = EmbeddingSpec(model.fingerprint, model.counter(), model.window)

    def start(seconds: float = 30.0) -> VaultFollower:
        engine = EngineOptions(server.uri, tmp_path.name, seconds=seconds)
        options = VaultOptions("vault", root, storage=IndexedStorage(engine))
        opened = OpenVault.open(options, tmp_path / "index", WorkerHere(), spec)
        follower = VaultFollower(opened, WorkerHere(), lambda follower, paths: None, hosting=Indexer())  # type: ignore[arg-type]
        followers.append(follower)
        followers[-1].start()
        return followers[-1]

    yield start
    await followers[-1].close()


async def paths_of(follower: VaultFollower, query: str) -> list[str]:
    request = SearchRequest(query, SearchSettings(), mode="keyword")
    trace = await Searcher(follower.vault).run(request)
    return [candidate.note for candidate in trace.results]


async def test_an_engine_that_hangs_holds_up_neither_the_ledger_nor_the_end(
    follow, frozen, tmp_path, monkeypatch
):
    monkeypatch.setattr(engine_module, "SLOW_SECONDS", 0.2)
    follower = follow()
    await follower.rescan()
    await follower.wait_until_embedded()
    assert await paths_of(follower, "sump") == ["pumps.md"]

    frozen.set()
    for number in range(3):
        write_files(tmp_path / "vault", {f"lamp {number}.md": f"# Lamp {number}\n\nA lighthouse."})
        await until(lambda: follower.vault.ledger.counts().notes == 3 + number)  # noqa: B023
    await until(follower.vault.keyword_reason)
    assert "writing to the engine has taken" in follower.vault.keyword_reason().text
    assert not follower.status().as_json()["lanes"]["keyword"]["up"]
    assert len(await paths_of(follower, "path:lamp")) == 3
    await follower.rescan()  # everything is read, and the engine reports why it is behind

    frozen.clear()
    await until(lambda: follower.vault.keyword_reason() is None)
    await follower.wait_until_embedded()
    assert len(await paths_of(follower, "lighthouse")) == 3

    frozen.set()
    write_files(tmp_path / "vault", {"late.md": "# Late\n\nA lighthouse."})
    await until(lambda: follower.vault.ledger.counts().notes == 6)
    await follower.close()
    assert frozen.is_set(), "nobody waited for the engine"
    frozen.clear()

    follower = follow()
    await follower.rescan()
    await follower.wait_until_embedded()
    assert len(await paths_of(follower, "lighthouse")) == 4
    notes, _, vectors = stored(follower.vault.engine.backend)
    assert (notes, set(vectors.values())) == (6, {6})


async def test_a_full_disk_of_an_engine_is_the_state_of_the_vault_until_there_is_room(
    follow, tmp_path, monkeypatch
):
    follower = follow()
    await follower.rescan()
    full = OSError(errno.ENOSPC, "No space left on device")

    def refuse(*_: object) -> None:
        raise full

    with monkeypatch.context() as during:
        during.setattr(PostgresBackend, "replace", refuse)
        write_files(tmp_path / "vault", {"lamp.md": "# Lamp\n\nA lighthouse."})
        await until(lambda: follower.state == "disk_full")
        assert "the disk is full" in follower.vault.keyword_reason().text
        with contextlib.suppress(Exception):
            await follower.rescan()
    await until(lambda: follower.state == "ready")
    await until(lambda: follower.vault.keyword_reason() is None)
    await until(lambda: follower.vault.engine.is_synced)
    assert await paths_of(follower, "lighthouse") == ["lamp.md"]


async def test_the_lanes_of_an_engine_that_is_away_are_down_until_it_answers(follow, server, monkeypatch):
    """Nobody searches; monitors are notified anyway."""
    for interval in ("BEAT_SECONDS", "CHECK_SECONDS"):
        monkeypatch.setattr(heartbeat_module, interval, 0.05)
    follower = follow(seconds=1.0)
    await follower.rescan()
    await follower.wait_until_embedded()

    def lanes() -> dict[str, Any]:
        return follower.status().as_json()["lanes"]

    def metrics() -> tuple[bool, Any]:
        vault = follower.status().as_json()
        up = {name: lane["up"] for name, lane in vault["lanes"].items()}
        return Metrics(lambda: [{"name": "vault", "state": vault["state"], "lanes": up}]).health()

    await until(lambda: metrics()[0])
    for break_, mend in ((server.freeze, server.thaw), (server.stop, server.start)):
        break_()
        await until(lambda: not lanes()["keyword"]["up"])
        assert not lanes()["semantic"]["up"]
        assert lanes()["graph"]["up"]
        assert "does not answer" in lanes()["keyword"]["reason"]
        healthy, state = metrics()
        assert not healthy
        assert state["status"] == "degraded"
        mend()
        await until(lambda: metrics()[0] and lanes()["semantic"]["up"])
