"""A searcher over several shards: one is missing, one is behind, and some must be forgotten."""

import asyncio
import contextlib
import json
import re
import resource
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from postgres_server import PostgresServer
from semantic_here import WorkerHere
from team_calls import CALLS, HIDDEN, OF_ALL, WIKI
from vaultseek.base import paths
from vaultseek.base.model import Reason
from vaultseek.core.indexing.model_source import ModelSource
from vaultseek.core.indexing.open_vault import OpenVault, VaultOptions
from vaultseek.core.indexing.unembedded import EmbeddingSpec
from vaultseek.core.library import index_vault
from vaultseek.daemon.main import OPEN_FILES, raise_file_limit
from vaultseek.daemon.methods import Methods
from vaultseek.daemon.vaults import VaultRegistry
from vaultseek.daemon.visible.gate import ALLOWED
from vaultseek.doors.cli.status_page import page
from vaultseek.doors.cli.terminal import Terminal
from vaultseek.errors import Unavailable, UsageError, VaultMissing, VaultseekError
from vaultseek.protocol.wire.context import ClientInfo, RequestContext
from vaultseek.semantic.models.choice import choose_models
from vaultseek.semantic.worker.pool import WorkerPool
from vaultseek.settings.model import IndexSettings, Settings, VaultSettings
from vaultseek.settings.watch import SettingsFile
from vaultseek_server.daemon import hosting, source
from vaultseek_server.daemon.shards import with_shards
from vaultseek_server.engines.administration import shard_of
from vaultseek_server.engines.heartbeat import STOPPED, Heartbeat
from vaultseek_server.engines.postgres import server as server_module
from vaultseek_server.engines.postgres.backend import PostgresBackend
from vaultseek_server.engines.storage import IndexedStorage
from vaultseek_server.settings import TeamSettings, TokenSettings
from vaultseek_server.team.grants import Grant
from worlds import until, write_files

pytestmark = pytest.mark.slow
NAMES = ("boats", "garden", "wiki")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "REFRESH_SECONDS", 0.05)
    monkeypatch.setattr(server_module, "PAUSE_SECONDS", 0.0)


@pytest.fixture(scope="module")
def settings(server: PostgresServer) -> Settings:
    return Settings(index=IndexSettings(backend="postgres", uri=server.uri, seconds=20.0))


@pytest.fixture
def indexers(tmp_path: Path, settings: Settings) -> Iterator[dict[str, OpenVault]]:
    """The vaults of the indexers, opened as in their daemons, each with a note about a pump."""
    spec = EmbeddingSpec(choose_models("hashing").main.fingerprint, lambda text: len(text) // 4 + 1, 254)
    with contextlib.ExitStack() as closing:
        vaults = {}
        for name in NAMES:
            root = write_files(tmp_path / name, {f"{name}.md": f"# Pump\n\nThe pump of the {name}."})
            options = VaultOptions(name, root, storage=IndexedStorage(settings.index.engine))
            vault = OpenVault.open(options, tmp_path / f"index of {name}", WorkerHere(), spec)
            vaults[name] = closing.enter_context(contextlib.closing(vault))
            asyncio.run(index_vault(vault))
            say(vault, "ready")
        yield vaults
        for vault in vaults.values():
            vault.engine.backend.delete()


def say(vault: OpenVault, state: str, reason: Reason | None = None) -> None:
    """Send searchers what a vault's indexer would send."""
    vault.engine.publish(Heartbeat("far", state, 0.0, reason))


class Searcher:
    """The methods of a searcher's daemon, called directly."""

    def __init__(self, registry: VaultRegistry) -> None:
        self.registry = registry
        self._handlers = Methods(SettingsFile(None), registry, "").handlers()

    async def call(self, method: str, **params: Any) -> Any:
        return await self._handlers[method](params, RequestContext())

    async def look(self) -> None:
        """Look for shards and copy the changes in each, as the daemon does periodically."""
        await self.registry.list_again()
        for follower in self.registry.followers:
            await follower.rescan()

    async def partial(self, query: str = "pump") -> tuple[set[str], dict[str, str]]:
        """Return the vaults whose notes a search of all shards finds, and the search's report on each
        shard."""
        answer = await self.call("search/all", query=query, mode="keyword")
        found = {Path(each["path"]).stem for each in answer["results"]}
        return found, {each["vault"]: each["reason"] for each in answer["partial"]}


@pytest.fixture
async def searcher(settings: Settings, indexers: dict[str, OpenVault]) -> AsyncIterator[Searcher]:
    models = ModelSource(choose_models("hashing"), WorkerPool(lambda model: WorkerHere()))
    registry = VaultRegistry(settings, models, lambda follower, paths: None, hosting.Searcher())
    searcher = Searcher(registry)
    await searcher.look()
    yield searcher
    await registry.close()


async def test_each_shard_that_is_missing_or_behind_is_named(searcher, indexers, server):
    assert await searcher.partial() == (set(NAMES), {})
    await asyncio.to_thread(indexers["boats"].engine.backend.empty)
    being_read = Reason("being_read", "40 of 90 notes have not been read yet")
    await asyncio.to_thread(say, indexers["garden"], "indexing", being_read)
    await searcher.look()
    found, partial = await searcher.partial()
    assert {"garden", "wiki"} <= found
    assert partial.keys() == {"boats", "garden"}
    assert "the vault's shard is missing: the engine has no shard boats-" in partial["boats"]
    assert partial["garden"].startswith("the indexer on far reports: 40 of 90 notes have not been read yet")

    await asyncio.to_thread(server.stop)
    try:
        await searcher.look()
        with pytest.raises(Unavailable, match="does not answer"):
            await searcher.partial()
        statuses = (await searcher.call("index/status"))["vaults"]
        assert all(each["reason"].endswith("does not answer") for each in statuses)
        assert not any("missing" in each["reason"] for each in statuses)
    finally:
        await asyncio.to_thread(server.start)
    for name in ("boats", "garden"):
        await asyncio.to_thread(go_on, indexers[name])
    await searcher.look()
    await searcher.look()
    assert await searcher.partial() == (set(NAMES), {})


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["Mein Ordner, 日本 & Co."], ["Mein Ordner, 日本 & Co."]),
        (["Wiki", "wIKI"], [r"Wiki-[0-9a-f]{12}", r"wIKI-[0-9a-f]{12}"]),
        (
            ["../x", "", ".", "a\x1b[1m", "x" * 300],
            [r"a-1m-\w+", "vault", r"vault-\w+", "x{300}", r"x-\w+"],
        ),
    ],
)
async def test_a_searcher_has_the_names_of_the_indexers(settings, tmp_path, names, shown):
    with contextlib.ExitStack() as closing:
        for number, name in enumerate(names):
            root = write_files(tmp_path / str(number), {"a.md": "# A"})
            options = VaultOptions(name, root, storage=IndexedStorage(settings.index.engine))
            spec = EmbeddingSpec("test", len, 254)
            vault = OpenVault.open(options, tmp_path / f"index {number}", WorkerHere(), spec)
            closing.enter_context(contextlib.closing(vault))
            await index_vault(vault)
            closing.callback(vault.engine.backend.delete)
        found, _ = await asyncio.to_thread(with_shards, settings)
        assert len(found.vaults) == len(names)
        for pattern in shown:
            assert any(re.fullmatch(pattern, vault.name) for vault in found.vaults), pattern


async def test_a_searcher_that_the_engine_refuses_says_why(settings):
    refused = settings.index.uri.replace("vaultseek@", "nobody@")
    settings = settings.model_copy(
        update={"index": IndexSettings(backend="postgres", uri=refused, seconds=20.0)}
    )
    models = ModelSource(choose_models("hashing"), WorkerPool(lambda model: WorkerHere()))
    registry = VaultRegistry(settings, models, lambda follower, paths: None, hosting.Searcher())
    searcher = Searcher(registry)
    await searcher.look()
    for method in ("search", "search/all"):
        with pytest.raises(Unavailable, match='refuses the connection: role "nobody" does not exist'):
            await searcher.call(method, query="pump")
    status = await searcher.call("index/status")
    assert 'role "nobody"' in status["daemon"]["shards_problem"]
    assert "no vault is open; PostgreSQL at" in page(status, Terminal(), now=0.0)
    await registry.close()


def test_the_daemon_may_open_the_files_of_many_shards():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(512, soft), hard))
        raise_file_limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == min(OPEN_FILES, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def go_on(vault: OpenVault) -> None:
    """Do an indexer's periodic work: its connection is lost, then the engine is a different one."""
    for _ in range(3):
        with contextlib.suppress(Unavailable):
            say(vault, "ready")
        vault.indexer.sync_again()
    asyncio.run(index_vault(vault))
    say(vault, "ready")


async def embed(vault: OpenVault) -> None:
    while await vault.embedding.step():
        pass


async def test_a_shard_whose_vectors_come_later_is_searched_by_meaning_then(searcher, settings, tmp_path):
    async def find() -> tuple[list[str], list[str]]:
        try:
            answer = await searcher.call("search", query="pump", vault="late", mode="semantic")
        except Unavailable:
            return [], []
        return [each["path"] for each in answer["results"]], [each["reason"] for each in answer["partial"]]

    async def counts() -> tuple[int, int, int]:
        statuses = (await searcher.call("index/status", vault="late"))["vaults"]
        return next((each["chunks"], each["embedded"], each["pending"]) for each in statuses)

    async def wait_for_vectors() -> None:
        while not (await find())[0]:
            await asyncio.sleep(0.02)

    spec = EmbeddingSpec(choose_models("hashing").main.fingerprint, lambda text: len(text) // 4 + 1, 254)
    root = write_files(tmp_path / "late", {f"{n}.md": f"# Pump {n}\n\nThe pump." for n in range(40)})
    options = VaultOptions("late", root, storage=IndexedStorage(settings.index.engine))
    with contextlib.closing(OpenVault.open(options, tmp_path / "index", WorkerHere(), spec)) as vault:
        await asyncio.to_thread(lambda: vault.indexer.apply(vault.indexer.reconcile()))
        await searcher.look()
        late = next(each for each in searcher.registry.followers if each.vault.name == "late")
        for _ in range(10):
            await find()
            await late.vault.embedding.discard_store("the vectors are gone")
            await asyncio.sleep(0.05)
        assert await counts() == (40, 0, 80)
        await vault.embedding.open()
        await late.rescan()
        assert await counts() == (40, 0, 80)
        await embed(vault)
        async with asyncio.timeout(60):
            await wait_for_vectors()
            while await counts() != (40, 40, 0):
                await asyncio.sleep(0.02)
        assert (await find())[1] == []
        await asyncio.to_thread(vault.engine.backend.delete)


async def test_a_searcher_has_no_folders(searcher, tmp_path):
    folder = write_files(tmp_path / "folder", {".obsidian/app.json": "{}", "a.md": "# A pump"})
    for method in ("vault/add", "vault/pause", "vault/resume"):
        named = {"path": str(folder)} if method == "vault/add" else {"vault": "wiki"}
        with pytest.raises(UsageError, match="run the command where the vault is indexed"):
            await searcher.call(method, **named)
    with pytest.raises(UsageError, match=r"has no folders, .*; choose one \(known: boats, garden, wiki\)$"):
        await searcher.call("search", query="pump", vault=str(folder))
    with pytest.raises(UsageError, match="which vault"):
        await searcher.call("search", query="pump", cwd=str(folder))
    assert [each["name"] for each in (await searcher.call("vault/list"))["vaults"]] == list(NAMES)


async def test_what_could_not_be_loaded_is_loaded_at_the_next_refresh(searcher, indexers, monkeypatch):
    garden = next(each for each in searcher.registry.followers if each.vault.name == "garden")
    write_files(indexers["garden"].options.root, {"rose.md": "# Rose"})
    with monkeypatch.context() as patch:
        load = Mock(side_effect=Unavailable("the server is away"))
        patch.setattr(garden.vault.indexer, "load", load)
        await index_vault(indexers["garden"])
        await until(lambda: load.called)
    await garden.rescan()
    assert garden.vault.indexer.names.resolve("rose", "garden.md").path == "rose.md"
    assert garden.vault.activity.last_change is not None


async def test_settings_that_change_while_shards_are_listed_stay(searcher, monkeypatch):
    """For example, a withdrawn token does not become valid again."""
    registry, listings = searcher.registry, 0
    gates = threading.Event(), threading.Event()
    new = registry.settings.model_copy(update={"team": TeamSettings(listen="127.0.0.1:1")})

    def slowly(settings: Settings) -> Any:
        nonlocal listings
        listings += 1
        if listings <= len(gates):
            gates[listings - 1].wait(20)
        return with_shards(settings)

    monkeypatch.setattr(hosting, "SHARD_SECONDS", 0.0)
    monkeypatch.setattr(hosting, "with_shards", slowly)
    changing = asyncio.create_task(registry.open_configured(new))
    await until(lambda: listings)
    following = asyncio.create_task(registry.hosting.follow(registry.list_again))
    for _ in range(10):
        await asyncio.sleep(0)
    gates[0].set()
    await changing
    gates[1].set()
    await until(lambda: listings > 2)  # so the second one is finished
    following.cancel()
    assert registry.settings.team == new.team


async def test_a_shard_that_is_gone_for_good_is_forgotten(searcher, indexers):
    boats = next(each for each in searcher.registry.followers if each.vault.name == "boats")
    copy = paths.vault_data_directory(boats.vault.options.root)
    with pytest.raises(
        UsageError, match="the engine still has boats; remove the vault where its indexer runs"
    ):
        await searcher.call("vault/remove", vault="boats")
    with pytest.raises(UsageError, match="an indexer still has boats"):
        await searcher.call("vault/remove", vault="boats", delete_index=True)
    with pytest.raises(VaultMissing):
        await searcher.call("vault/remove", vault="no such")
    await asyncio.to_thread(indexers["boats"].engine.backend.empty)
    await searcher.look()
    assert "boats" in (await searcher.partial())[1]
    answer = await searcher.call("vault/remove", vault="boats")
    assert answer["index_deleted"]
    assert not copy.exists()
    await searcher.look()
    assert await searcher.partial() == ({"garden", "wiki"}, {})

    # A vault in the engine whose indexer has stopped for good.
    await asyncio.to_thread(say, indexers["garden"], STOPPED)
    await searcher.look()
    await searcher.call("vault/remove", vault="garden", delete_index=True)
    await searcher.look()
    assert await searcher.partial() == ({"wiki"}, {})
    assert await asyncio.to_thread(indexers["garden"].engine.backend.position) is None


async def test_an_index_that_is_deleted_is_deleted_from_the_engine(settings, server, tmp_path, monkeypatch):
    engine = settings.index.engine
    monkeypatch.setenv("VAULTSEEK_INDEX__BACKEND", "postgres")
    monkeypatch.setenv("VAULTSEEK_INDEX__URI", engine.uri)
    root = write_files(tmp_path / "vault", {"a.md": "# A pump"})
    models = ModelSource(choose_models("hashing"), WorkerPool(lambda model: WorkerHere()))
    file = SettingsFile(None)
    registry = VaultRegistry(file.read(), models, lambda follower, paths: None)
    handlers = Methods(file, registry, "").handlers()
    await handlers["vault/add"]({"path": str(root), "name": "vault"}, RequestContext())
    follower = await registry.find("vault", None)
    await follower.rescan()
    shard = shard_of(paths.vault_data_directory(root))
    with contextlib.closing(PostgresBackend(replace(engine, shard=shard))) as backend:
        assert (await asyncio.to_thread(backend.words.stored))[0] == 1
        remove = {"vault": "vault", "delete_index": True}
        await asyncio.to_thread(server.stop)
        try:
            with pytest.raises(Unavailable, match="nothing was removed"):
                await handlers["vault/remove"](remove, RequestContext())
        finally:
            await asyncio.to_thread(server.start)
        assert paths.vault_data_directory(root).exists()
        await handlers["vault/remove"](remove, RequestContext())
        await registry.close()  # waits until it is done
        assert not paths.vault_data_directory(root).exists()
        assert await asyncio.to_thread(backend.position) is None


class Team:
    """The methods of two daemons for one token: one that indexes a vault, and a searcher of its shard."""

    def __init__(self, grant: Grant, **registries: VaultRegistry) -> None:
        self._client = ClientInfo(grant=grant)
        self._handlers = {
            role: Methods(SettingsFile(None), registry, "").handlers()
            for role, registry in registries.items()
        }

    async def ask(self, role: str, method: str, params: dict[str, Any]) -> Any:
        """Return the answer, or the name of the error."""
        try:
            answer = await self._handlers[role][method](dict(params), RequestContext(self._client))
        except VaultseekError as error:
            return type(error).__name__
        return answer


_OF_DAEMON = frozenset(
    {
        *("took_ms", "timings_ms", "milliseconds", "eta_seconds", "rate", "last_change", "daemon", "state"),
        *("obsidian_url", "vault_path", "index", "lanes", "from", "models"),
    }
)
"""Parts of an answer that differ between the two daemons."""
_OF_FILES = {"note/get": {"text", "from_index"}, "vault/list": {"path"}, "index/status": {"path"}}
"""Parts that differ because a searcher has no files: the frontmatter and the folder's path."""


def without(value: Any, names: frozenset[str]) -> Any:
    """Return a value without the parts of these names; numbers that differ only by rounding become equal."""
    if isinstance(value, dict):
        return {key: without(part, names) for key, part in value.items() if key not in names}
    if isinstance(value, list):
        return [without(part, names) for part in value]
    return round(value, 5) if isinstance(value, float) else value


@contextlib.asynccontextmanager
async def indexer_and_searcher(settings: Settings, root: Path, token: TokenSettings) -> AsyncIterator[Team]:
    models = ModelSource(choose_models("hashing"), WorkerPool(lambda model: WorkerHere()))
    settings = settings.model_copy(update={"team": TeamSettings(tokens=(token,), audit=False)})
    of_indexer = settings.model_copy(update={"vaults": (VaultSettings(name="wiki", path=root),)})
    registries = {
        role: VaultRegistry(each, models, lambda follower, paths: None, hosting.hosting(each, role))
        for role, each in (("all", of_indexer), ("search", settings))
    }
    async with contextlib.AsyncExitStack() as closing:
        for role, registry in registries.items():
            closing.push_async_callback(registry.close)
            await registry.open_configured(registry.settings)
            for follower in registry.followers:
                await follower.rescan()
                await follower.wait_until_embedded()
            if role == "all":
                vault = registry.followers[0].vault
                await asyncio.to_thread(say, vault, "ready")
                closing.push_async_callback(asyncio.to_thread, vault.engine.backend.delete)
        yield Team(Grant(token), **registries)


async def test_a_token_gets_the_same_from_a_searcher_as_from_the_indexer(settings, tmp_path):
    assert CALLS.keys() == ALLOWED
    root = write_files(tmp_path / "wiki", WIKI)
    token = TokenSettings(name="anna", sha256="0" * 64, sees=("wiki/Handbook",))
    answered = 0
    async with indexer_and_searcher(settings, root, token) as team:
        for method, calls in (CALLS | MORE_CALLS).items():
            for params in [*CALLS.get(method, ()), *calls]:
                asked = params if method in OF_ALL else {**params, "vault": "wiki"}
                mine, theirs = await team.ask("search", method, asked), await team.ask("all", method, asked)
                own = _OF_DAEMON | _OF_FILES.get(method, set())
                assert without(mine, own) == without(theirs, own), (method, params)
                answered += isinstance(mine, dict)
                for part in ("query", "interpreted", "remarks", "explain"):
                    mine = without(mine, frozenset({part}))
                for word in HIDDEN:
                    assert word.lower() not in json.dumps(mine).lower(), (method, params, word)
    assert answered > len(ALLOWED)


MORE_CALLS: dict[str, list[dict[str, Any]]] = {
    "note/get": [{"note": note} for note in ("Salaries", "HR/Salaries.md", "Near", "../HR/Salaries.md")],
    "note/related": [{"note": "Near"}],
    "search/why": [{"query": "float switch", "note": "Near"}],
    "search": [
        {"query": query}
        for query in (
            "links-to:[[Salaries]]",
            "linked-from:[[Salaries]]",
            "folder:HR",
            "xylo*",
            "flaot",
            "flaot tag:tools",
            "/xyl.*ne/",
            "-tag:tools",
            "owner:*",
            "zelad",
            '"float switch xylophone"',
        )
    ],
    "complete": [{"text": text, "kind": "note"} for text in ("Sal", "Nea", "H")]
    + [{"kind": "tag", "text": "hid"}, {"kind": "value", "property": "owner", "text": "Z"}],
    "graph/neighbors": [{"note": "Salaries"}],
    "links/backlinks": [{"note": "Near"}],
}
