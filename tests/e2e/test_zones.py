"""One daemon with clients in several time zones: each sees and filters by its local days."""

import os
import sys
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest
from mcp import Client, StdioServerParameters

from vaultseek.base.zone import machine_zone

LATE = datetime(2026, 3, 15, 23, 30, tzinfo=UTC).timestamp()
LATER = datetime(2026, 4, 1, 12, tzinfo=UTC).timestamp()
NOTES = {
    "2026-03-16.md": "# Day\n\nThe pump stopped.\n",
    "Stated.md": "---\ncreated: 2026-03-16\n---\n\nThe pump stopped.\n",
    "Local.md": "---\ncreated: 2026-03-16T00:30\n---\n\nThe pump stopped.\n",
    "Moment.md": "---\ncreated: 2026-03-15T23:30:00Z\n---\n\nThe pump stopped.\n",
    "Plain.md": "The pump stopped.\n",
}
TIMES = dict.fromkeys(NOTES, LATER) | {"Plain.md": LATE}
WRITTEN = ["2026-03-16.md", "Local.md", "Stated.md"]
"""Notes with a date but no time zone."""
ZONES = {
    "Pacific/Kiritimati": ("2026-03-16", "2026-03-16T13:30:00+14:00", "2026-04-02"),
    "Europe/Berlin": ("2026-03-16", "2026-03-16T00:30:00+01:00", "2026-04-01"),
    "America/Los_Angeles": ("2026-03-15", "2026-03-15T16:30:00-07:00", "2026-04-01"),
    "CET-1CEST,M3.5.0,M10.5.0/3": ("2026-03-16", "2026-03-16T00:30:00+01:00", "2026-04-01"),
}
"""The day and the local time of ``LATE`` in each zone, and the day of ``LATER``."""


@pytest.fixture
def here(daemon, vault):
    """The vault's folder; its daemon was started in Tokyo."""
    root = vault({**NOTES, ".obsidian/app.json": "{}"})
    for name, time in TIMES.items():
        os.utime(root / name, (time, time))
    daemon.environment["TZ"] = "Asia/Tokyo"
    daemon.indexed(root)
    del daemon.environment["TZ"]
    return root


@asynccontextmanager
async def agent(daemon, root, zone):
    """Yield a function that asks as an agent in ``zone`` and returns the text that it receives."""
    command = ["-m", "vaultseek", "mcp", "--vault", str(root)]
    environment = {**daemon.environment, "TZ": zone}
    server = StdioServerParameters(command=sys.executable, args=command, env=environment, cwd=root)
    async with Client(server) as client:

        async def told(tool, **asked):
            answer = await client.call_tool(tool, asked)
            assert not answer.is_error, answer.content
            return answer.content[0].text

        yield told


@pytest.mark.fault("L5")
@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.shared_daemon
def test_l5_filters_find_the_days_that_are_shown(daemon, here, zone):
    day, late, later = ZONES[zone]
    env = {"TZ": zone}
    found = daemon.json("search", "created:2026-03-16", "--vault", str(here), env=env)["results"]
    moments = ["Moment.md", "Plain.md"] if day == "2026-03-16" else []
    assert sorted(each["path"] for each in found) == sorted([*WRITTEN, *moments])
    created = {
        each["path"]: each["created"] for each in daemon.json("search", "pump", cwd=here, env=env)["results"]
    }
    assert created["2026-03-16.md"] == created["Stated.md"] == "2026-03-16"
    assert created["Local.md"].startswith("2026-03-16T00:30:00")
    assert created["Moment.md"] == created["Plain.md"] == late
    on = daemon.paths(f"modified:{later}", cwd=here, env=env)
    assert set(on) == NOTES.keys() - {"Plain.md"}
    assert daemon.paths(f"modified:{day}", cwd=here, env=env) == ["Plain.md"]
    assert "Moment.md" in daemon.paths(f"[created:{day}]", cwd=here, env=env)
    assert set(daemon.paths("[created:>=2026-03-16]", cwd=here, env=env)) >= {"Stated.md", "Local.md"}


@pytest.mark.fault("L5")
@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "America/Los_Angeles"])
@pytest.mark.shared_daemon
async def test_l5_an_agent_is_told_local_days_and_written_ones_as_they_are(daemon, here, zone):
    day, _, later = ZONES[zone]
    days = {path: f"written 2026-03-16, changed {later}" for path in WRITTEN}
    days |= {"Moment.md": f"written {day}, changed {later}", "Plain.md": f"changed {day}"}
    async with agent(daemon, here, zone) as told:
        context = await told("context", query="pump")
        listed = await told("list_notes", order="path")
        table = await told("table", source="pump", columns=["file.ctime", "created"])
        for path, dates in days.items():
            search = await told("search", query=f'pump path:"{path}"')
            (found,) = (line for line in search.split("\n") if line.startswith(f"- {path}:"))
            assert f"| {dates}" in found
            read = await told("read_note", note=path)
            assert f"| {dates}" in read
            assert f"- {path} | {dates}" in listed or f"- {path} | Day | {dates}" in listed
            (row,) = (line for line in table.split("\n") if line.startswith(f"- {path} "))
            assert row.endswith(dates)
        assert "written 2026-03-16" in context
        assert "- Stated.md | 2026-03-16 | 2026-03-16 |" in table
        recent = await told("list_notes")
        assert [line for line in recent.split("\n") if line.startswith("changed")] == [
            f"changed {later}",
            f"changed {day}",
        ]


@pytest.mark.fault("L5")
@pytest.mark.shared_daemon
def test_l5_days_around_a_change_of_daylight_saving_are_whole(daemon, vault):
    times = {
        "1.md": datetime(2026, 3, 28, 22, 59, tzinfo=UTC),
        "2.md": datetime(2026, 3, 28, 23, 0, tzinfo=UTC),
        "3.md": datetime(2026, 3, 29, 21, 59, tzinfo=UTC),
        "4.md": datetime(2026, 3, 29, 22, 0, tzinfo=UTC),
        "5.md": datetime(2026, 10, 25, 22, 59, tzinfo=UTC),
        "6.md": datetime(2026, 10, 25, 23, 0, tzinfo=UTC),
    }
    root = vault(dict.fromkeys(times, "The pump stopped.\n"))
    for name, time in times.items():
        os.utime(root / name, (time.timestamp(), time.timestamp()))
    daemon.indexed(root)
    for day, paths in (
        ("2026-03-28", ["1.md"]),
        ("2026-03-29", ["2.md", "3.md"]),
        ("2026-03-30", ["4.md"]),
        ("2026-10-25", ["5.md"]),
        ("2026-10-26", ["6.md"]),
    ):
        query = ("search", f"modified:{day}", "--vault", str(root))
        found = daemon.json(*query, env={"TZ": "Europe/Berlin"})["results"]
        assert sorted(each["path"] for each in found) == paths
        assert {each["modified"][:10] for each in found} == {day}


@pytest.mark.fault("L5")
def test_l5_a_client_without_a_zone_of_its_own_has_the_machines_whoever_started_the_daemon(
    daemon, here, monkeypatch
):
    daemon.environment.pop("TZ", None)
    monkeypatch.delenv("TZ", raising=False)
    (plain,) = daemon.json("search", "Plain", "--mode", "keyword", "--vault", str(here))["results"]
    assert plain["modified"] == datetime.fromtimestamp(LATE, machine_zone()).isoformat()
