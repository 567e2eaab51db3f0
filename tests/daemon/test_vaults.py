"""Which vaults are open, which one a request means, and which are let go."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from semantic_here import WorkerHere
from vaultseek.daemon import open_vault as keeper
from vaultseek.daemon import vaults as library
from vaultseek.daemon.vaults import Library
from vaultseek.errors import UsageError, VaultMissing
from vaultseek.indexing.embed import Recipe
from vaultseek.models.catalogue import find_model
from vaultseek.settings.model import Settings, VaultSettings


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Library]:
    """A library with the configured vault ``kept``, and with ``named``, which a request asked for."""
    for name in ("kept", "named"):
        (tmp_path / name / ".obsidian").mkdir(parents=True)
    settings = Settings(vaults=[VaultSettings(name="kept", path=tmp_path / "kept")])
    model = find_model("hashing")
    recipe = Recipe(model.fingerprint, model.counter(), model.window)
    made = Library(settings, WorkerHere(), recipe, lambda keeper, paths: None)
    await made.open_configured(settings)
    await made.find(None, str(tmp_path / "named"))
    yield made
    await made.close()


def names(opened: Library) -> list[str]:
    return [each.name for each in opened.keepers]


async def gone(opened: Library, name: str) -> None:
    """Delete the vault's folder and wait until its keeper has noticed."""
    found = next(each for each in opened.keepers if each.name == name)
    shutil.rmtree(found.place.root)
    deadline = time.monotonic() + 30
    while not found.gone_seconds():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


async def test_a_vault_that_only_a_request_named_is_let_go_with_its_folder(opened, tmp_path, monkeypatch):
    monkeypatch.setattr(keeper, "LIVENESS_SECONDS", 0.02)
    index = opened.keepers[1].directory
    await gone(opened, "named")
    await gone(opened, "kept")
    await opened.let_go()
    assert names(opened) == ["kept", "named"], "it may come back"
    monkeypatch.setattr(library, "LET_GO_SECONDS", 0.0)
    await opened.let_go()
    assert names(opened) == ["kept"]
    assert (index / "ledger.sqlite").exists()
    with pytest.raises(VaultMissing):
        await opened.find(str(tmp_path / "named"), None)


async def test_a_folder_that_is_back_is_not_let_go(opened, tmp_path, monkeypatch):
    monkeypatch.setattr(keeper, "LIVENESS_SECONDS", 0.02)
    monkeypatch.setattr(library, "LET_GO_SECONDS", 0.0)
    await gone(opened, "named")
    (tmp_path / "named").mkdir()
    await opened.let_go()
    assert names(opened) == ["kept", "named"]


async def test_the_choices_are_all_vaults_that_are_known(opened, tmp_path):
    opened.settings = Settings()
    with pytest.raises(UsageError, match="one of kept, named, or a folder"):
        await opened.find(None, str(tmp_path))
