"""The web application: the page's files, the API behind the checks in ``gate``, and the server for both."""

import asyncio
import json
import logging
import os
import socket
import time
from collections.abc import Awaitable, Callable
from contextlib import closing, suppress
from functools import partial
from importlib.resources import files
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from vaultseek.base import paths
from vaultseek.base.model import JSON
from vaultseek.client.asynchronous import on_demand
from vaultseek.doors.token_file import read_token
from vaultseek.doors.ui.api import API, OpenEditor
from vaultseek.doors.ui.gate import CONNECTIONS, OPEN_SESSION, Gate, Session, cookie_name, is_allowed_peer
from vaultseek.doors.ui.pictures import Picture
from vaultseek.errors import Unavailable, UsageError, VaultseekError
from vaultseek.protocol.wire.http import http_server
from vaultseek.protocol.wire.loopback import HOST, listen_on

PORT = 7468
"""Default port. It is fixed, so that bookmarks stay valid; if it is taken, another port is used."""
COOKIE_SECONDS = 400 * 86400
"""Lifetime of a persistent session's cookie in seconds: the maximum that browsers allow."""
BODY_BYTES = 64 * 1024
"""Maximum size of a request body in bytes."""
TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
STATUS = {"not_found": 404, "bad_request": 400, "bad_query": 400, "bad_path": 400}
"""HTTP status by error code; other errors come from the daemon and give 503."""

_log = logging.getLogger(__name__)
Answer = Callable[[JSON], Awaitable[Any]]
Respond = Callable[[Request, JSON], Awaitable[Response]]


def application(api: API, session: Session, port: int, used: Callable[[], object]) -> ASGIApp:
    """Return the web application for ``port``. ``used`` is called for each request caused by the user."""
    calls: dict[str, Answer] = {
        "about": api.about,
        "call": api.call,
        "note": api.note,
        "picture": api.picture,
        "graph": api.graph,
        "map": api.map,
        "report": api.report,
        "open": api.open,
        "missing": api.missing,
    }
    routes = [
        *(Route(path, _file(name), methods=["GET"]) for path, name in page_files().items()),
        _route(OPEN_SESSION, _opening(session, port)),
        *(_route(f"/api/{name}", _call(answer, used)) for name, answer in calls.items()),
    ]
    return Gate(Starlette(routes=routes, max_body_size=BODY_BYTES), port, session)


def page_files() -> dict[str, str]:
    """Return the names of the page's files, keyed by URL path."""
    folder = files("vaultseek.doors.ui") / "page"
    names = [file.name for file in folder.iterdir() if f".{file.name.rpartition('.')[2]}" in TYPES]
    return {"/": "index.html"} | {f"/{name}": name for name in sorted(names) if name != "index.html"}


def _file(name: str) -> Callable[[Request], Awaitable[Response]]:
    data = (files("vaultseek.doors.ui") / "page" / name).read_bytes()
    type = TYPES[f".{name.rpartition('.')[2]}"]

    async def answer(request: Request) -> Response:
        return Response(data, media_type=type)

    return answer


def _opening(session: Session, port: int) -> Respond:
    async def respond(request: Request, body: JSON) -> Response:
        if not is_allowed_peer(request.scope.get("client"), request.scope.get("server")):
            return _refusal("this page belongs to another user of this computer")
        if not session.exchange(body.get("token")):
            return _refusal("this address is incomplete or was already used; run `vaultseek ui` again")
        opened = JSONResponse({"key": session.key})
        opened.set_cookie(
            cookie_name(port),
            session.cookie,
            max_age=COOKIE_SECONDS if session.is_persistent else None,
            httponly=True,
            samesite="strict",
            path="/",
        )
        return opened

    return respond


def _refusal(message: str) -> Response:
    return JSONResponse({"error": {"code": "forbidden", "message": message}}, 403)


def _call(answer: Answer, used: Callable[[], object]) -> Respond:
    async def respond(request: Request, body: JSON) -> Response:
        if not body.get("watching"):
            used()
        result = await answer(body)
        if isinstance(result, Picture):
            return Response(result.data, media_type=result.type)
        return JSONResponse(result)

    return respond


def _route(path: str, respond: Respond) -> Route:
    async def answer(request: Request) -> Response:
        try:
            return await respond(request, await _body(request))
        except VaultseekError as error:
            body = {"error": {"code": error.code, "message": str(error)}}
            headers = {"Connection": "close"} if isinstance(error, _LargeBody) else None
            return JSONResponse(body, STATUS.get(error.code, 503), headers)
        except ClientDisconnect:
            return Response(status_code=499)  # the client has disconnected, so nobody reads the response
        except Exception:
            _log.exception("a request from the page failed")
            message = "something went wrong in the server; see the terminal of `vaultseek ui`"
            return JSONResponse({"error": {"code": "internal", "message": message}}, 500)

    return Route(path, answer, methods=["POST"])


async def _body(request: Request) -> JSON:
    try:
        body = json.loads(await request.body())
    except HTTPException:
        raise _LargeBody(f"the body has more than {BODY_BYTES} bytes; send less") from None
    except (ValueError, RecursionError):
        raise UsageError("the body must be JSON") from None
    if not isinstance(body, dict):
        raise UsageError("the body must be an object")
    return body


class _LargeBody(UsageError):
    """Error for a body that was not read completely, so that the connection must be closed."""


UNUSED_SECONDS = 3600.0
"""Seconds without use after which the server stops."""
WATCH_SECONDS = 1.0


def serve(
    start: Callable[[], object],
    announce: Callable[[str, bool], object],
    open_editor: OpenEditor,
    *,
    vault: str | None = None,
    editor: str | None = None,
    port: int | None = None,
) -> None:
    """Serve the page until a signal arrives, the parent process ends, or the page is unused for
    `UNUSED_SECONDS`.

    ``start`` starts a daemon unless one is running. ``announce`` gets the address with its token, and True if
    a browser needs the token only once. ``vault`` is the folder of the vault that the page searches first, or
    None for all vaults. Raises Unavailable if the given ``port`` is taken. If no port is given and the
    default port is taken, another port is used.
    """
    session, life = Session(_persistent_secret()), _Lifetime()
    with _listen(port) as listening:
        number: int = listening.getsockname()[1]
        api = API(on_demand(start, "vaultseek.ui").call, vault, editor, open_editor)
        app = application(api, session, number, life.use)
        server = http_server(app)
        # A URL fragment is never sent to a server and appears in no log.
        address = f"http://{HOST}:{number}/#token={session.token}"
        with closing(api), suppress(KeyboardInterrupt):
            asyncio.run(_serve(server, life, listening, partial(announce, address, session.is_persistent)))


def _persistent_secret() -> str | None:
    """Return the secret of a persistent session, or None if the kernel does not list the owners of
    connections.

    Without this list, another user could listen on the free port and receive the browser's cookie.
    """
    if not CONNECTIONS.exists():
        return None
    return read_token(paths.private_directory(paths.state_directory()) / "ui.token")


def _listen(port: int | None) -> socket.socket:
    if port is None:
        with suppress(Unavailable):
            return listen_on(PORT)
    return listen_on(port or 0)


class _Lifetime:
    """The conditions under which the server stops by itself."""

    def __init__(self) -> None:
        self._parent = os.getppid()
        self.use()

    def use(self) -> None:
        """Record that the page was used."""
        self._used = time.monotonic()

    def is_over(self) -> bool:
        """Return True if the page has been unused for too long, or the parent process has ended."""
        return os.getppid() != self._parent or time.monotonic() - self._used > UNUSED_SECONDS


async def _serve(
    server: uvicorn.Server, life: _Lifetime, listening: socket.socket, announce: Callable[[], object]
) -> None:
    running = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started and not running.done():
        await asyncio.sleep(0.01)
    if not running.done():
        announce()
    while not running.done():
        await asyncio.wait([running], timeout=WATCH_SECONDS)
        server.should_exit = server.should_exit or life.is_over()
    await running
