"""Two daemons with one vault each, with and without notes, and random calls of every protocol method."""

import json
import os
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from semantic_here import WorkerHere
from vaultseek.base.model import JSON
from vaultseek.core.indexing.model_source import ModelSource
from vaultseek.daemon.follow import VaultFollower
from vaultseek.daemon.methods import Methods
from vaultseek.daemon.vaults import VaultRegistry
from vaultseek.errors import VaultseekError
from vaultseek.protocol.messages.methods import METHODS
from vaultseek.protocol.wire.context import ClientInfo, RequestContext
from vaultseek.semantic.models.choice import choose_models
from vaultseek.semantic.worker.pool import WorkerPool
from vaultseek.settings.watch import SettingsFile
from vaultseek_server.settings import TokenSettings
from vaultseek_server.team.grants import Grant, token_digest
from worlds import write_files

CHANGED = 1_760_000_000.0
"""Modification time of every file, so that the files of two worlds are alike."""
TOKEN = TokenSettings(
    name="ana", sha256=token_digest("x"), sees=("notes/House",), requests_per_minute=100_000
)
AGENT, USER = ClientInfo(is_agent=True), ClientInfo()
MEMBER = ClientInfo(grant=Grant(TOKEN))
"""A client with a token that sees the folder House."""
ASKED = sorted(METHODS.keys() - {"initialize", "$/cancelRequest"})
"""The methods with handlers."""
_TIMES = {"took_ms", "timings_ms", "milliseconds", "uptime_seconds"}
_WITHOUT_VAULT = tuple(
    name for name, method in METHODS.items() if "vault" not in method.params_type.model_fields
)

SEEN: Mapping[str, str] = {
    "Pump.md": "---\nowner: Ana\n---\n# Pump\nA float switch: #tools. [[Alarm]] [[Diary]]\n[[Ledger]]",
    "Alarm.md": "# Alarm\nIt rings when the [[Pump]] fails: the float switch. #tools\n- [ ] test it\n",
    "House/Boiler.md": "---\naliases: [Kettle]\nowner: Bo\n---\n# Boiler\nDescale it, see [[Pump]]. #house\n",
    "House/Ledger.md": "# Ledger\nWhat the boiler cost. ![[plan.png]]\n",
    "House/Old stove.md": "---\nsuperseded_by: '[[Boiler]]'\n---\n# Old stove\nIt needed wood.\n",
    "House/Stove.md": "---\nsuperseded_by: '[[Heat pump]]'\n---\n# Stove\nLike the [[Old stove]].\n",
    "House/plan.png": "picture",
    "Books.base": "views:\n  - type: table\n    name: all\n",
    "House/Lease.md": "---\nvalid_until: 2020-01-01\n---\n# Lease\nOf the house, with the [[Stove]].\n",
    "Journals.md": "# Journals\nNot of the folder Journal, but [[Boiler]] of the pump.\n",
}
HIDDEN: Mapping[str, str] = {
    "Journal/Diary.md": "---\nowner: Zelda\nmood: low\n---\n"
    "# Diary\nThe float switch xylophone #secret [[Pump]] [[Boiler]]\n",
    "Journal/Pump.md": "# Pump\nThe pump again, a flaot. [[Pump]] [[Alarm]]\n",
    "Journal/Heat pump.md": "---\nsupersedes: '[[Boiler]]'\nsuperseded_by: '[[Old stove]]'\n---\n# Heat\n",
    "Journal/Contract.md": "---\nvalid_until: 2020-01-01\n---\n# Contract\n[[Stove]] and [[Old stove]].\n",
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
    """Return parameters for a method; every protocol method has some."""
    word, note, other = chance.choice(WORDS), chance.choice(NOTES), chance.choice(NOTES)
    calls: dict[str, list[JSON]] = {
        "search": [
            {"query": word, "limit": chance.choice([1, 5, 50]), "explain": True},
            {"query": word, "mode": chance.choice(["keyword", "semantic"]), "passages": 3},
            {"query": word[: chance.randint(1, 8)], "typing": True},
            {"query": word, "settings": {"expansion.enabled": True}},
            {"query": f"{word} {note}", "plain": True},
            {"query": word, "filters": {chance.choice(["tag", "path", "property"]): chance.choice(WORDS)}},
            {"query": word, "wait": True},
        ],
        "search/all": [
            {"query": word},
            {"query": word, "vaults": ["notes"], "limit": 50},
        ],
        "search/context": [
            {"query": word, "tokens": chance.choice([200, 2000])},
        ],
        "search/why": [{"query": word, "note": note}],
        "search/opened": [{"query": word, "note": note, "position": 1}],
        "search/history": [{}],
        "search/forget": [{}, {"what": chance.choice([word, note])}],
        "agents/given": [
            {"tool": "search", "question": word, "tokens": 9, "notes": [{"path": note, "start_line": 1}]},
        ],
        "agents/history": [{}],
        "agents/forget": [{}],
        "note/get": [{"note": note}, {"note": note, "start_line": 2}],
        "note/related": [{"note": note, "limit": 50}],
        "graph/neighbors": [{"note": note, "depth": chance.randint(1, 3)}],
        "graph/overview": [{"nodes": 50}, {"limit": 2}],
        "graph/path": [{"note": note, "other": other}],
        "graph/suggest": [{"note": note}, {}],
        "graph/export": [{}],
        "complete": [
            *({"kind": kind, "text": word[: chance.randint(0, 4)]} for kind in KINDS),
            {"kind": "query", "text": chance.choice(["tag:", "path:", "ext:", "link:", "[", "[mood:"])},
            {"kind": "value", "property": chance.choice(["owner", "mood"])},
            {"kind": chance.choice(["heading", "block"]), "note": note},
            {"text": word[:2], "source": chance.choice(["Pump.md", "House/Boiler.md"]), "missing": True},
        ],
        "links/outgoing": [{"note": note}],
        "links/backlinks": [{"note": note}],
        "links/unresolved": [{}, {"note": note}],
        "links/unlinked": [{"note": note}],
        "links/resolve": [
            {"source": "House/Boiler.md", "links": [{"target": note}, {"target": other}], "similar": True},
        ],
        "links/mentioned": [
            {"source": "House/Boiler.md", "lines": [f"The {word}, {note} and {other}."]},
        ],
        "vault/tags": [{}],
        "vault/properties": [
            {},
            {"name": chance.choice(["owner", "mood"])},
        ],
        "vault/orphans": [{}, {"isolated": True}],
        "vault/duplicates": [{}],
        "vault/table": [
            {"query": word, "columns": ["title", "owner", "file.backlinks", "file.links"]},
            {"query": word, "columns": ["owner"], "group": "owner", "sort": ["-title"]},
            {"file": chance.choice(["Books.base", "Moods.base", "Journal/Moods.base"])},
        ],
        "vault/stale": [{}],
        "vault/problems": [{}, {"note": note}],
        "vault/rename": [
            {"moves": [{"old": note, "new": "House/New.md"}]},
            {"tag": "tools", "to": "kit"},
            {"note": note, "heading": "Pump", "to": "Pumps"},
        ],
        "vault/list": [{}],
        "vault/add": [{"path": "/nowhere"}],
        "vault/remove": [{"vault": "notes"}],
        "vault/pause": [{"vault": "notes"}],
        "vault/resume": [{"vault": "notes"}],
        "index/status": [{}, {"vault": "notes"}],
        "index/refresh": [{}],
        "index/compact": [{}],
        "index/wait": [{}],
        "index/verify": [{}],
        "index/move": [{"to": "local"}],
        "index/texts": [{}],
        "index/vectors": [{}],
        "index/subscribe": [{}],
        "index/unsubscribe": [{}],
        "shutdown": [{}],
        "$/schema": [{}],
    }  # fmt: skip
    return chance.choice(calls[method])


class World:
    """A daemon of one vault, without its process, configured by ``config.toml``."""

    def __init__(self, root: Path, config: Path) -> None:
        self.root, self.config = root, config
        models = ModelSource(choose_models("hashing"), WorkerPool(lambda model: WorkerHere()))
        self.file = SettingsFile(config)
        self.registry = VaultRegistry(self.file.read(), models, lambda follower, paths: None)
        self.handlers = Methods(self.file, self.registry, "").handlers()

    def hide(self, *texts: str) -> None:
        """Write the settings."""
        token = f"name = 'ana'\nsha256 = '{TOKEN.sha256}'\nsees = {json.dumps(TOKEN.sees)}\n"
        self.config.write_text(
            f"[agents]\nhide = {json.dumps(texts)}\n[[vaults]]\nname = 'notes'\npath = '{self.root}'\n"
            f"[team]\naudit = false\n[[team.tokens]]\n{token}requests_per_minute = 100_000\n"
        )

    async def write(self, files: Mapping[str, str | None]) -> None:
        """Write these files, remove those that are None, and index the changes."""
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

    async def seen(self, method: str, params: JSON, client: ClientInfo) -> str:
        """Return the answer to a client, or its error, as text that does not depend on the folder."""
        vault = {} if method in _WITHOUT_VAULT or method == "index/status" else {"vault": "notes"}
        try:
            answer = await self.ask(method, client, **{**vault, **params})
        except VaultseekError as error:
            answer = {"code": error.code, "error": str(error)}
        return json.dumps(without_times(answer), indent=1).replace(str(self.root.parent), "")


def without_times(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {key: without_times(value) for key, value in answer.items() if key not in _TIMES}
    return [without_times(each) for each in answer] if isinstance(answer, list) else answer


async def made_world(folder: Path, files: Mapping[str, str]) -> World:
    """Return a world with these files that hides journals and private notes from agents."""
    root, config = folder / "notes", folder / "config.toml"
    root.mkdir(parents=True, exist_ok=True)
    config.write_text(f"[[vaults]]\nname = 'notes'\npath = '{root}'\n")
    world = World(root, config)
    world.hide("Journal/", "tag:private")
    await world.write(files)
    return world


async def differing(
    first: World, second: World, client: ClientInfo, calls: int, chance: random.Random
) -> list[tuple[str, JSON]]:
    """Make at least this many calls, evenly spread over the methods, and return those answered
    differently."""
    found: list[tuple[str, JSON]] = []
    for _ in range(-(-calls // len(ASKED))):
        for method in ASKED:
            params = call(method, chance)
            if await first.seen(method, params, client) != await second.seen(method, params, client):
                found.append((method, params))
    return found
