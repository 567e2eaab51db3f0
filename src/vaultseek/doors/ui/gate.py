"""Checks on every request to the page's server, before its body is read.

A malicious web page can make its own domain name resolve to this computer, or send requests to it from
another origin. A request must therefore name this computer and port, come from the page itself, have a JSON
body, and contain the session's secrets.
"""

from __future__ import annotations

import hmac
import os
import secrets
import socket
from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vaultseek.protocol.wire.loopback import NAMES, is_same

API = "/api/"
OPEN_SESSION = "/api/session"
KEY = "x-vaultseek-key"
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' blob: data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types vaultseek",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}


def cookie_name(port: int) -> str:
    """Return the name of the cookie for the page at ``port``; browsers do not separate cookies by port."""
    return f"vaultseek-{port}"


class Gate:
    """Middleware that refuses requests that do not come from the page, and adds strict headers to every
    answer."""

    def __init__(self, app: ASGIApp, port: int, session: Session) -> None:
        self._app = app
        self._session = session
        self._cookie = cookie_name(port)
        self._hosts = frozenset(f"{name}:{port}" for name in NAMES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def strict(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        status, reason = self._refusal(scope)
        if status:
            await JSONResponse({"error": {"code": "forbidden", "message": reason}}, status)(
                scope, receive, strict
            )
        else:
            await self._app(scope, receive, strict)

    def _refusal(self, scope: Scope) -> tuple[int, str]:
        """Return the status and the reason for refusing a request; the status is 0 if the request is
        allowed."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return 421, "the Host header must name this server"
        if scope["path"].startswith(API):
            origins = headers.getlist("origin")
            if headers.get("sec-fetch-site", "same-origin") != "same-origin":
                return 403, "other web pages cannot make this request"
            if not origins or not _is_own(origins, hosts[0]):
                return 403, "the request comes from another origin"
            if scope["method"] != "POST":
                return 405, "this path accepts only POST"
            if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
                return 415, "the body must be JSON"
            if scope["path"] == OPEN_SESSION:
                return 0, ""
            cookie = cookie_parser(headers.get("cookie", "")).get(self._cookie)
            if not self._session.admits(cookie, headers.get(KEY)):
                return 401, "run `vaultseek ui` again, and open the address that it prints"
            # A previous owner of the port may have seen what the browser sent.
            if self._session.is_persistent and not is_allowed_peer(scope.get("client"), scope.get("server")):
                return 403, "this page belongs to another user of this computer"
            return 0, ""
        if scope["method"] not in ("GET", "HEAD"):
            return 405, "this path accepts only GET"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") or not _is_own(
            headers.getlist("origin"), hosts[0]
        ):
            return 403, "other web pages cannot make this request"
        return 0, ""


def _is_own(origins: list[str], host: str) -> bool:
    return all(origin == f"http://{host}" for origin in origins)


SECRET_BYTES = 32


class Session:
    """The only session of a server.

    The browser gets a cookie, which scripts cannot read, and a key, which the page sends with each request.
    Browsers send cookies to every port of a computer, so another user's server could see the cookie, but
    never the key. With a ``secret`` that outlives the server, the cookie and the key stay valid after a
    restart.
    """

    def __init__(self, secret: str | None = None) -> None:
        self.token = secrets.token_urlsafe(SECRET_BYTES)
        self.is_persistent = secret is not None
        base = secret or secrets.token_urlsafe(SECRET_BYTES)
        self.cookie, self.key = (
            hmac.new(base.encode(), name.encode(), "sha256").hexdigest() for name in ("cookie", "key")
        )
        self._spent = False

    def exchange(self, token: object) -> bool:
        """Return True if the token is correct and is used for the first time."""
        if self._spent or not is_same(token, self.token):
            return False
        self._spent = True
        return True

    def admits(self, cookie: object, key: object) -> bool:
        """Return True for the browser that exchanged the token in this run or, if the session is persistent,
        in an earlier run."""
        return (self._spent or self.is_persistent) and is_same(cookie, self.cookie) and is_same(key, self.key)


CONNECTIONS = Path("/proc/net/tcp")
"""Linux's list of TCP connections; other systems have no such file."""
_USER = 7

Address = tuple[str, int]


def is_allowed_peer(client: Address | None, server: Address | None, table: Path = CONNECTIONS) -> bool:
    """Return True unless another user's process holds the ``client`` end of the connection to ``server``.

    Root is allowed, because root can read everything anyway and relays connections from a browser outside a
    virtual machine.
    """
    return user_of(client, server, table) in (None, 0, os.geteuid())


def user_of(client: Address | None, server: Address | None, table: Path = CONNECTIONS) -> int | None:
    """Return the id of the user who opened the connection, or None if the kernel does not list the
    connection."""
    if client is None or server is None:
        return None
    try:
        ends = [_proc_address(client), _proc_address(server)]
        rows = table.read_text(encoding="ascii").splitlines()[1:]
        for row in rows:
            columns = row.split()
            if columns[1:3] == ends:
                return int(columns[_USER])
    except (OSError, ValueError, IndexError):
        return None
    return None


def _proc_address(address: Address) -> str:
    """Return an address in the format of ``/proc/net/tcp``: the bytes in little-endian order and the port, in
    hex."""
    number = int.from_bytes(socket.inet_aton(address[0]), "little")
    return f"{number:08X}:{address[1]:04X}"
