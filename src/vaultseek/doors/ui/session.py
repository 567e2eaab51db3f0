"""Secrets of one page: a token for the address, used up at once, and what the browser gets for it."""

from __future__ import annotations

import hmac
import secrets

SECRET_BYTES = 32


class Session:
    """The one session of a server.

    The browser gets a cookie, which scripts cannot read, and a key, which the page sends with each request.
    Cookies are sent to every port of a computer, so another user's server could see the cookie; it never
    sees the key.
    """

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(SECRET_BYTES)
        self.cookie = secrets.token_urlsafe(SECRET_BYTES)
        self.key = secrets.token_urlsafe(SECRET_BYTES)
        self._spent = False

    def exchange(self, token: object) -> bool:
        """Return True for the right token, the first time."""
        if self._spent or not _same(token, self.token):
            return False
        self._spent = True
        return True

    def admits(self, cookie: object, key: object) -> bool:
        """True for the browser that has exchanged the token."""
        return self._spent and _same(cookie, self.cookie) and _same(key, self.key)


def _same(value: object, secret: str) -> bool:
    return isinstance(value, str) and hmac.compare_digest(value.encode("utf-8", "replace"), secret.encode())
