"""Determine how a vault writes new links and where it puts new notes, from Obsidian's settings if
available.
"""

import posixpath
from pathlib import Path
from typing import Any, NamedTuple

from vaultseek.content.files.obsidian import app_settings
from vaultseek.content.markdown.resolve import NOTE_SUFFIX
from vaultseek.content.markdown.spelling import Format, LinkStyle

_FORMATS: dict[Any, Format] = {"shortest": "shortest", "relative": "relative", "absolute": "absolute"}


class Manner(NamedTuple):
    """Style of new links in a vault, and the folder for new notes; None means the folder of the open note."""

    links: LinkStyle = LinkStyle()
    folder: str | None = ""

    def path_of(self, target: str, source: str) -> str | None:
        """Return the path at which to create the missing note that a link in ``source`` names.

        Returns None if the path is outside the vault.
        """
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


def manner_of(root: Path) -> Manner:
    """Return the style set in the vault's Obsidian settings, or the default style."""
    settings = app_settings(root)
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
