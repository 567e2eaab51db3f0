"""Notes hidden from agents and tokens: to such clients, the vault looks as if the notes did not exist."""

import asyncio
import contextlib
import math
import random
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
from pydantic import ValidationError

from semantic_here import WorkerHere
from two_worlds import AGENT, ASKED, HIDDEN, MEMBER, SEEN, USER, World, call, differing, made_world
from vaultseek.core.graph import suggestions
from vaultseek.daemon.visible.gate import ALLOWED, FOR_AGENTS
from vaultseek.errors import ConfigError, Forbidden, NotFound, Unavailable
from vaultseek.settings.sections import AgentSettings
from worlds import write_files

ALL = {**SEEN, **HIDDEN}
OF_MEMBERS = {path: text for path, text in ALL.items() if path.startswith("House/")}
CALLS = [600, pytest.param(10_000, marks=pytest.mark.long)]


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove a time limit: on a busy machine, answers cut off by it would differ between two equal worlds."""
    monkeypatch.setattr(suggestions, "SUGGEST_SECONDS", math.inf)


@contextlib.asynccontextmanager
async def two(
    folder: Path, seen: Mapping[str, str], every: Mapping[str, str] = ALL
) -> AsyncIterator[tuple[World, World]]:
    """Two worlds: one with the notes in ``every``, one with the notes in ``seen``."""
    worlds = [await made_world(folder / "with", every), await made_world(folder / "without", seen)]
    try:
        yield worlds[0], worlds[1]
    finally:
        for world in worlds:
            await world.registry.close()


@pytest.fixture
async def worlds(tmp_path: Path) -> AsyncIterator[tuple[World, World]]:
    """Two worlds: one with the notes hidden from agents, one without."""
    async with two(tmp_path, dict(SEEN)) as both:
        yield both


@pytest.mark.parametrize(("client", "allowed"), [(AGENT, FOR_AGENTS), (MEMBER, ALLOWED)])
async def test_the_random_calls_are_of_every_method_and_reach_each_that_is_allowed(worlds, client, allowed):
    world, _ = worlds
    assert sorted(world.handlers) == ASKED
    chance = random.Random(57)

    async def is_answered(method: str) -> bool:
        for _ in range(24):
            if '"error"' not in await world.seen(method, call(method, chance), client):
                return True
        return False

    assert {method for method in ASKED if await is_answered(method)} == allowed


@pytest.mark.fault("K15")
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("calls", CALLS)
async def test_no_answer_to_an_agent_tells_of_hidden_notes(worlds, calls):
    with_hidden, without = worlds
    chance = random.Random(55)
    assert await differing(*worlds, AGENT, calls // 2, chance) == []
    # Hidden notes change, one is added and one removed; the agent notices nothing.
    await with_hidden.write({
        "Journal/Diary.md": "---\nowner: Yann\n---\n# Diary\nThe alarm and the pump. #tools [[Ledger]]\n",
        "Journal/Boiler.md": "# Boiler\nfloat switch\n",
        "Journal/Pump.md": None,
    })  # fmt: skip
    assert await differing(*worlds, AGENT, calls // 4, chance) == []
    # A note becomes private: for the agent, it is gone.
    await with_hidden.write({"Alarm.md": "# Alarm\nIt rings. #private\n"})
    await without.write({"Alarm.md": None})
    assert await differing(*worlds, AGENT, calls // 4, chance) == []


@pytest.mark.parametrize("client", [AGENT, USER])
@pytest.mark.parametrize("first", ["Journal/Divorce lawyer.md", "Work/Errands.md"])
async def test_a_copy_with_another_name_is_found_as_in_a_new_index(tmp_path, first, client):
    text = "Ring the office on Tuesday, bring the papers and the old letters.\n"
    files = {"Work/Errands.md": text, "Journal/Divorce lawyer.md": text}
    seen = files if client is USER else {"Work/Errands.md": text}
    async with two(tmp_path, seen, {first: text}) as worlds:
        await worlds[0].write(files)
        for query in ("divorce lawyer", "errands", "office papers"):
            params = {"vault": "notes", "query": query, "mode": "semantic"}
            answers = [await world.ask("search", client, **params) for world in worlds]
            assert answers[0]["results"] == answers[1]["results"], query


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("calls", CALLS)
async def test_no_answer_to_a_token_tells_of_notes_outside_its_folders(tmp_path, calls):
    chance = random.Random(56)
    async with two(tmp_path, OF_MEMBERS) as worlds:
        assert await differing(*worlds, MEMBER, calls // 2, chance) == []
        await worlds[0].write({
            "Alarm.md": "# Alarm\nIt rings, see [[Ledger]]. #house\n",
            "Boiler.md": "# Boiler\nfloat switch\n",
            "Pump.md": None,
        })  # fmt: skip
        assert await differing(*worlds, MEMBER, calls // 2, chance) == []


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
    # A note that is on disk but not indexed yet may be secret.
    (world.root / "Alarm.md").write_text("# Alarm\nThe code is 4711. #secret\n")
    with pytest.raises((NotFound, Unavailable)):
        await world.ask("note/get", note="Alarm", vault="notes")
    await world.write({"Journal/Diary.md": "# Diary\nNo secret any more.\n"})
    assert (await world.ask("note/get", note="Diary", vault="notes"))["path"] == "Journal/Diary.md"


@pytest.mark.parametrize(
    "hide",
    [
        "Journal",
        "tga:private",
        "tag:private pump",
        "",
        "../x/",
        "tag:",
        '"secret"',
        "/zz/",
        "-Journal/",
        "!Journal/",
        "J*/",
        "**/Deep/",
        "Areas/ OR Books/",
    ],
)
async def test_what_would_hide_nothing_is_refused_and_agents_see_nothing(worlds, hide):
    with pytest.raises(ValidationError, match=r"folders as .* entry 2 is neither"):
        AgentSettings(hide=("Diaries/", hide))
    world, _ = worlds
    world.hide(hide)
    for method in ("search", "index/status", "vault/list"):
        with pytest.raises(ConfigError, match=r"agents\.hide") as refused:
            await world.ask(method, **({"query": "pump"} if method == "search" else {}))
        assert "found" not in str(refused.value), "an agent reads it"


def test_an_expression_is_hidden_as_a_filter_of_lines_and_a_refusal_says_so():
    assert AgentSettings(hide=("line:/zanzi.*/",)).hide == ("line:/zanzi.*/",)
    with pytest.raises(ValidationError, match=r'filters as .* "line:/…/"'):
        AgentSettings(hide=("/zanzi.*/",))


async def test_agents_see_when_the_vault_has_been_embedded(tmp_path, monkeypatch):
    """Embedding changes no revision, but answers to agents report the remaining work."""
    world = await made_world(tmp_path, SEEN)
    may_embed = asyncio.Event()

    async def embed(worker: WorkerHere, texts: list[str], **_: object) -> object:
        await may_embed.wait()
        return await at_once(worker, texts)

    at_once = WorkerHere.embed
    monkeypatch.setattr(WorkerHere, "embed", embed)
    write_files(world.root, {"New.md": "# New\nA second float switch.\n"})
    follower = await world.registry.find("notes", None)
    await follower.rescan()
    (before,) = (await world.ask("index/status"))["vaults"]
    searched = await world.ask("search", vault="notes", query="float switch")
    may_embed.set()
    await follower.wait_until_embedded()
    (after,) = (await world.ask("index/status"))["vaults"]
    again = await world.ask("search", vault="notes", query="float switch")
    assert before["pending"]
    assert after["pending"] == 0
    assert after["embedded"] > before["embedded"]
    assert (searched["index"]["pending"] > 0, again["index"]["pending"]) == (True, 0)
    assert searched["index"]["revision"] == again["index"]["revision"]
    await world.registry.close()
