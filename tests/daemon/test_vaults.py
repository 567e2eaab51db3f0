"""Which vaults are open, which one a request means, and which are closed again."""

import asyncio
import contextlib
import shutil
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from semantic_here import WorkerHere
from vaultseek.base import paths
from vaultseek.core.indexing.model_source import ModelSource
from vaultseek.daemon import folder_watch, vaults
from vaultseek.daemon.methods import Methods
from vaultseek.daemon.vaults import VaultRegistry
from vaultseek.errors import Unavailable, UsageError, VaultMissing, WorkerUnavailable
from vaultseek.protocol.wire.context import RequestContext
from vaultseek.semantic.models.choice import choose_models
from vaultseek.semantic.worker.pool import WorkerPool
from vaultseek.settings.model import Settings, VaultSettings
from vaultseek.settings.watch import SettingsFile
from worlds import until, write_files


@pytest.fixture
async def registry(tmp_path: Path) -> AsyncIterator[VaultRegistry]:
    """A registry with the configured vault ``kept``, and with ``named``, which a request asked for."""
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
    await registry.close_missing()
    assert names(registry) == ["kept", "named"], "it may come back"
    monkeypatch.setattr(vaults, "MISSING_SECONDS", 0.0)
    await registry.close_missing()
    assert names(registry) == ["kept"]
    assert (index / "ledger.sqlite").exists()
    with pytest.raises(VaultMissing):
        await registry.find(str(tmp_path / "named"), None)


@pytest.mark.parametrize("name", ["kpet", "ke"])
async def test_a_wrong_name_is_answered_with_the_nearest(registry, name):
    with pytest.raises(VaultMissing, match=r"; did you mean kept\? use --vault NAME"):
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
    await registry.close_missing()
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
        going_on.wait(20)
        return settings

    monkeypatch.setattr(file, "changed", read_slowly)
    methods = Methods(file, registry, "").handlers()
    asking = asyncio.create_task(methods["vault/list"]({}, RequestContext()))
    await asyncio.to_thread(reading.wait, 20)
    asking.cancel()
    going_on.set()
    async with asyncio.timeout(20):
        while "new" not in names(registry):
            await asyncio.sleep(0.01)


async def test_no_request_waits_until_another_vault_is_open(registry, tmp_path, monkeypatch):
    (tmp_path / "new").mkdir()
    config = tmp_path / "config.toml"
    config.write_text("")
    file = SettingsFile(config)
    file.read()
    config.write_text(f'[[vaults]]\nname = "new"\npath = "{tmp_path / "new"}"\n')
    going_on, opened = threading.Event(), vaults.OpenVault.open

    def open_slowly(options: Any, *arguments: Any, **more: Any) -> Any:
        if options.name == "new":
            going_on.wait(20)
        return opened(options, *arguments, **more)

    monkeypatch.setattr(vaults.OpenVault, "open", open_slowly)
    list_vaults = Methods(file, registry, "").handlers()["vault/list"]
    async with asyncio.timeout(10):
        answer = await list_vaults({}, RequestContext())
    assert {vault["name"]: vault["state"] for vault in answer["vaults"]}["new"] == "opening"
    going_on.set()
    await until(lambda: "new" in names(registry))


class UnchangedSettings(SettingsFile):
    """Settings that a test has opened the vaults of by itself."""

    def has_changed(self) -> bool:
        return False


async def waiting_for_vectors(registry: VaultRegistry, monkeypatch) -> asyncio.Task[object]:
    """Begin ``index/wait`` for the vault ``kept``, which waits until ``embed`` is what it was."""
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
    with pytest.raises(Unavailable, match="kept is paused; run `vaultseek vault resume kept`") as told:
        await asyncio.wait_for(waiting, 30)
    assert told.value.cause == "paused"


class RunningWorker(WorkerHere):
    """A worker that knows whether it runs, and stores nothing while ``is_full``."""

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
