"""Audit log: a JSON line for each request with a token; queries are left out unless the settings enable
them."""

import json
import logging
import logging.handlers
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from vaultseek.base import limits, paths
from vaultseek.base.model import JSON
from vaultseek.base.text import one_line

AUDIT_FILES = 20
"""Number of full log files that are kept in addition to the current one."""

log = logging.getLogger(__name__)


class AuditLog:
    """Audit log in ``file``, which only the user can read; a new file is begun when the current one is
    full."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._handler: logging.handlers.RotatingFileHandler | None = None

    def write(self, entry: JSON, query: str | None = None) -> None:
        """Write a line with the time and ``entry``, and with ``query`` if it is given."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = {"time": now, **entry, **({} if query is None else {"query": query[: limits.QUERY_CHARS]})}
        record = logging.LogRecord("audit", logging.INFO, "", 0, json.dumps(line, default=str), None, None)
        self._opened().emit(record)

    def close(self) -> None:
        """Close the log file."""
        if self._handler is not None:
            self._handler.close()

    def _opened(self) -> logging.handlers.RotatingFileHandler:
        if self._handler is None:
            paths.private_directory(self.file.parent)
            os.close(os.open(self.file, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW, paths.FILE_MODE))
            self._handler = _Handler(
                self.file, maxBytes=10 * limits.LOG_BYTES, backupCount=AUDIT_FILES, encoding="utf-8"
            )
        return self._handler


class _Handler(logging.handlers.RotatingFileHandler):
    """A log handler that reports the first failure to write, instead of printing every lost line."""

    _failed = False

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name of the base class
        if not self._failed:
            log.error("the audit log cannot be written; requests continue without it", exc_info=True)
        self._failed = True


def entry_of(grant: str, client: str, method: str, params: JSON) -> JSON:
    """Return the fields of a log entry that are known before the request is answered."""
    names: dict[str, Any] = {"vault": params.get("vault"), "note": params.get("note")}
    present = {
        key: one_line(value, limits.NAME_CHARS) for key, value in names.items() if isinstance(value, str)
    }
    return {"token": grant, "client": client, "method": method, **present}
