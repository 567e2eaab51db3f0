"""The folder of an index: its lock, and what stands where a file of it has to be."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import IO

from vaultseek.base import paths
from vaultseek.store.concept_vocabulary import FILE_NAME

log = logging.getLogger(__name__)
_FILES = ("vault.json", "reading", "reading.json", "foreign-share.json", FILE_NAME)


def open_folder(directory: Path, root: Path) -> IO[bytes]:
    """Lock the folder of the index of the vault at ``root``, and clear it; return the lock.

    Raises AlreadyRunning if another process has it open, and OSError.
    """
    lock = paths.lock_directory(paths.private_directory(directory))
    try:
        _remove_links(directory)
        for name in _FILES:
            paths.clear_place(directory / name)
        paths.write_atomically(directory / "vault.json", json.dumps({"path": str(root)}))
    except BaseException:
        lock.close()
        raise
    return lock


def _remove_links(directory: Path) -> None:
    """Remove all symbolic links, for writing through one would change its target."""
    for folder, folders, files in os.walk(directory):
        for name in (*folders, *files):
            path = Path(folder) / name
            if path.is_symlink():
                log.warning("%s is a link; it is removed, and what was there is made again", path)
                paths.remove(path)
