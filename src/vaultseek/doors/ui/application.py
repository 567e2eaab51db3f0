"""The application: the files of the page, and the API behind the gate."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from vaultseek.base.model import JSON
from vaultseek.doors.ui.api import API
from vaultseek.doors.ui.gate import OPEN_SESSION, Gate, Session, cookie_name, is_welcome
from vaultseek.doors.ui.pictures import Picture
from vaultseek.errors import UsageError, VaultseekError

BODY_BYTES = 64 * 1024
"""Largest body of a request."""
TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
STATUS = {"not_found": 404, "bad_request": 400, "bad_query": 400, "bad_path": 400}
"""Status of an error by its code; any other is one of the daemon's, 503."""

_log = logging.getLogger(__name__)
Answer = Callable[[JSON], Awaitable[Any]]


def application(api: API, session: Session, port: int, used: Callable[[], object]) -> ASGIApp:
    """Return the application for ``port``. ``used`` is called for each request that a person has caused."""
    calls: dict[str, Answer] = {
        "about": api.about,
        "call": api.call,
        "note": api.note,
        "picture": api.picture,
        "graph": api.graph,
        "report": api.report,
        "open": api.open,
    }
    routes = [
        *(Route(path, _file(name), methods=["GET"]) for path, name in page_files().items()),
        Route(OPEN_SESSION, _opening(session, port), methods=["POST"]),
        *(Route(f"/api/{name}", _call(answer, used), methods=["POST"]) for name, answer in calls.items()),
    ]
    return Gate(Starlette(routes=routes, max_body_size=BODY_BYTES), port, session)


def page_files() -> dict[str, str]:
    """Return the files of the page by the path that each is served at."""
    folder = files("vaultseek.doors.ui") / "page"
    names = [file.name for file in folder.iterdir() if f".{file.name.rpartition('.')[2]}" in TYPES]
    return {"/": "index.html"} | {f"/{name}": name for name in sorted(names) if name != "index.html"}


def _file(name: str) -> Callable[[Request], Awaitable[Response]]:
    data = (files("vaultseek.doors.ui") / "page" / name).read_bytes()
    type = TYPES[f".{name.rpartition('.')[2]}"]

    async def answer(request: Request) -> Response:
        return Response(data, media_type=type)

    return answer


def _opening(session: Session, port: int) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        try:
            body = await _body(request)
        except UsageError as error:
            return _failure(error)
        except ClientDisconnect:
            return _disconnected()
        if not is_welcome(request.scope.get("client"), request.scope.get("server")):
            return _refusal("this page belongs to another user of the computer")
        if not session.exchange(body.get("token")):
            return _refusal("this address was used already, or is not whole; run `vaultseek ui` again")
        opened = JSONResponse({"key": session.key})
        opened.set_cookie(cookie_name(port), session.cookie, httponly=True, samesite="strict", path="/")
        return opened

    return answer


def _disconnected() -> Response:
    return Response(status_code=499)  # nobody reads it


def _refusal(message: str) -> Response:
    return JSONResponse({"error": {"code": "forbidden", "message": message}}, 403)


def _call(answer: Answer, used: Callable[[], object]) -> Callable[[Request], Awaitable[Response]]:
    async def respond(request: Request) -> Response:
        try:
            body = await _body(request)
            if not body.get("watching"):
                used()
            result = await answer(body)
        except VaultseekError as error:
            return _failure(error)
        except ClientDisconnect:
            return _disconnected()
        except Exception:
            _log.exception("a request of the page failed")
            message = "something went wrong here; the terminal of `vaultseek ui` has more"
            return JSONResponse({"error": {"code": "internal", "message": message}}, 500)
        if isinstance(result, Picture):
            return Response(result.data, media_type=result.type)
        return JSONResponse(result)

    return respond


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
    """A body whose end was not waited for, so that the connection has to end."""


def _failure(error: VaultseekError) -> Response:
    body = {"error": {"code": error.code, "message": str(error)}}
    headers = {"Connection": "close"} if isinstance(error, _LargeBody) else None
    return JSONResponse(body, STATUS.get(error.code, 503), headers)
