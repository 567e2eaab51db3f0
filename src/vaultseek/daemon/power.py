"""Reduction of background work while the machine runs on battery."""

import asyncio
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from vaultseek.base.precedence import set_on_battery

POWER_SECONDS = 60.0
"""Seconds between checks of the power supply."""
SUPPLIES = Path("/sys/class/power_supply")
_PMSET = ("/usr/bin/pmset", "-g", "batt")
_PMSET_SECONDS = 5.0


async def follow_power() -> None:
    """Check the power supply once a minute. Never returns."""
    while True:
        set_on_battery(await asyncio.to_thread(is_on_battery))
        await asyncio.sleep(POWER_SECONDS)


def is_on_battery(supplies: Path = SUPPLIES) -> bool:
    """Return True if the machine runs only on a discharging battery; False if this is unknown.

    Batteries of devices such as a mouse are ignored.
    """
    if sys.platform == "darwin":
        with suppress(OSError, subprocess.SubprocessError):
            done = subprocess.run(_PMSET, capture_output=True, check=False, timeout=_PMSET_SECONDS)
            return b"'Battery Power'" in done.stdout
        return False
    is_discharging = False
    with suppress(OSError):
        for supply in supplies.iterdir():
            if _value(supply / "type") != "Battery":
                if _value(supply / "online") == "1":
                    return False
            elif _value(supply / "scope") != "Device":
                is_discharging |= _value(supply / "status") == "Discharging"
    return is_discharging


def _value(file: Path) -> str:
    with suppress(OSError):
        return file.read_text(encoding="utf-8", errors="replace").strip()
    return ""
