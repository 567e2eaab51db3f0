"""The MCP server on an HTTP port of this computer, for hosts that cannot start a command.

It answers only requests that contain the token and one of this computer's own names, because a web page could
make another name resolve to this computer. It never answers requests from web pages. The token is in a file
that only its owner can read.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import InitializeRequest
from pydantic import ValidationError
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vaultseek.base import paths
from vaultseek.base.limits import NAME_CHARS
from vaultseek.client.asynchronous import on_demand
from vaultseek.doors.mcp.notes import Place
from vaultseek.doors.mcp.server import AGENT, server
from vaultseek.doors.token_file import read_token
from vaultseek.protocol.wire.http import http_server
from vaultseek.protocol.wire.loopback import HOST, NAMES, is_same, listen_on

PATH = "/mcp"
INITIALIZE_BYTES = 65_536
"""Maximum number of bytes in a request that begins a session."""


def serve_http(
    start: Callable[[], object],
    place: Place,
    port: int,
    announce: Callable[[str, Path], None],
    *,
    structured: bool = False,
    compact: bool = False,
) -> None:
    """Serve on ``port`` until a signal ends the process; for 0, the system chooses the port.

    ``announce`` gets the server's address and the path of the file that contains the token. Raises
    Unavailable if the port is taken, and Forbidden if other users can read the token.
    """
    file = paths.private_directory(paths.state_directory()) / "mcp.token"
    token = read_token(file)
    with listen_on(port) as listening:
        number: int = listening.getsockname()[1]
        ask = on_demand(start, "vaultseek.mcp", agent=True).call
        app = http_app(server(ask, place, structured=structured, compact=compact), token, number)
        running = http_server(app)
        announce(f"http://{HOST}:{number}{PATH}", file)
        with suppress(KeyboardInterrupt):
            running.run(sockets=[listening])


def http_app(server: Any, token: str, port: int) -> ASGIApp:
    """Return the application that answers clients with the ``token`` on ``port``."""
    hosts = [f"{name}:{port}" for name in NAMES]
    security = TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=[])
    app = server.streamable_http_app(
        streamable_http_path=PATH, json_response=True, stateless_http=True, transport_security=security
    )
    return _TokenGate(_HostNames(app), token)


class _HostNames:
    """Middleware that stores a host's name in the id of its session, because hosts send the name only at the
    start.

    Hosts send this id with every request, so the server does not have to store sessions, and hosts can
    continue after the server is restarted.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        beginning = bytearray()

        async def read() -> Message:
            message = await receive()
            beginning.extend(message.get("body", b"")[: INITIALIZE_BYTES - len(beginning)])
            return message

        async def write(message: Message) -> None:
            if message["type"] == "http.response.start" and (name := _initializing(bytes(beginning))):
                MutableHeaders(scope=message)[MCP_SESSION_ID_HEADER] = _session_id(name)
            await send(message)

        before = AGENT.set(_name_in(Headers(scope=scope).get(MCP_SESSION_ID_HEADER, "")))
        try:
            await self._app(scope, read, write)
        finally:
            AGENT.reset(before)


def _initializing(body: bytes) -> str:
    """Return the host's name from a request that begins a session, or "" for other requests."""
    try:
        request = InitializeRequest.model_validate_json(body)
    except ValidationError:
        return ""
    return request.params.client_info.name[:NAME_CHARS]


def _session_id(name: str) -> str:
    return f"{token_urlsafe(8)}.{urlsafe_b64encode(name.encode()).decode()}"


def _name_in(session_id: str) -> str | None:
    try:
        return urlsafe_b64decode(session_id.partition(".")[2]).decode()[:NAME_CHARS] or None
    except ValueError:
        return None


class _TokenGate:
    """Middleware that refuses requests without the token before reading their bodies."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scheme, _, sent = Headers(scope=scope).get("authorization", "").partition(" ")
            if scheme.lower() != "bearer" or not is_same(sent.strip(" "), self._token):
                message = 'the header "Authorization: Bearer TOKEN" is missing or wrong'
                refusal = PlainTextResponse(message, 401, {"WWW-Authenticate": "Bearer"})
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)
