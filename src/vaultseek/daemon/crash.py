"""A crash in native code, which Python cannot catch: the next daemon writes into its log what is known."""

from __future__ import annotations

import faulthandler
import logging
import os
from pathlib import Path

CRASH_CHARS = 4_000
"""Part of the report of a crash that goes into the log."""

log = logging.getLogger(__name__)


def report_crashes(file: Path) -> None:
    """Log the crash of the daemon before this one, if ``file`` has one, and have one of this daemon go there.

    Where a thread of the daemon reads memory that is gone, because a file was cut off for example, the system
    ends the process. Nothing is lost by that, and the next command starts another one.
    """
    try:
        text = file.read_text("utf-8", "replace")[:CRASH_CHARS].strip() if file.exists() else ""
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        log.warning("a crash could not be reported: %s", error)
        return
    faulthandler.enable(descriptor)  # the descriptor stays open as long as the process
    if text:
        log.error("the daemon before this one crashed, and nothing is lost; please report this:\n%s", text)
