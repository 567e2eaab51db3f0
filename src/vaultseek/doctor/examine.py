"""Every check, one after the other; one that fails itself is a finding too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from vaultseek.doctor import meaning, running, surroundings, vaults
from vaultseek.doctor.finding import BROKEN, Finding
from vaultseek.doctor.settings import read_settings


def examine(config: Path | None = None, *, start_worker: bool = True) -> Iterator[Finding]:
    """Look at everything; ``config`` is another configuration file than the usual one.

    With ``start_worker`` the model is really loaded, which takes some seconds.
    """
    settings, findings = read_settings(config)
    yield from _guarded("python", surroundings.python)
    yield from findings
    yield from _guarded("directories", surroundings.directories)
    yield from _guarded("disk", surroundings.disk)
    told = running.status()
    yield from _guarded("daemon", lambda: running.daemon(told))
    known = vaults.known_vaults(settings)
    for vault in known:
        yield from _guarded(f"vault {vault.name}", partial(vaults.readable, vault))
        yield from _guarded(f"index of {vault.name}", partial(vaults.index, vault))
        yield from _guarded(f"vectors of {vault.name}", partial(vaults.vectors, vault))
    yield from _guarded("inotify", lambda: surroundings.watches(vaults.folders(known), running.pid(told)))
    yield from _guarded("model", lambda: meaning.model(settings))
    if start_worker:
        yield from _guarded("worker", lambda: meaning.worker(settings))


def _guarded(check: str, look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    try:
        yield from look()
    except Exception as error:  # a doctor who faints helps nobody
        words = f"the check itself failed: {type(error).__name__}: {error}"
        yield Finding(check, BROKEN, words, "please report it", f"the check failed: {type(error).__name__}")
