"""Places where a test may make the program die or fail; nothing happens there unless the environment says so.

``VAULTSEEK_FAILPOINTS="ledger.commit=kill@3;keyword.apply=raise:28"`` ends the process with SIGKILL at the
third passing of ``ledger.commit`` and raises ``OSError(28)`` at every passing of ``keyword.apply``.
"""

from __future__ import annotations

import os
import signal

_VARIABLE = "VAULTSEEK_FAILPOINTS"


def _planned() -> dict[str, tuple[str, int]]:
    plans: dict[str, tuple[str, int]] = {}
    for entry in filter(None, os.environ.get(_VARIABLE, "").split(";")):
        name, _, plan = entry.partition("=")
        what, _, count = plan.partition("@")
        plans[name.strip()] = what.strip(), int(count or 0)
    return plans


_plans = _planned()
_passed: dict[str, int] = {}


def failpoint(name: str) -> None:
    """A step that has to be repeatable ends or begins here."""
    if not _plans or name not in _plans:
        return
    what, count = _plans[name]
    _passed[name] = _passed.get(name, 0) + 1
    if count and _passed[name] != count:
        return
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    raise OSError(int(what.partition(":")[2] or 5), f"failpoint {name}")
