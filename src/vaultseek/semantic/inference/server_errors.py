"""The errors of libraries that ask a server: their HTTP status, and whether another attempt may succeed."""

from __future__ import annotations

from collections.abc import Iterator

from vaultseek.errors import ConfigError

_TRANSIENT = frozenset([408, 409, 425, 429])


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status in an error of any library; None if it has none."""
    for each in _chain(error):
        for holder in (each, getattr(each, "response", None)):
            status = getattr(holder, "status_code", None) or getattr(holder, "status", None)
            if isinstance(status, int):
                return status
    return None


def may_pass(error: BaseException) -> bool:
    """True if another attempt may succeed: the server is busy or broken, or the way to it is."""
    status = status_of(error)
    return not isinstance(error, ConfigError) and (
        status is None or status in _TRANSIENT or status >= 500 or status < 400
    )
