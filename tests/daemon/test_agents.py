"""What is hidden from agents: to them, a vault is as it would be without these notes."""

import json
import os
import random
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from semantic_here import WorkerHere
from vaultseek.base.model import JSON
from vaultseek.core.indexing.model_source import ModelSource
from vaultseek.daemon.follow import VaultFollower
from vaultseek.daemon.methods import Methods
from vaultseek.daemon.team.gate import FOR_AGENTS
from vaultseek.daemon.vaults import VaultRegistry
from vaultseek.errors import ConfigError, Forbidden, NotFound, Unavailable, VaultseekError
from vaultseek.protocol.wire.context import ClientInfo, RequestContext
from vaultseek.semantic.models.choice import choose_models
from vaultseek.semantic.worker.pool import WorkerPool
from vaultseek.settings.sections import AgentSettings
from vaultseek.settings.watch import SettingsFile
from worlds import write_files

CHANGED = 1_760_000_000.0
"""The time of every change, so that the files of two worlds are alike."""
AGENT, USER = ClientInfo(is_agent=True), ClientInfo()
TIMES = {"took_ms", "timings_ms", "milliseconds", "uptime_seconds"}
OF_ALL = ("search/all", "vault/list", "index/status", "$/schema")

SEEN: Mapping[str, str] = {
    "Pump.md": "---\nowner: Ana\n---\n# Pump\nA float switch: #tools. [[Alarm]] [[Diary]]\n[[Ledger]]",
    "Alarm.md": "# Alarm\nIt rings when the [[Pump]] fails: the float switch. #tools\n- [ ] test it\n",
    "House/Boiler.md": "---\naliases: [Kettle]\nowner: Bo\n---\n# Boiler\nDescale it, see [[Pump]]. #house\n",
    "House/Ledger.md": "# Ledger\nWhat the boiler cost. ![[plan.png]]\n",
    "House/plan.png": "picture",
    "Books.base": "views:\n  - type: table\n    name: all\n",
    "Journals.md": "# Journals\nNot of the folder Journal, but [[Boiler]] of the pump.\n",
}
HIDDEN: Mapping[str, str] = {
    "Journal/Diary.md": "---\nowner: Zelda\nmood: low\n---\n"
    "# Diary\nThe float switch xylophone #secret [[Pump]] [[Boiler]]\n",
    "Journal/Pump.md": "# Pump\nThe pump again, a flaot. [[Pump]] [[Alarm]]\n",
    "Journal/plan.png": "picture",
    "Journal/Moods.base": "views:\n  - type: table\n    name: moods\n",
    "House/Ledger of debts.md": "# Ledger of debts\nThe boiler, xylophone. #private/money [[Ledger]]\n",
    "Broken.md": "---\ntags: [private\n# Broken\nThe frontmatter is never closed: xylophone float switch.\n",
}
WORDS = (
    "float switch", "pump", "xylophone", "flaot", "boiler", "Diary", "Ledger", "Journal", "secret", "Zelda",
    "mood", "tag:secret", "tag:tools", "tag:private", "path:Journal", "owner:Zelda", "[mood]", "-tag:tools",
    "ext:md", "links-to:Pump", "pump OR xylophone", '"float switch"', "descale", "kettle", "Broken",
)  # fmt: skip
NOTES = (
    "Pump", "Alarm", "Boiler", "Ledger", "Kettle", "Diary", "Journal/Diary.md", "House/Ledger of debts.md",
    "Diry", "Broken", "Journals", "Journal/Pump.md", "nothing",
)  # fmt: skip
KINDS = ("note", "tag", "property", "heading", "block", "file")


def call(method: str, chance: random.Random) -> JSON:
    """Return parameters for a method."""
    word, note, other = chance.choice(WORDS), chance.choice(NOTES), chance.choice(NOTES)
    search = {"query": word, "limit": chance.choice([1, 5, 50])}
    calls: dict[str, list[JSON]] = {
        "search": [
            {**search, "explain": True},
            {**search, "mode": chance.choice(["keyword", "semantic"])},
            {**search, "typing": True},
            {**search, "settings": {"expansion.enabled": True}},
        ],
        "search/all": [search],
        "search/context": [{"query": word, "tokens": chance.choice([200, 2000])}],
        "search/why": [{"query": word, "note": note}],
        "note/get": [{"note": note}],
        "note/related": [{"note": note, "limit": 50}],
        "graph/neighbors": [{"note": note, "depth": 3}],
        "graph/overview": [{"nodes": 50}],
        "graph/path": [{"note": note, "other": other}],
        "graph/suggest": [{"note": note}, {}],
        "complete": [
            *({"kind": kind, "text": word[:4]} for kind in KINDS),
            {"kind": "value", "property": chance.choice(["owner", "mood"])},
            {"kind": "heading", "note": note},
            {"text": word[:2], "source": "Pump.md", "missing": True},
        ],
        "links/outgoing": [{"note": note}],
        "links/backlinks": [{"note": note}],
        "links/unresolved": [{}, {"note": note}],
        "links/unlinked": [{"note": note}],
        "vault/tags": [{}],
        "vault/properties": [{}, {"name": chance.choice(["owner", "mood"])}],
        "vault/orphans": [{}, {"isolated": True}],
        "vault/duplicates": [{}],
        "agents/given": [{"tool": "search", "question": word, "tokens": 9, "notes": [{"path": note}]}],
        "vault/list": [{}],
        "vault/table": [
            {"query": word, "columns": ["title", "owner", "file.backlinks", "file.links"]},
            {"file": chance.choice(["Books.base", "Moods.base", "Journal/Moods.base"])},
        ],
        "index/status": [{}, {"vault": "notes"}],
        "$/schema": [{}],
    }  # fmt: skip
    assert calls.keys() == FOR_AGENTS
    return chance.choice(calls[method])


class World:
    """A daemon of one vault without its process, as ``config.toml`` sets it."""

    def __init__(self, root: Path, config: Path) -> None:
        self.root, self.config = root, config
        models = ModelSource(choose_models("hashing"), WorkerPool(lambda model: WorkerHere()))
        self.file = SettingsFile(config)
        self.registry = VaultRegistry(self.file.read(), models, lambda follower, paths: None)
        self.handlers = Methods(self.file, self.registry, "").handlers()

    def hide(self, *texts: str) -> None:
        """Write the settings."""
        self.config.write_text(
            f"[agents]\nhide = {json.dumps(texts)}\n[[vaults]]\nname = 'notes'\npath = '{self.root}'\n"
        )

    async def write(self, files: Mapping[str, str | None]) -> None:
        """Write these files, remove those that are None, and index them."""
        for path in (path for path, text in files.items() if text is None):
            (self.root / path).unlink()
        write_files(self.root, {path: text for path, text in files.items() if text is not None})
        for folder, _, names in os.walk(self.root):
            for name in names:
                os.utime(Path(folder, name), (CHANGED, CHANGED))
        await self.registry.open_configured(self.file.read())
        follower = await self.registry.find("notes", None)
        assert isinstance(follower, VaultFollower)
        await follower.rescan(accept_loss=True)
        await follower.wait_until_embedded()

    async def ask(self, method: str, client: ClientInfo = AGENT, **params: Any) -> Any:
        """Return the answer."""
        return await self.handlers[method](params, RequestContext(client))

    async def seen(self, method: str, params: JSON) -> str:
        """Return the answer to an agent, or its error, as text that is the same in every folder."""
        try:
            answer = await self.ask(method, **params, **({} if method in OF_ALL else {"vault": "notes"}))
        except VaultseekError as error:
            answer = {"code": error.code, "error": str(error)}
        return json.dumps(without_times(answer), indent=1).replace(str(self.root.parent), "")


def without_times(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {key: without_times(value) for key, value in answer.items() if key not in TIMES}
    return [without_times(each) for each in answer] if isinstance(answer, list) else answer


@pytest.fixture
async def worlds(tmp_path: Path) -> AsyncIterator[tuple[World, World]]:
    """Two worlds: with what is hidden from agents, and without."""
    made = []
    for name, files in (("with", {**SEEN, **HIDDEN}), ("without", SEEN)):
        root, config = tmp_path / name / "notes", tmp_path / name / "config.toml"
        root.mkdir(parents=True, exist_ok=True)
        config.write_text(f"[[vaults]]\nname = 'notes'\npath = '{root}'\n")
        world = World(root, config)
        world.hide("Journal/", "tag:private")
        await world.write(files)
        made.append(world)
    yield made[0], made[1]
    for world in made:
        await world.registry.close()


@pytest.mark.fault("K15")
async def test_no_answer_to_an_agent_tells_of_hidden_notes(worlds):
    with_hidden, without = worlds
    chance = random.Random(55)

    async def compare(times: int) -> None:
        for _ in range(times):
            for method in sorted(FOR_AGENTS):
                params = call(method, chance)
                assert await with_hidden.seen(method, params) == await without.seen(method, params), (
                    method,
                    params,
                )

    await compare(12)
    # Hidden notes change, one is added and one removed; to the agent nothing happens.
    await with_hidden.write({
        "Journal/Diary.md": "---\nowner: Yann\n---\n# Diary\nThe alarm and the pump. #tools [[Ledger]]\n",
        "Journal/Boiler.md": "# Boiler\nfloat switch\n",
        "Journal/Pump.md": None,
    })  # fmt: skip
    await compare(6)
    # A note becomes private: to the agent it is gone.
    await with_hidden.write({"Alarm.md": "# Alarm\nIt rings. #private\n"})
    await without.write({"Alarm.md": None})
    await compare(12)


async def test_the_owner_sees_everything_and_agents_do_unless_something_is_hidden(worlds):
    world, _ = worlds
    found = await world.ask("search", USER, query="xylophone", vault="notes")
    assert "Journal/Diary.md" in {each["path"] for each in found["results"]}
    with pytest.raises(NotFound):
        await world.ask("note/get", note="Diary", vault="notes")
    with pytest.raises(Forbidden, match="hide"):
        await world.ask("search/history", vault="notes")
    for method in ("agents/history", "agents/forget"):
        with pytest.raises(Forbidden, match="not for agents"):
            await world.ask(method, vault="notes")
    world.hide()
    assert (await world.ask("note/get", note="Diary", vault="notes"))["path"] == "Journal/Diary.md"
    world.hide("tag:secret")
    with pytest.raises(NotFound):
        await world.ask("note/get", note="Diary", vault="notes")
    # What is on disk and not indexed yet may be a secret.
    (world.root / "Alarm.md").write_text("# Alarm\nThe code is 4711. #secret\n")
    with pytest.raises((NotFound, Unavailable)):
        await world.ask("note/get", note="Alarm", vault="notes")
    await world.write({"Journal/Diary.md": "# Diary\nNo secret any more.\n"})
    assert (await world.ask("note/get", note="Diary", vault="notes"))["path"] == "Journal/Diary.md"


@pytest.mark.parametrize(
    "hide", ["Journal", "tga:private", "tag:private pump", "", "../x/", "tag:", '"secret"']
)
async def test_what_would_hide_nothing_is_refused_and_agents_see_nothing(worlds, hide):
    with pytest.raises(ValidationError, match="folders as"):
        AgentSettings(hide=(hide,))
    world, _ = worlds
    world.hide(hide)
    for method in ("search", "index/status", "vault/list"):
        with pytest.raises(ConfigError, match=r"agents\.hide"):
            await world.ask(method, **({"query": "pump"} if method == "search" else {}))
