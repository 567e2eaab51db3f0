"""New links and notes as a vault wants them: Obsidian's own settings, where there are any."""

from __future__ import annotations

import json
import posixpath
from pathlib import Path
from typing import Any, NamedTuple

from vaultseek.limits import KIB
from vaultseek.markdown.resolve import NOTE_SUFFIX
from vaultseek.markdown.spelling import Format, LinkStyle
from vaultseek.vault.ignore import OBSIDIAN_FOLDER

SETTINGS_BYTES = 64 * KIB
"""Maximum size of Obsidian's file of settings; a larger one is not read."""
_FORMATS: dict[Any, Format] = {"shortest": "shortest", "relative": "relative", "absolute": "absolute"}


class Manner(NamedTuple):
    """The manner of a vault: its new links, and the folder of new notes; None is that of the open note."""

    links: LinkStyle = LinkStyle()
    folder: str | None = ""

    def path_of(self, target: str, source: str) -> str | None:
        """Return where the note that a link of ``source`` misses would be made; None if outside the vault."""
        name = target if target.endswith(NOTE_SUFFIX) else target + NOTE_SUFFIX
        own = posixpath.dirname(source)
        if name.startswith("/"):
            folder = ""
        elif name.startswith(("./", "../")) or self.folder is None:
            folder = own
        else:
            folder = "" if "/" in name else self.folder
        path = posixpath.normpath(posixpath.join(folder, name.lstrip("/")))
        return None if path.startswith("../") or "\0" in path else path


def has_obsidian(root: Path) -> bool:
    """True for a vault of Obsidian; other programs take the path of a Markdown link as relative."""
    return (root / OBSIDIAN_FOLDER).is_dir()


def manner_of(root: Path) -> Manner:
    """Return what Obsidian's settings in the vault say; the usual where they say nothing."""
    try:
        with (root / OBSIDIAN_FOLDER / "app.json").open("rb") as file:
            data = file.read(SETTINGS_BYTES + 1)
        settings = json.loads(data) if len(data) <= SETTINGS_BYTES else {}
    except (OSError, ValueError, RecursionError):
        return Manner()
    if not isinstance(settings, dict):
        return Manner()
    style = LinkStyle(
        _FORMATS.get(str(settings.get("newLinkFormat")), "shortest"),
        settings.get("useMarkdownLinks") is True,
    )
    location, folder = settings.get("newFileLocation"), settings.get("newFileFolderPath")
    if location == "current":
        return Manner(style, None)
    if location == "folder" and isinstance(folder, str) and ".." not in folder.split("/"):
        return Manner(style, folder.strip("/"))
    return Manner(style)
