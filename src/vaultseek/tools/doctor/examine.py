"""Run all checks in order. A check that crashes is also reported as a finding."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from vaultseek import __version__, plugins
from vaultseek.base.model import JSON
from vaultseek.client import Client
from vaultseek.errors import NotRunning, Unavailable, VaultseekError
from vaultseek.tools.doctor.finding import BROKEN, OK, WARNING, Finding
from vaultseek.tools.doctor.semantic import check_models, check_worker
from vaultseek.tools.doctor.settings import check_settings
from vaultseek.tools.doctor.system import (
    check_directories,
    check_disk,
    check_file_system,
    check_inotify,
    check_python,
)
from vaultseek.tools.doctor.vaults import (
    audit_vault,
    check_index,
    check_notes,
    check_vectors,
    count_folders,
    known_vaults,
)


def examine(
    config: Path | None = None, *, start_worker: bool = True, audited: bool = False
) -> Iterator[Finding]:
    """Yield the findings of all checks; ``config`` is the configuration file, if it is not the default one.

    ``start_worker`` also loads the model, which takes a few seconds. With ``audited``, notes are also
    compared with their indexed content.
    """
    settings, findings = check_settings(config)
    yield from _guarded("python", check_python)
    yield from findings
    yield from _guarded("directories", check_directories)
    yield from _guarded("disk", check_disk)
    yield from _guarded("file system", check_file_system)
    status = daemon_status()
    yield from _guarded("daemon", lambda: check_daemon(status))
    answer = status if isinstance(status, dict) else {"vaults": [], "daemon": {}}
    vaults = known_vaults(settings)
    for vault in vaults:
        yield from _guarded(f"vault {vault.name}", partial(check_notes, vault))
        if not settings.index.sends:
            yield from _guarded(f"index of {vault.name}", partial(check_index, vault))
            yield from _guarded(f"vectors of {vault.name}", partial(check_vectors, vault))
        if audited:
            yield from _guarded(f"audit of {vault.name}", partial(audit_vault, vault))
    for checks in plugins.load("checks").values():
        for name, check in checks(settings, status):
            yield from _guarded(name, check)
    pid = answer["daemon"].get("pid")
    yield from _guarded("inotify", lambda: check_inotify(count_folders(vaults), len(vaults), pid))
    yield from _guarded("model", lambda: check_models(settings))
    if start_worker:
        yield from _guarded("worker", lambda: check_worker(settings))


def _guarded(name: str, check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    try:
        yield from check()
    except Exception as error:  # one broken check must not hide the others
        message = f"the check itself failed: {type(error).__name__}: {error}"
        yield Finding(name, BROKEN, message, "please report it", f"the check failed: {type(error).__name__}")


DOCTOR_SECONDS = 5.0
"""Timeout of the request to the daemon, in seconds."""

_RESTART = "stop it with `vaultseek stop`; the next command starts it again"


def daemon_status() -> JSON | VaultseekError | None:
    """Return the daemon's status, None if no daemon is running, or an error if the daemon does not answer."""
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
    """Check the daemon's version and the state of its worker and of its vaults."""
    if status is None:
        yield Finding("daemon", OK, "not running; the first command that needs it starts it")
        return
    if isinstance(status, VaultseekError):
        yield Finding("daemon", BROKEN, str(status), "see `vaultseek config check` and daemon.log")
        return
    daemon = status["daemon"]
    message = f"version {daemon['version']} answers, pid {daemon['pid']}"
    if daemon["version"] != __version__:
        yield Finding("daemon", WARNING, f"{message}; this command is {__version__}", _RESTART)
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
    """Yield the model of a vault, with the reason for choosing it, and the second model if that model
    fails."""
    models = vault.get("models") or {}
    if models.get("main"):
        why = f", {models['why']}" if models.get("why") else ""
        yield Finding(f"model of {vault['name']}", OK, f"{models['main']}{why}")
    if models.get("second_problem"):
        yield Finding(
            f"model of {vault['name']} for other languages",
            WARNING,
            f"{models['second']} fails: {models['second_problem']}",
            "the daemon tries again; see the log folder, or set model.other_languages",
            f"{models['second']} fails",
        )
