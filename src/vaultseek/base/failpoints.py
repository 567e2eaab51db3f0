"""Failpoints: named steps at which a test can kill the process or raise an error. Off unless configured.

``VAULTSEEK_FAILPOINTS="ledger.commit=kill@3;keyword.apply=raise:28"`` kills the process with SIGKILL at the
third ``ledger.commit`` and raises ``OSError(28)`` at every ``keyword.apply``; ``spin`` loops forever.
``"indexer.silence=after:2"`` sets the time limit ``indexer.silence`` to two seconds, so that a test need not
wait for a minute.
"""

from __future__ import annotations

import os
import signal

VARIABLE = "VAULTSEEK_FAILPOINTS"


def _read_plans() -> dict[str, tuple[str, int]]:
    plans: dict[str, tuple[str, int]] = {}
    for entry in filter(None, os.environ.get(VARIABLE, "").split(";")):
        name, _, plan = entry.partition("=")
        action, _, count = plan.partition("@")
        plans[name.strip()] = action.strip(), int(count or 0)
    return plans


_plans = _read_plans()
_counts: dict[str, int] = {}


def seconds_of(name: str, usual: float) -> float:
    """Return the time limit ``name`` in seconds: ``usual``, unless a test has set a different limit."""
    action, _, seconds = _plans.get(name, ("", 0))[0].partition(":")
    return float(seconds) if action == "after" else usual


def failpoint(name: str) -> None:
    """Mark a step that must be repeatable after a crash; a test can make the process crash here."""
    if not _plans or name not in _plans:
        return
    action, count = _plans[name]
    _counts[name] = _counts.get(name, 0) + 1
    if count and _counts[name] != count:
        return
    if action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    while action == "spin":
        pass
    raise OSError(int(action.partition(":")[2] or 5), f"failpoint {name}")
