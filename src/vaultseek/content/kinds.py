"""Kinds of files that are read, by suffix, and the setting that enables each kind.

All other files in a vault are attachments: they are indexed by name only, as targets of links.
"""

from collections.abc import Collection, Mapping
from typing import Literal, get_args

Kind = Literal["note", "canvas", "base", "excalidraw", "text", "org", "html", "pdf", "image", "session"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Switch = Literal["canvas", "base", "excalidraw", "text", "org", "html", "pdf", "ocr", "session"]
"""A value in the setting ``[index] kinds``: a kind of file to read in addition to notes. ``ocr`` reads images
and scanned PDF pages, ``session`` reads logs of coding agents."""
DEFAULT_SWITCHES: tuple[Switch, ...] = ("canvas", "base", "excalidraw", "text", "org", "html", "pdf")

_IMAGES = ("png", "jpg", "jpeg", "webp", "bmp", "tif", "tiff")
_BY_EXTENSION: Mapping[str, Kind] = {
    "md": "note",
    "canvas": "canvas",
    "base": "base",
    "excalidraw": "excalidraw",
    "txt": "text",
    "org": "org",
    "html": "html",
    "htm": "html",
    "pdf": "pdf",
    "jsonl": "session",
    **dict.fromkeys(_IMAGES, "image"),
}
_DRAWING = ".excalidraw.md"
LINKING_TURN = 1
"""Last position in the reading order (see ``turn``) of files that may link to notes. PDFs and pictures, which
cannot link, come after it."""
_TURNS: Mapping[Kind, int] = {"note": 0, "pdf": 2, "image": 3}


def kind_of(path: str) -> Kind | None:
    """Return the kind of the file at ``path``; None for an attachment."""
    kind = _BY_EXTENSION.get(path.rpartition(".")[2].lower())
    return "excalidraw" if kind == "note" and path[-len(_DRAWING) :].lower() == _DRAWING else kind


_MEDIA: Mapping[str, str] = {
    **dict.fromkeys((*_IMAGES, "gif", "svg", "avif"), "image"),
    **dict.fromkeys(("flac", "m4a", "mp3", "ogg", "wav", "3gp"), "audio"),
    **dict.fromkeys(("mkv", "mov", "mp4", "ogv", "webm"), "video"),
}


def file_type(name: str) -> str | None:
    """Return the media type of a file by its name, such as ``image``; None for a note or an unknown
    suffix.
    """
    kind = _MEDIA.get(name.rpartition(".")[2].lower()) or kind_of(name)
    return None if kind == "note" or "." not in name else kind


def is_read(path: str, switches: Collection[str] = DEFAULT_SWITCHES) -> bool:
    """True if the file is read: it is a note, or of a kind that ``switches`` enable."""
    kind = kind_of(path)
    return kind == "note" or (kind is not None and ("ocr" if kind == "image" else kind) in switches)


def is_markdown(path: str) -> bool:
    """True if the file is Markdown. Only in Markdown files do displayed lines correspond to the lines on
    disk.
    """
    return path[-3:].lower() == ".md"


def turn(path: str) -> int:
    """Return a file's position in the order of reading and embedding: 0, the first, for notes; PDFs and
    pictures come last.
    """
    return _TURNS.get(kind_of(path) or "note", 1)


def shown_name(name: str) -> str:
    """Return a file name without its extension, for use as a title; a drawing has two extensions."""
    return name.removesuffix(".excalidraw") or name
