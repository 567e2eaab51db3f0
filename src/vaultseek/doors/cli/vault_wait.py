"""Waiting for a vault, as its status tells: until it is as wanted, or reports a problem and is stuck."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from vaultseek.base.model import JSON
from vaultseek.errors import Unavailable

POLL_SECONDS = 0.5
STALLED_SECONDS = 30.0
"""Time without progress after which a problem that a vault reports ends the wait."""
FULL_SECONDS = 12.0
"""The same for a full disk: a little longer than it takes until that is tried again."""
READY = ("ready", "polling")
AT_REST = ("paused", "vault_missing")
"""States in which the folder is not followed, while what is indexed is copied all the same."""


def until(
    is_done: Callable[[JSON], bool], ask: Callable[[], JSON], stalled_seconds: float = STALLED_SECONDS
) -> Iterator[JSON]:
    """Yield the status of a vault until it is done.

    Raises Unavailable if the vault reports a problem and does not get on for so long.
    """
    last: Any = None
    since = time.monotonic()
    while True:
        status = ask()
        if is_done(status):
            return
        yield status
        now = status["state"], status["pending"], status["revision"], status["lanes"]["keyword"]["up"]
        if now != last:
            last, since = now, time.monotonic()
        problem = problem_of(status)
        patience = FULL_SECONDS if status["state"] == "disk_full" else stalled_seconds
        if problem is not None and time.monotonic() - since > patience:
            raise Unavailable(f"{status['name']} waits: {problem}")
        time.sleep(POLL_SECONDS)


def problem_of(status: JSON) -> str | None:
    """Return what keeps a vault from getting on; None if nothing does."""
    lanes = (lane["reason"] for lane in status["lanes"].values() if lane["code"] in ("behind", "unavailable"))
    own = None if status["state"] in AT_REST else status["reason"]
    return next((str(reason) for reason in (own, *lanes) if reason), None)


def is_settled(status: JSON) -> bool:
    """True if all notes are indexed and embedded, or there is nobody who does it."""
    if status["state"] in AT_REST:
        return True
    is_embedded = not status["pending"] and status["lanes"]["semantic"]["up"]
    return has_words(status) and (is_embedded or has_no_model(status))


def has_words(status: JSON) -> bool:
    """True if all notes of the ledger can be found by word."""
    return status["state"] in (*READY, *AT_REST) and bool(status["lanes"]["keyword"]["up"])


def has_no_model(status: JSON) -> bool:
    """True if vectors wait for other settings."""
    return bool(status["lanes"]["semantic"]["code"] == "model_unusable")


def is_unopened(status: JSON) -> bool:
    """True if a vault cannot be opened as the settings are."""
    return status["state"] == "failing" and not status["models"]


def copying(status: JSON) -> JSON:
    """Return the progress of copying a vault, as ``progress`` shows it."""
    texts = max(1, status["notes"] + status["chunks"])
    left = min(texts, status["pending"])
    verb = "computing" if status["rate"] else "copying"
    doing = f"{verb} vectors, {left:,} of {texts:,} left" if has_words(status) else "copying notes"
    share = 1 - left / texts if has_words(status) else 0.0
    phase = "embedding" if has_words(status) else "reading"
    return {"vault": status["name"], "phase": phase, "share": min(share, 0.99), "doing": doing}
