"""Additions by other packages, and vaultseek without them."""

import subprocess
import sys

from vaultseek import plugins

WITHOUT = "import sys; sys.modules['vaultseek_server'] = None\n"
"""A beginning of programs that makes the package look as if it were not installed."""


def printed(program: str, *arguments: str) -> str:
    command = [sys.executable, "-c", WITHOUT + program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_every_addition_exists():
    ports = sys.modules["vaultseek_server"].ADDS if plugins.names("commands") else {}
    assert len(ports) > 5
    for port in ports:
        assert all(each is not None for each in plugins.load(port).values())


def test_settings_and_commands_are_those_of_one_user_without_a_server():
    program = """
from vaultseek.doors.cli.commands import _COMMANDS
from vaultseek.settings.model import IndexSettings, Settings
print("team" in Settings.model_fields, "uri" in IndexSettings.model_fields, "backend" in _COMMANDS)
"""
    assert printed(program).split() == ["False"] * 3


def test_a_vault_is_indexed_and_found_without_a_server(vault, tmp_path):
    root = vault({"pump.md": "# Pump\n\nA sump pump."})
    program = """
import asyncio, pathlib
from vaultseek.core.indexing.model_source import ModelSource
from vaultseek.daemon.methods import Methods
from vaultseek.daemon.vaults import VaultRegistry
from vaultseek.protocol.wire.context import RequestContext
from vaultseek.semantic.models.choice import choose_models
from vaultseek.semantic.worker import SemanticWorker
from vaultseek.semantic.worker.pool import WorkerPool
from vaultseek.settings.watch import SettingsFile

async def main():
    file = SettingsFile(None)
    models = ModelSource(choose_models("hashing"), WorkerPool(SemanticWorker))
    registry = VaultRegistry(file.read(), models, lambda follower, paths: None)
    handlers = Methods(file, registry, "").handlers()
    asked = {"query": "sump", "vault": sys.argv[1], "mode": "keyword", "wait": True}
    answer = await handlers["search"](asked, RequestContext())
    print([each["path"] for each in answer["results"]], "index/move" in handlers)
    await registry.close()

asyncio.run(main())
"""
    assert printed(program, str(root)).split("\n")[0] == "['pump.md'] False"
