"""Checking the running daemon, if there is one: its version, its worker and its vaults."""

from __future__ import annotations

from collections.abc import Iterator

from vaultseek import __version__
from vaultseek.base.model import JSON
from vaultseek.client import Client
from vaultseek.errors import NotRunning, Unavailable, VaultseekError
from vaultseek.tools.doctor.finding import BROKEN, OK, WARNING, Finding

DOCTOR_SECONDS = 5.0
"""Timeout of the request to the daemon."""

_RESTART = "stop it with `vaultseek stop`; the next command starts it again"


def daemon_status() -> JSON | VaultseekError | None:
    """Return the daemon's status; None if none is running, an error if it does not respond."""
    try:
        with Client(timeout=DOCTOR_SECONDS, name="vaultseek.doctor") as client:
            status: JSON = client.call("index/status", {})
            return status
    except NotRunning:
        return None
    except VaultseekError as error:
        return error
    except OSError as error:
        return Unavailable(f"cannot use the socket: {error.strerror or error}")


def check_daemon(status: JSON | VaultseekError | None) -> Iterator[Finding]:
    """Check the daemon's version and the states of its worker and its vaults."""
    if status is None:
        yield Finding("daemon", OK, "none is running; the first command that needs it starts it")
        return
    if isinstance(status, VaultseekError):
        yield Finding("daemon", BROKEN, str(status), "see `vaultseek config check` and daemon.log")
        return
    daemon = status["daemon"]
    message = f"version {daemon['version']} answers, pid {daemon['pid']}"
    if daemon["version"] != __version__:
        yield Finding("daemon", WARNING, f"{message}; this is {__version__}", _RESTART)
    else:
        yield Finding("daemon", OK, message)
    worker = daemon.get("worker") or {}
    if worker.get("status") in ("down", "broken"):
        reason = worker.get("reason") or "no reason given"
        yield Finding("daemon's worker", BROKEN, f"{worker['status']}: {reason}", _RESTART)
    for vault in status.get("vaults") or ():
        yield from _models(vault)
        state = str(vault.get("state"))
        if state not in ("ready", "indexing", "scanning", "opening", "paused"):
            yield Finding(
                f"state of {vault['name']}",
                BROKEN if state != "vault_missing" else WARNING,
                f"{state.replace('_', ' ')}: {vault.get('reason') or ''}".rstrip(": "),
                "see `vaultseek status`",
                state.replace("_", " "),
            )


def _models(vault: JSON) -> Iterator[Finding]:
    """Yield the model of a vault and why it has that one, and a second one that fails."""
    models = vault.get("models") or {}
    if models.get("main"):
        why = f", {models['why']}" if models.get("why") else ""
        yield Finding(f"model of {vault['name']}", OK, f"{models['main']}{why}")
    if models.get("second_problem"):
        yield Finding(
            f"model of {vault['name']} for other languages",
            WARNING,
            f"{models['second']} fails: {models['second_problem']}",
            "it is tried again; see the log folder, or set model.other_languages",
            f"{models['second']} fails",
        )


def daemon_pid(status: JSON | VaultseekError | None) -> int | None:
    """Return the process id of a daemon that responded."""
    return int(status["daemon"]["pid"]) if isinstance(status, dict) else None
