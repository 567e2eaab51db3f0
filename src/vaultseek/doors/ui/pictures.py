"""Pictures that notes embed: read from the vault like notes, and only what browsers show without running."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from vaultseek.base.text import printable
from vaultseek.content.files.read import read_note
from vaultseek.errors import BadPath, NotFound, Unavailable

EXTENSIONS = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".svg")
"""Endings of files that are shown as pictures. An SVG can hold programs, which run in no ``img`` element."""
_BEGINNINGS = (
    ("image/png", re.compile(rb"\x89PNG\r\n\x1a\n")),
    ("image/jpeg", re.compile(rb"\xff\xd8\xff")),
    ("image/gif", re.compile(rb"GIF8[79]a")),
    ("image/webp", re.compile(rb"RIFF....WEBP", re.DOTALL)),
    ("image/avif", re.compile(rb"....ftypavi[fs]", re.DOTALL)),
    (
        "image/svg+xml",
        # Without entities of its own, which a few bytes can make endless.
        re.compile(
            rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--.*?-->\s*)*(?:<!DOCTYPE svg[^>\[]*>\s*)?"
            rb"(?:<!--.*?-->\s*)*<svg[\s>]",
            re.DOTALL,
        ),
    ),
)
"""Types with the beginnings of their files."""


class Picture(NamedTuple):
    """The bytes of a picture and their type."""

    data: bytes
    type: str


def read_picture(root: Path, path: str) -> Picture:
    """Return the picture at ``path`` of the vault at ``root``; no link is followed.

    Raises BadPath, NotFound, or Unavailable for what is no picture.
    """
    parts = path.split("/")
    if "\0" in path or any(not part or part.startswith(".") for part in parts):
        raise BadPath(f"{printable(path)} is not a file of the vault; give its path in the vault")
    file = read_note(root, path)
    if file is None:
        raise NotFound(f"{printable(path)} does not exist; check the link")
    type = None if file.problem else _type_of(file.data)
    if type is None:
        raise Unavailable(f"{printable(path)} is no picture that can be shown; use its own program")
    return Picture(file.data, type)


def _type_of(data: bytes) -> str | None:
    """Return the type that the first bytes show, whatever the file is called."""
    return next((type for type, beginning in _BEGINNINGS if beginning.match(data)), None)
