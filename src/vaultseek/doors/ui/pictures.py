"""Pictures and PDF pages read from the vault, in formats that browsers never execute."""

import re
from pathlib import Path
from typing import NamedTuple

from vaultseek.base.limits import NOTE_READ_BYTES, PDF_BYTES
from vaultseek.base.text import printable
from vaultseek.content.extractors.process import ExtractionProcess
from vaultseek.content.files.read import read_note
from vaultseek.errors import BadPath, NotFound, Unavailable

EXTENSIONS = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".svg")
"""Extensions of files shown as pictures. An SVG may contain scripts, but they do not run in an ``img``
element."""
_COMMENTS = rb"(?:<!--(?:(?!-->).)*+-->\s*+)*+"
"""Comments in an SVG, matched without backtracking."""
_BEGINNINGS = (
    ("image/png", re.compile(rb"\x89PNG\r\n\x1a\n")),
    ("image/jpeg", re.compile(rb"\xff\xd8\xff")),
    ("image/gif", re.compile(rb"GIF8[79]a")),
    ("image/webp", re.compile(rb"RIFF....WEBP", re.DOTALL)),
    ("image/avif", re.compile(rb"....ftypavi[fs]", re.DOTALL)),
    (
        "image/svg+xml",
        # Custom entities are not allowed, because a few bytes of them could expand endlessly.
        re.compile(
            rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*\?>\s*)?"
            + _COMMENTS
            + rb"(?:<!DOCTYPE svg[^>\[]*>\s*)?"
            + _COMMENTS
            + rb"<svg[\s>]",
            re.DOTALL,
        ),
    ),
)
"""Picture types, with patterns for the first bytes of their files."""


class Picture(NamedTuple):
    """The bytes of a picture and its media type."""

    data: bytes
    type: str


def read_picture(root: Path, path: str) -> Picture:
    """Return the picture at ``path`` in the vault at ``root``, without following symbolic links.

    Raises BadPath or NotFound, and Unavailable if the file is not a picture.
    """
    data = _read(root, path)
    # The first bytes decide, not the file name.
    type = next((type for type, beginning in _BEGINNINGS if beginning.match(data)), None)
    if type is None:
        raise Unavailable(
            f"{printable(path)} is not a picture that can be shown; use another program to open it"
        )
    return Picture(data, type)


def draw_page(process: ExtractionProcess, root: Path, path: str, number: int) -> Picture:
    """Return a page of the PDF at ``path``, drawn by ``process``, which cannot access other files.

    Raises BadPath or NotFound, and Unavailable if the page cannot be drawn.
    """
    drawn = process.page(_read(root, path, PDF_BYTES), number)
    if drawn is None:
        raise Unavailable(
            f"page {number} of {printable(path)} cannot be shown; use another program to open it"
        )
    return Picture(drawn, "image/png")


def _read(root: Path, path: str, most: int = NOTE_READ_BYTES) -> bytes:
    parts = path.split("/")
    if "\0" in path or any(not part or part.startswith(".") for part in parts):
        raise BadPath(f"{printable(path)} is not in the vault; use its path in the vault")
    file = read_note(root, path, most)
    if file is None:
        raise NotFound(f"{printable(path)} does not exist; check the link")
    return b"" if file.problem else file.data
