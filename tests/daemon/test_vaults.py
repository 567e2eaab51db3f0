"""Open vaults: the ones that requests open, select and close."""

import asyncio
import contextlib
import shutil
import threading
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from semantic_here import WorkerHere
from vaultseek.base import paths
from vaultseek.core.indexing.model_source import ModelSource
from vaultseek.core.indexing.storage import LOCAL
from vaultseek.daemon import folder_watch, vaults
from vaultseek.daemon.follow import VaultFollower
from vaultseek.daemon.methods import Methods
from vaultseek.daemon.vaults import VaultRegistry
from vaultseek.errors import Unavailable, UsageError, VaultMissing, WorkerUnavailable, advise
from vaultseek.protocol.wire.context import Handler, RequestContext
from vaultseek.semantic.models.choice import choose_models
from vaultseek.semantic.worker.pool import WorkerPool
from vaultseek.settings.model import Settings, VaultSettings
from vaultseek.settings.watch import SettingsFile
from worlds import until, write_files


@pytest.fixture
async def registry(tmp_path: Path) -> AsyncIterator[VaultRegistry]:
    """A registry with the configured vault ``kept``, and ``named``, which a request opened."""
    for name in ("kept", "named"):
        (tmp_path / name / ".obsidian").mkdir(parents=True)
    settings = Settings(vaults=[VaultSettings(name="kept", path=tmp_path / "kept")])
    models = ModelSource(choose_models("hashing"), WorkerPool(lambda model: WorkerHere()))
    registry = VaultRegistry(settings, models, lambda follower, paths: None)
    await registry.open_configured(settings)
    await registry.find(None, str(tmp_path / "named"))
    yield registry
    await registry.close()


def names(registry: VaultRegistry) -> list[str]:
    return [each.vault.name for each in registry.followers]


async def gone(registry: VaultRegistry, name: str) -> None:
    """Delete the vault's folder and wait until its follower has noticed."""
    found = next(each for each in registry.followers if each.vault.name == name)
    shutil.rmtree(found.vault.options.root)
    await until(found.missing_seconds)


async def test_a_vault_that_only_a_request_named_is_closed_with_its_folder(registry, tmp_path, monkeypatch):
    monkeypatch.setattr(folder_watch, "LIVENESS_SECONDS", 0.02)
    index = paths.vault_data_directory(tmp_path / "named")
    await gone(registry, "named")
    await gone(registry, "kept")
    registry.close_missing()
    assert names(registry) == ["kept", "named"], "it may come back"
    monkeypatch.setattr(vaults, "MISSING_SECONDS", 0.0)
    registry.close_missing()
    assert names(registry) == ["kept"]
    assert (index / "ledger.sqlite").exists()
    with pytest.raises(VaultMissing):
        await registry.find(str(tmp_path / "named"), None)


@pytest.mark.parametrize("name", ["kpet", "ke"])
async def test_a_wrong_name_is_answered_with_the_nearest(registry, name):
    with pytest.raises(VaultMissing, match=r"; did you mean kept\? add one, or choose one \(known: kept"):
        await registry.find(name, None)


@pytest.mark.parametrize("folder", ["/" + "a" * 5000, "/" + "a/" * 3000, "/a\0b", "~nobody-9/x"])
async def test_a_folder_that_no_system_takes_is_no_vault(registry, folder):
    with pytest.raises(VaultMissing):
        await registry.find(folder, None)
    with contextlib.suppress(VaultMissing, UsageError):
        await registry.find(None, folder)


@pytest.mark.parametrize("folder", ["/usr", "/var", "/proc/self", "/boot", "/"])
async def test_folders_of_the_system_are_no_vaults(registry, folder):
    with pytest.raises((UsageError, VaultMissing)):
        await registry.find(folder, None)


async def test_a_folder_that_is_back_is_not_closed(registry, tmp_path, monkeypatch):
    monkeypatch.setattr(folder_watch, "LIVENESS_SECONDS", 0.02)
    monkeypatch.setattr(vaults, "MISSING_SECONDS", 0.0)
    await gone(registry, "named")
    (tmp_path / "named").mkdir()
    registry.close_missing()
    assert names(registry) == ["kept", "named"]


async def test_a_vault_that_a_request_named_gives_its_name_to_a_configured_one(registry, tmp_path):
    other = write_files(tmp_path / "other", {"a.md": "# Pump"})
    configured = [*registry.settings.vaults, VaultSettings(name="Named", path=other)]
    await registry.open_configured(Settings(vaults=configured))
    found = await registry.find_all()
    assert {each.vault.options.root for each in found.values()} == {tmp_path / "kept", other}
    assert (await registry.find(str(tmp_path / "named"), None)).vault.name == "named-2"


async def test_the_choices_are_all_vaults_that_are_known(registry, tmp_path):
    registry.settings = Settings()
    with pytest.raises(UsageError, match="known: kept, named"):
        await registry.find(None, str(tmp_path))


async def test_settings_are_applied_though_who_asked_has_gone(registry, tmp_path, monkeypatch):
    (tmp_path / "new").mkdir()
    config = tmp_path / "config.toml"
    config.write_text("")
    file = SettingsFile(config)
    file.read()
    config.write_text(f'[[vaults]]\nname = "new"\npath = "{tmp_path / "new"}"\n')
    reading, going_on, changed = threading.Event(), threading.Event(), file.changed

    def read_slowly() -> Settings | None:
        settings = changed()
        reading.set()
        going_on.wait(60)
        return settings

    monkeypatch.setattr(file, "changed", read_slowly)
    methods = Methods(file, registry, "").handlers()
    asking = asyncio.create_task(methods["vault/list"]({}, RequestContext()))
    await asyncio.to_thread(reading.wait, 20)
    asking.cancel()
    going_on.set()
    async with asyncio.timeout(60):
        while "new" not in names(registry):
            await asyncio.sleep(0.01)


@dataclass
class Gate:
    """A condition to wait for."""

    reached: threading.Event = field(default_factory=threading.Event)
    is_open: threading.Event = field(default_factory=threading.Event)


@pytest.fixture
async def with_slow(registry, tmp_path, monkeypatch) -> AsyncIterator[tuple[Mapping[str, Handler], Gate]]:
    """The handlers of a daemon with the added vault ``slow``, which opens once the gate is open."""
    gate, opened = Gate(), vaults.OpenVault.open

    def open_slowly(options: Any, *arguments: Any, **more: Any) -> Any:
        if options.name == "slow":
            gate.reached.set()
            gate.is_open.wait(60)
        return opened(options, *arguments, **more)

    monkeypatch.setattr(vaults, "CLOSE_SECONDS", 20.0)
    monkeypatch.setattr(vaults.OpenVault, "open", open_slowly)
    config = tmp_path / "config.toml"
    config.write_text(f'[[vaults]]\nname = "kept"\npath = "{tmp_path / "kept"}"\n')
    file = SettingsFile(config)
    file.read()
    handlers = Methods(file, registry, "").handlers()
    (tmp_path / "slow").mkdir()
    await handlers["vault/add"]({"path": str(tmp_path / "slow")}, RequestContext())
    await asyncio.to_thread(gate.reached.wait, 20)
    yield handlers, gate
    gate.is_open.set()
    await registry.open_configured(registry.settings)


async def answered(handlers: Mapping[str, Handler]) -> dict[str, str]:
    """Return the states of the vaults, after requests that must not wait for any vault."""
    async with asyncio.timeout(60):
        await handlers["search"]({"query": "pump", "vault": "kept"}, RequestContext())
        await handlers["index/status"]({}, RequestContext())
        answer = await handlers["vault/list"]({}, RequestContext())
    return {vault["name"]: vault["state"] for vault in answer["vaults"]}


async def test_no_request_waits_until_another_vault_is_open(registry, with_slow):
    handlers, gate = with_slow
    assert (await answered(handlers))["slow"] == "opening"
    gate.is_open.set()
    await until(lambda: "slow" in names(registry))


@pytest.mark.parametrize("named", [{}, {"vaults": ["kept", "slow"]}])
async def test_a_search_of_several_vaults_leaves_out_one_that_is_still_opened(with_slow, named, monkeypatch):
    monkeypatch.setattr(vaults, "OPENING_SECONDS", 0.1)
    async with asyncio.timeout(60):
        answer = await with_slow[0]["search/all"]({"query": "pump", **named}, RequestContext())
    left_out = [(part["vault"], part["reason"]) for part in answer["partial"] if part["lane"] == "vault"]
    assert [each for each in left_out if "opened" in each[1]] == [
        ("slow", "slow is still being opened; try again in a moment")
    ]


@pytest.mark.parametrize("delete", [False, True])
async def test_no_request_waits_until_another_vault_is_removed(registry, with_slow, tmp_path, delete):
    handlers, gate = with_slow
    call = {"vault": "slow", "delete_index": delete}
    removing = asyncio.create_task(handlers["vault/remove"](call, RequestContext()))
    while "slow" in await answered(handlers):
        await asyncio.sleep(0)
    assert not removing.done()
    gate.is_open.set()
    await removing
    assert names(registry) == ["kept", "named"]
    assert paths.vault_data_directory(tmp_path / "slow").exists() is not delete


async def test_no_request_waits_until_another_vault_is_paused(registry, with_slow):
    handlers, gate = with_slow
    pausing = asyncio.create_task(handlers["vault/pause"]({"vault": "slow"}, RequestContext()))
    while (await answered(handlers))["slow"] != "paused":
        await asyncio.sleep(0)
    assert not pausing.done()
    gate.is_open.set()
    await pausing
    assert (await answered(handlers))["slow"] == "paused"
    assert next(each for each in registry.followers if each.vault.name == "slow").vault.options.paused


async def test_no_request_waits_until_another_vault_is_closed(registry, tmp_path, monkeypatch):
    held, close = asyncio.Event(), VaultFollower.close

    async def close_slowly(follower: VaultFollower) -> None:
        await held.wait()
        await close(follower)

    monkeypatch.setattr(VaultFollower, "close", close_slowly)
    monkeypatch.setattr(vaults, "CLOSE_SECONDS", 20.0)
    monkeypatch.setattr(folder_watch, "LIVENESS_SECONDS", 0.02)
    monkeypatch.setattr(vaults, "MISSING_SECONDS", 0.0)
    handlers = Methods(UnchangedSettings(None), registry, "").handlers()
    await gone(registry, "named")
    assert await answered(handlers) == {"kept": "ready"}
    async with asyncio.timeout(60):
        await (await registry.begin_opening(Settings(), frozenset()))
    assert names(registry) == []
    held.set()


async def test_a_vault_that_is_removed_while_it_is_opened_can_be_added_again(registry, with_slow, tmp_path):
    handlers, gate = with_slow
    removing = asyncio.create_task(handlers["vault/remove"]({"vault": "slow"}, RequestContext()))
    while "slow" in await answered(handlers):
        await asyncio.sleep(0)
    await handlers["vault/add"]({"path": str(tmp_path / "slow")}, RequestContext())
    gate.is_open.set()
    await removing
    found = await registry.find("slow", None)
    assert found.vault.ledger.counts().notes == 0, "it is open"
    assert "slow" in names(registry)


async def test_a_move_to_an_engine_that_no_vault_can_be_opened_with_changes_nothing(
    registry, tmp_path, monkeypatch
):
    opened = vaults.OpenVault.open

    def open_here(options: Any, *arguments: Any, **more: Any) -> Any:
        if options.storage != LOCAL:
            raise Unavailable("the engine has no room")
        return opened(options, *arguments, **more)

    monkeypatch.setattr(vaults.OpenVault, "open", open_here)
    monkeypatch.setattr("vaultseek_server.engines.administration.probe_engine", lambda engine: None)
    config = tmp_path / "config.toml"
    config.write_text(f'[[vaults]]\nname = "kept"\npath = "{tmp_path / "kept"}"\n')
    file = SettingsFile(config)
    before = file.read()
    await registry.open_configured(before)
    move = Methods(file, registry, "").handlers()["index/move"]
    call = {"to": "postgres", "uri": "postgresql://127.0.0.1:1/notes"}
    with pytest.raises(Unavailable, match="so nothing was changed: the engine has no room"):
        await move(call, RequestContext())
    assert file.read().index.engine is None
    await registry.open_configured(registry.settings)  # it is being reopened with the previous engine


class UnchangedSettings(SettingsFile):
    """Settings whose vaults a test opens itself."""

    def has_changed(self) -> bool:
        return False


async def waiting_for_vectors(registry: VaultRegistry, monkeypatch) -> asyncio.Task[object]:
    """Begin ``index/wait`` for the vault ``kept``; it waits until ``embed`` is restored."""
    follower = await registry.find("kept", None)
    (follower.vault.options.root / "a.md").write_text("# Pump")
    held = asyncio.Event()

    async def hold(*_: object, **__: object) -> None:
        held.set()
        raise WorkerUnavailable("it is down")

    monkeypatch.setattr(WorkerHere, "apply", hold)
    wait = Methods(UnchangedSettings(None), registry, "").handlers()["index/wait"]
    waiting = asyncio.create_task(wait({"vault": "kept"}, RequestContext()))
    await held.wait()
    return waiting


@pytest.mark.fault("B5")
async def test_who_waits_for_an_index_goes_on_when_its_ledger_is_replaced(registry, monkeypatch):
    apply = WorkerHere.apply
    waiting = await waiting_for_vectors(registry, monkeypatch)
    before = await registry.find("kept", None)
    ledger = paths.vault_data_directory(before.vault.options.root) / "ledger.sqlite"
    ledger.unlink()
    await registry.heal()
    assert await registry.find("kept", None) is not before
    monkeypatch.setattr(WorkerHere, "apply", apply)
    status = await asyncio.wait_for(waiting, 30)
    assert (status["notes"], status["pending"]) == (1, 0)


async def test_who_waits_for_an_index_is_told_when_the_vault_is_closed(registry, monkeypatch):
    waiting = await waiting_for_vectors(registry, monkeypatch)
    await registry.open_configured(Settings())
    with pytest.raises(Unavailable, match="kept has been closed"):
        await asyncio.wait_for(waiting, 30)


async def test_who_waits_for_an_index_is_told_when_the_vault_is_paused(registry, monkeypatch, tmp_path):
    waiting = await waiting_for_vectors(registry, monkeypatch)
    await registry.open_configured(registry.settings, frozenset({tmp_path / "kept"}))
    with pytest.raises(Unavailable, match="kept is paused; resume it") as told:
        await asyncio.wait_for(waiting, 30)
    assert (told.value.cause, told.value.advice) == ("paused", advise("resume", "kept"))


class RunningWorker(WorkerHere):
    """A worker that reports whether it is running, and stores nothing while ``is_full``."""

    def __init__(self, dimension: int) -> None:
        super().__init__(dimension)
        self.runs = self.is_full = False

    async def start(self) -> None:
        self.runs = True

    async def stop(self) -> None:
        self.runs = False

    async def apply(self, *arguments: Any, **more: Any) -> None:
        if self.is_full and more.get("numbers"):
            raise WorkerUnavailable("it is full")
        await super().apply(*arguments, **more)


async def test_the_worker_of_the_model_before_ends_when_its_vault_is_closed(tmp_path):
    root = write_files(tmp_path / "notes", {"a.md": "# Pump"})
    settings = Settings(vaults=[VaultSettings(name="notes", path=root)])
    workers = {"hashing": RunningWorker(384), "hashing-32": RunningWorker(32)}

    async def opened(model: str) -> VaultRegistry:
        pool = WorkerPool(lambda model: workers[model.name], idle_seconds=0.01)
        registry = VaultRegistry(settings, ModelSource(choose_models(model), pool), lambda *_: None)
        await registry.open_configured(settings)
        return registry

    before = await opened("hashing")
    await until(lambda: before.followers[0].vault.ledger.counts().embedded)
    await before.close()
    workers["hashing"].runs, workers["hashing-32"].is_full = False, True
    registry = await opened("hashing-32")
    await until(lambda: workers["hashing"].runs)
    assert registry.followers[0].vault.embedding.has_previous
    await registry.close_vault(root)
    await until(lambda: not any(worker.runs for worker in workers.values()))
    await registry.close()
