"""The time zone in which days are shown and filtered: the client's zone, or else the machine's."""

from __future__ import annotations

import os
from contextvars import ContextVar
from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import tzinfo

LOCALTIME = "/etc/localtime"
"""File with the rules of the machine's zone; usually a link to a file that is named after the zone."""
ZONE_CHARS = 100
"""Maximum length of a zone's name or rules, in characters."""
_NAMED_FILES = "zoneinfo/"

client_zone: ContextVar[tzinfo | None] = ContextVar("client_zone", default=None)
"""The zone of the client whose request is being answered; None if the client uses the machine's zone."""


def zone() -> tzinfo:
    """Return the zone of the client whose request is being answered, or else the machine's current zone."""
    return client_zone.get() or machine_zone()


def machine_zone() -> tzinfo:
    """Return the zone in the environment's TZ, or else in ``/etc/localtime``, or else UTC."""
    named = zone_named(os.environ.get("TZ"))
    if named is not None:
        return named
    try:
        state = os.stat(LOCALTIME)  # noqa: PTH116
    except OSError:
        return _utc()
    return _zone_in(LOCALTIME, state.st_ino, state.st_size, state.st_mtime_ns)


def zone_for_daemon(*, may_be_remote: bool) -> str | None:
    """Return the zone that a client sends to the daemon; None if it is the machine's own zone.

    A client sends the zone in TZ. If TZ is not set, a client that may be on another machine sends the name of
    its machine's zone.
    """
    value = _plain(os.environ.get("TZ"))
    if value is None and may_be_remote:
        target = os.path.realpath(LOCALTIME)
        value = target.rpartition(_NAMED_FILES)[2] if _NAMED_FILES in target else None
    return value


def zone_named(value: str | None) -> tzinfo | None:
    """Return the zone for a value of TZ, such as ``Europe/Berlin`` or ``CET-1CEST,M3.5.0,M10.5.0/3``; None if
    the value is unset, refers to the machine's own zone, or is unknown."""
    plain = _plain(value)
    return None if plain is None else _known(plain)


def _plain(value: str | None) -> str | None:
    """Return the name or the rules in a value of TZ; None if TZ is unset or names a file outside the zone
    database."""
    if value is None:
        return None
    plain = value.removeprefix(":")
    if _NAMED_FILES in plain:
        plain = plain.rpartition(_NAMED_FILES)[2]
    return None if plain.startswith("/") else plain or "UTC"


@lru_cache(maxsize=64)
def _known(plain: str) -> tzinfo | None:
    from io import BytesIO
    from zoneinfo import ZoneInfo

    if len(plain) > ZONE_CHARS or not (plain.isascii() and plain.isprintable()):
        return None
    try:
        return ZoneInfo(plain)
    except (OSError, ValueError, LookupError):
        pass
    try:
        return ZoneInfo.from_file(BytesIO(_NO_TRANSITIONS + f"\n{plain}\n".encode()), plain)
    except ValueError:
        return None


_HEADER = b"TZif2" + bytes(15)
_UTC_ONLY = bytes(6) + b"UTC\0"
_COUNTS = bytes(16) + (1).to_bytes(4) + (4).to_bytes(4)
_NO_TRANSITIONS = (_HEADER + _COUNTS + _UTC_ONLY) * 2
"""The beginning of a zone file without transitions; the rules follow, in the form that TZ uses."""


@lru_cache(maxsize=4)
def _zone_in(file: str, *state: int) -> tzinfo:
    """Return the zone defined in a file. The file is read again whenever its ``state`` changes."""
    from zoneinfo import ZoneInfo

    try:
        with open(file, "rb") as rules:  # noqa: PTH123
            return ZoneInfo.from_file(rules)
    except (OSError, ValueError):
        return _utc()


def _utc() -> tzinfo:
    from datetime import UTC

    return UTC
