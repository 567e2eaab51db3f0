"""Cursors: where the next page of a search begins, as a short text that an agent hands back. No I/O."""

from __future__ import annotations

import hashlib
import json
import re
from typing import NamedTuple

from vaultseek.errors import UsageError

_FORM = re.compile(r"(\d{1,6})-([0-9a-f]{4})-(\d{1,18})")


class Cursor(NamedTuple):
    """The number of results before a page, and the revision of the index that they came from."""

    offset: int = 0
    revision: int | None = None


def write_cursor(cursor: Cursor, *question: object) -> str:
    """Return ``cursor`` as text that is valid for ``question`` only."""
    return f"{cursor.offset}-{_digest(question)}-{cursor.revision or 0}"


def read_cursor(text: str | None, *question: object) -> Cursor:
    """Return the cursor; without a text, that of the first page.

    Raises UsageError if the text is no cursor, or that of another question.
    """
    if text is None:
        return Cursor()
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise UsageError("that is no cursor; use the one at the end of the last page, or none for the first")
    if match[2] != _digest(question):
        raise UsageError("the cursor is of another search; repeat its query, mode and vault, or leave it out")
    return Cursor(int(match[1]), int(match[3]))


def _digest(question: tuple[object, ...]) -> str:
    text = json.dumps(question, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:4]
