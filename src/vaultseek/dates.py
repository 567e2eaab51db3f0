"""When a note was created: what it says itself, else its daily-note name, else its modification time."""

from __future__ import annotations

import re
from datetime import datetime

from vaultseek.model import Note

CREATED_PROPERTIES = ("created", "date created", "creation date", "date")
_DAY = re.compile(r"(?<!\d)(\d{4}-\d{2}-\d{2})(?!\d)")


def created_time(note: Note, modified: float) -> float:
    """Seconds since the epoch."""
    stated = (note.frontmatter.get(name) for name in CREATED_PROPERTIES)
    named = _DAY.search(note.path.rpartition("/")[2])
    for text in (*stated, named.group(1) if named else None):
        moment = _moment(text)
        if moment is not None:
            return moment
    return modified


def _moment(text: object) -> float | None:
    if not isinstance(text, str):
        return None
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
