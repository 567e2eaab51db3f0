"""The server for agents on a port: which clients get an answer, and where the token is stored."""

import asyncio
from contextlib import asynccontextmanager

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from vaultseek.doors.mcp.http import http_app
from vaultseek.doors.mcp.server import Place, server
from vaultseek.doors.token_file import read_token
from vaultseek.errors import Forbidden, Unavailable

TOKEN = "t" * 43
ADDRESS = "http://127.0.0.1:7467/mcp"
ALLOWED = {"Authorization": f"Bearer {TOKEN}"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@asynccontextmanager
async def application():
    """A client of the application. It runs between the application's start and end."""
    asked: asyncio.Queue = asyncio.Queue()
    said: asyncio.Queue = asyncio.Queue()

    async def ask(method, params):
        return {"vault": "notes", "tags": [{"tag": "work", "count": 1, "total": 1}]}

    app = http_app(server(ask, Place("notes", "/")), TOKEN, 7467)
    running = asyncio.create_task(app({"type": "lifespan", "asgi": {"version": "3.0"}}, asked.get, said.put))
    await asked.put({"type": "lifespan.startup"})
    assert (await said.get())["type"] == "lifespan.startup.complete"
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app)) as client:
        yield client
    await asked.put({"type": "lifespan.shutdown"})
    await running


async def test_a_client_with_the_token_uses_the_tools():
    async with application() as http:
        http.headers.update(ALLOWED)
        async with Client(streamable_http_client(ADDRESS, http_client=http)) as client:
            answer = await client.call_tool("list_tags", {})
            assert "- #work | 1" in answer.content[0].text


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS"])
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({"Authorization": "Bearer "}, 401),
        ({"Authorization": "Bearer"}, 401),
        ({"Authorization": TOKEN}, 401),
        (ALLOWED | {"Host": "notes.example:7467"}, 421),
        (ALLOWED | {"Host": "127.0.0.1"}, 421),
        (ALLOWED | {"Host": "127.0.0.1:80"}, 421),
        (ALLOWED | {"Origin": "http://notes.example"}, 403),
        (ALLOWED | {"Origin": "http://127.0.0.1:7467"}, 403),
        (ALLOWED | {"Origin": "null"}, 403),
    ],
)
async def test_others_get_no_answer(method, headers, status):
    async with application() as http:
        body = HELLO if method == "POST" else None
        for version in ({}, {"MCP-Protocol-Version": "2026-07-28"}):
            answer = await http.request(method, ADDRESS, json=body, headers=ACCEPT | headers | version)
            assert (
                answer.status_code in (status, 405) if method == "OPTIONS" else answer.status_code == status
            )
            assert "vaultseek" not in answer.text


async def test_the_same_request_with_all_that_is_needed_is_answered():
    async with application() as http:
        for name, scheme in (("127.0.0.1", "Bearer"), ("localhost", "bearer")):
            headers = ACCEPT | {"Host": f"{name}:7467", "Authorization": f"{scheme} {TOKEN}"}
            answer = await http.post(ADDRESS, json=HELLO, headers=headers)
            assert answer.status_code == 200
            assert answer.json()["result"]["serverInfo"]["name"] == "vaultseek"


def test_the_token_is_made_once_and_for_its_owner_only(tmp_path):
    file = tmp_path / "mcp.token"
    token = read_token(file)
    assert len(token) > 40
    assert read_token(file) == token
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_token_that_others_can_read_is_refused(tmp_path):
    file = tmp_path / "mcp.token"
    read_token(file)
    file.chmod(0o644)
    with pytest.raises(Forbidden, match="other users can read"):
        read_token(file)


def test_what_is_no_token_is_refused(tmp_path):
    file = tmp_path / "mcp.token"
    file.write_text("short\n")
    file.chmod(0o600)
    with pytest.raises(Unavailable, match="no token"):
        read_token(file)
    (tmp_path / "link").symlink_to(file)
    with pytest.raises(Unavailable, match="remove it"):
        read_token(tmp_path / "link")
