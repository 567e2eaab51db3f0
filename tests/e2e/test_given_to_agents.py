"""The record of what agents were given: written, shown, forgotten and turned off, with a real daemon."""

import re
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import Implementation

from vaultseek.base import paths
from vaultseek.base.text import tokens
from vaultseek.client import Client as DaemonClient
from vaultseek.errors import Forbidden

NOTES = {
    "Pump.md": "# Pump\n\nThe float switch starts the pump. See [[Alarm]].\n" + "\nA line more.\n" * 200,
    "Alarm.md": "# Alarm\n\nIt rings when the float switch of the [[Pump]] fails. #tools\n",
    "Journal/Diary.md": "# Diary\n\nThe float switch made me sad.\n",
}
SHELL = (["links", "Alarm"], ["related", "Alarm"], ["table", "float"], ["search", "float switch"], ["tags"])
"""Commands that show the record to the user."""


@asynccontextmanager
async def agent(daemon, root: Path, *options: str):
    """A client of ``vaultseek mcp``, started as an agent's host does."""
    command = ["-m", "vaultseek", "mcp", "--vault", str(root), *options]
    server = StdioServerParameters(command=sys.executable, args=command, env=daemon.environment, cwd=root)
    async with Client(server) as client:
        yield client


def given(daemon, root: Path) -> list[dict]:
    return daemon.json("agents", "--vault", str(root))["given"]


def lines(note: dict) -> tuple:
    return note["path"], note["start_line"], note["end_line"]


@pytest.mark.shared_daemon
@pytest.mark.timeout(120)
async def test_each_answer_of_mcp_is_recorded_with_its_question_notes_lines_and_tokens(daemon, vault):
    root = daemon.indexed(vault(NOTES))
    assert daemon.run("agents", "--vault", str(root)).returncode == 1
    async with agent(daemon, root) as client:
        found = await client.call_tool("search", {"query": "float switch", "limit": 1})
        cut = await client.call_tool("read_note", {"note": "Pump", "max_tokens": 200})
        part = await client.call_tool("read_note", {"note": ["Alarm.md:1-3", "Journal/Diary.md:3-3"]})
        wordings = await client.call_tool("search", {"query": ["float", "switch"], "limit": 2})
        evidence = await client.call_tool("context", {"query": "float switch"})
        links = await client.call_tool("list_links", {"note": "Alarm", "direction": "outgoing"})
        listed = await client.call_tool("list_notes", {"folder": "Journal"})
        await client.call_tool("list_tags", {})
        await client.call_tool("vault_status", {})
        await client.call_tool("read_note", {"note": "nothing of the kind"})
    answers = [found, cut, part, wordings, evidence, links, listed]
    rows = list(reversed(given(daemon, root)))
    assert [(row["tool"], row["question"]) for row in rows] == [
        ("search", "float switch"),
        ("read_note", "Pump"),
        ("read_note", "Alarm.md:1-3 | Journal/Diary.md:3-3"),
        ("search", "float | switch"),
        ("context", "float switch"),
        ("list_links", "Alarm"),
        ("list_notes", "Journal"),
        ("list_tags", ""),
    ]
    for row, answer in zip(rows, answers, strict=False):
        assert row["tokens"] == tokens(answer.content[0].text)
        assert row["notes"]
        assert row["agent"]
    assert len(rows[0]["notes"]) == 1
    (pump,) = rows[1]["notes"]
    assert f":1-{pump['end_line']} of" in cut.content[0].text
    assert pump["end_line"] < 100
    assert [lines(note) for note in rows[2]["notes"]] == [("Alarm.md", 1, 3), ("Journal/Diary.md", 3, 3)]
    assert len(rows[3]["notes"]) == 2
    shown = {line.split(" | ")[0] for line in evidence.content[0].text.splitlines() if line.startswith("- ")}
    assert {f"- {path}:{start}-{end}" for path, start, end in map(lines, rows[4]["notes"])} == shown
    assert [lines(note) for note in rows[5]["notes"]] == [("Alarm.md", 3, 3), ("Pump.md", None, None)]
    assert [lines(note) for note in rows[6]["notes"]] == [("Journal/Diary.md", None, None)]
    page = daemon.run("agents", "--vault", str(root), "-n", "7").stdout
    assert "Alarm.md:1-3" in page
    assert "… and 1 more" in page


@pytest.mark.shared_daemon
@pytest.mark.timeout(120)
@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("way", ["stdio", "http"])
async def test_what_a_host_reads_in_any_way_is_recorded_under_its_name(daemon, vault, way, mode):
    root = daemon.indexed(vault(NOTES))
    who = {"client_info": Implementation(name="Zürich IDE", version="7"), "mode": mode}
    async with connected(daemon, root, way, who) as client:
        await client.call_tool("search", {"query": "float switch"})
        await client.read_resource(f"vaultseek:///{root.name}/Pump.md")
    rows = given(daemon, root)
    assert [(row["tool"], row["agent"]) for row in rows] == [
        ("resource", "Zürich IDE"),
        ("search", "Zürich IDE"),
    ]


@asynccontextmanager
async def connected(daemon, root: Path, way: str, who: dict):
    """A client that gives its name to a server, on standard input and output or on a port."""
    command = [sys.executable, "-m", "vaultseek", "mcp", "--vault", str(root)]
    if way == "stdio":
        server = StdioServerParameters(command=command[0], args=command[1:], env=daemon.environment, cwd=root)
        async with Client(server, **who) as client:
            yield client
        return
    with on_port(command, daemon) as (address, token):
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(address, http_client=http), **who) as client,
        ):
            yield client


@contextmanager
def on_port(command: list[str], daemon):
    """Start a server on a port, and yield its address and token."""
    with subprocess.Popen(
        [*command, "--http", "--port", "0"], env=daemon.environment, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            address = re.search(r"http://127.0.0.1:\d+/mcp", process.stdout.readline())[0]
            token = process.stdout.readline().split("token in ")[1].strip()
            yield address, Path(token).read_text().strip()
        finally:
            process.terminate()


@pytest.mark.timeout(120)
def test_it_is_the_users_to_see_to_forget_and_to_turn_off(daemon, vault):
    root = daemon.indexed(vault(NOTES))
    here = ["--vault", str(root)]
    text = daemon.run("context", "float switch", *here).stdout
    daemon.run("search", "--format", "agent", "rings", *here)
    daemon.run("search", "rings", *here)
    last, first = given(daemon, root)
    assert (last["tool"], last["question"], last["agent"]) == ("search", "rings", "vaultseek.cli")
    assert (first["tool"], first["question"]) == ("context", "float switch")
    assert first["tokens"] >= tokens(text.rstrip("\n"))
    assert "Alarm.md" in {note["path"] for note in first["notes"]}
    with DaemonClient(paths.socket_file(), agent=True) as client:
        for ask in (client.agents, client.forget_agents):
            with pytest.raises(Forbidden, match="not for agents"):
                ask(vault=str(root))
    # A deleted note is no longer named; a renamed one appears under its new name.
    (root / "Journal" / "Diary.md").unlink()
    (root / "Alarm.md").rename(root / "Bell.md")
    for command in ("index", "compact"):
        assert daemon.run(command, *(["--wait"] if command == "index" else []), *here).returncode == 0
    named = {note["path"] for row in given(daemon, root) for note in row["notes"]}
    assert "Bell.md" in named
    assert named <= {"Bell.md", "Pump.md"}
    assert daemon.run("agents", "--off", "--forget", *here).returncode == 2
    assert daemon.run("agents", "--off", *here).returncode == 0
    daemon.run("context", "float switch", *here)
    assert len(given(daemon, root)) == 2
    assert "agents.record is off" in daemon.run("agents", *here).stdout
    assert daemon.json("agents", "--forget", *here)["forgotten"] == 2
    assert given(daemon, root) == []
    daemon.run("agents", "--on", *here)
    daemon.run("context", "float switch", *here)
    assert len(given(daemon, root)) == 1
    daemon.run("search", "--format", "agent", "--tag", "tools", *here)
    assert given(daemon, root)[0]["question"]


@pytest.mark.timeout(120)
def test_it_is_recorded_while_notes_are_hidden_and_only_the_user_can_read_the_file(daemon, vault):
    root = vault({**NOTES, "Journal/Diary.md": "# Diary\n\nThe float switch of [[Alarm]]. #Diary/sad\n"})
    config = paths.config_file()
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f'[[vaults]]\nname = "notes"\npath = "{root}"\n[agents]\nhide = ["Journal/"]\n')
    assert daemon.run("index", "--wait", "--vault", "notes").returncode == 0
    daemon.run("context", "float switch", "--vault", "notes")
    for command in SHELL:
        user, seen = (daemon.run(*command, *way, "--vault", "notes").stdout for way in ([], ["--agent"]))
        assert ("Diary" in user, "Diary" in seen) == (True, False), command
    config.write_text(config.read_text().replace('["Journal/"]', '["Journal/", "tag:privat"]'))
    hides = "Hidden from agents: Journal/ (1 file), tag:privat (0 files)."
    assert daemon.run("agents", "--vault", "notes").stdout.splitlines()[-1] == hides
    assert "no note matches" in daemon.run("read", "Diary", "--agent", "--vault", "notes").stderr
    for form in ("Journal/{}.md", "./Journal/{}.md", "Journal/../Journal/{}.md", f"{root}/Journal/{{}}.md"):
        hidden, missing = (
            daemon.run("read", form.format(name), "--agent", cwd=root) for name in ("Diary", "Dairy")
        )
        assert hidden.stderr == missing.stderr.replace("Dairy", "Diary"), "the disk tells nothing of it"
    listed = [daemon.json("vault", "list", *way)["vaults"][0]["notes"] for way in ([], ["--agent"])]
    assert listed == [3, 2]
    daemon.run("read", "Alarm.md:3-3", "--agent", "--vault", "notes")
    read, row = daemon.json("agents", "--vault", "notes")["given"]
    assert (read["tool"], read["question"]) == ("read", "Alarm.md:3-3")
    assert [lines(note) for note in read["notes"]] == [("Alarm.md", 3, 3)]
    assert {note["path"] for note in row["notes"]} == {"Pump.md", "Alarm.md"}
    ledgers = list(paths.data_directory().rglob("*ledger*"))
    assert ledgers
    assert not any(file.stat().st_mode & 0o077 for file in ledgers)
