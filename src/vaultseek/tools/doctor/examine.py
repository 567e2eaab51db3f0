"""Running every check in order. A check that crashes is a finding too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from vaultseek.tools.doctor.daemon import check_daemon, daemon_pid, daemon_status
from vaultseek.tools.doctor.engine import check_engine, check_numbers
from vaultseek.tools.doctor.finding import BROKEN, Finding
from vaultseek.tools.doctor.semantic import check_models, check_worker
from vaultseek.tools.doctor.settings import check_settings, check_team
from vaultseek.tools.doctor.system import (
    check_directories,
    check_disk,
    check_file_system,
    check_python,
    check_watches,
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
    """Run all checks; ``config`` replaces the default configuration file.

    ``start_worker`` also loads the model, which takes some seconds. ``audited`` compares notes with what the
    indexes have of them.
    """
    settings, findings = check_settings(config)
    yield from _guarded("python", check_python)
    yield from findings
    yield from _guarded("directories", check_directories)
    yield from _guarded("disk", check_disk)
    yield from _guarded("file system", check_file_system)
    status = daemon_status()
    yield from _guarded("daemon", lambda: check_daemon(status))
    vaults = known_vaults(settings)
    for vault in vaults:
        yield from _guarded(f"vault {vault.name}", partial(check_notes, vault))
        if settings.index.engine is None:
            yield from _guarded(f"index of {vault.name}", partial(check_index, vault))
            yield from _guarded(f"vectors of {vault.name}", partial(check_vectors, vault))
        if audited:
            yield from _guarded(f"audit of {vault.name}", partial(audit_vault, vault))
    yield from _guarded("engine", lambda: check_engine(settings, {each.name: each.root for each in vaults}))
    if settings.index.engine is not None and isinstance(status, dict):
        for each in status["vaults"]:
            name = str(each["name"])
            yield from _guarded(f"engine of {name}", partial(check_numbers, name, str(each["path"])))
    yield from _guarded("inotify", lambda: check_watches(count_folders(vaults), daemon_pid(status)))
    shards = [str(each["name"]) for each in status["vaults"]] if isinstance(status, dict) else []
    yield from _guarded("team", lambda: check_team(settings, shards))
    yield from _guarded("model", lambda: check_models(settings))
    if start_worker:
        yield from _guarded("worker", lambda: check_worker(settings))


def _guarded(name: str, check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    try:
        yield from check()
    except Exception as error:  # one broken check must not hide the others
        message = f"the check itself failed: {type(error).__name__}: {error}"
        yield Finding(name, BROKEN, message, "please report it", f"the check failed: {type(error).__name__}")
