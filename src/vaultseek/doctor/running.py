"""The daemon that runs, if one does: whether it answers, which version it is, and what it says of itself."""

from __future__ import annotations

from collections.abc import Iterator

from vaultseek import __version__
from vaultseek.client import Client
from vaultseek.doctor.finding import BROKEN, OK, WARNING, Finding
from vaultseek.errors import NotRunning, Unavailable, VaultseekError
from vaultseek.model import JSON

DOCTOR_SECONDS = 5.0
"""How long the doctor waits for a daemon's answer."""

_ANEW = "`vaultseek stop` ends it, the next command starts it again"


def status() -> JSON | VaultseekError | None:
    """What the daemon says of itself; None where none runs, an error where it does not answer."""
    try:
        with Client(timeout=DOCTOR_SECONDS, name="vaultseek.doctor") as client:
            answer: JSON = client.call("index/status", {})
            return answer
    except NotRunning:
        return None
    except VaultseekError as error:
        return error
    except OSError as error:
        return Unavailable(f"the socket cannot be used: {error.strerror or error}")


def daemon(told: JSON | VaultseekError | None) -> Iterator[Finding]:
    """Whether the daemon answers, and how its worker and its vaults are."""
    if told is None:
        yield Finding("daemon", OK, "none is running; the first command that needs it starts it")
        return
    if isinstance(told, VaultseekError):
        yield Finding("daemon", BROKEN, str(told), "`vaultseek config check` and daemon.log may say more")
        return
    own = told["daemon"]
    words = f"version {own['version']} answers, pid {own['pid']}"
    if own["version"] != __version__:
        yield Finding("daemon", WARNING, f"{words}; this is {__version__}", _ANEW)
    else:
        yield Finding("daemon", OK, words)
    worker = own.get("worker") or {}
    if worker.get("status") in ("down", "broken"):
        reason = worker.get("reason") or "no reason given"
        yield Finding("daemon's worker", BROKEN, f"{worker['status']}: {reason}", _ANEW)
    for vault in told.get("vaults") or ():
        state = str(vault.get("state"))
        if state not in ("ready", "indexing", "scanning", "opening", "paused"):
            yield Finding(
                f"state of {vault['name']}",
                BROKEN if state != "vault_missing" else WARNING,
                f"{state.replace('_', ' ')}: {vault.get('reason') or ''}".rstrip(": "),
                "`vaultseek status` says more",
                state.replace("_", " "),
            )


def pid(told: JSON | VaultseekError | None) -> int | None:
    """The daemon's process id, if it told."""
    return int(told["daemon"]["pid"]) if isinstance(told, dict) else None
