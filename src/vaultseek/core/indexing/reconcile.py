"""Compare the disk with the ledger, for the whole vault or only for given paths.

The same comparison runs after a save, at startup, after lost file events, and at each rescan interval.
"""

import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from vaultseek.base.paths import is_folder, no_folder_reason
from vaultseek.content.files.diff import Changes, FileState, compare
from vaultseek.content.files.ignore import Ignore
from vaultseek.content.files.obsidian import OBSIDIAN_FOLDER
from vaultseek.content.files.scan import ScannedFile, bad_name, file_stat, scan, skipped_folder, skipped_link
from vaultseek.errors import Cancelled, VaultMissing
from vaultseek.store.ledger import Ledger

T = TypeVar("T")
CLOSING = "the vault is being closed"
VANISHED_SHARE = 0.5
"""A vault is considered unmounted if more than this share of its notes, and at least ``VANISHED_NOTES``,
disappear at once."""
VANISHED_NOTES = 20


def compare_vault(
    root: Path, ignore: Ignore, ledger: Ledger, stopped: threading.Event | None = None
) -> Changes:
    """Compare the whole vault on disk with the ledger.

    Raises VaultMissing if the vault's folder is missing, or Cancelled once ``stopped`` is set.
    """
    if not is_folder(root):
        reason = no_folder_reason(root)
        raise VaultMissing(f"{root} cannot be reached: {reason}; its index is kept until the folder is back")
    files = until_stopped(scan(root, ignore), stopped or threading.Event())
    return compare(files, ledger.notes.file_states(), ledger.attachments.paths())


def looks_unmounted(changes: Changes, ledger: Ledger, root: Path) -> bool:
    """True if so many notes disappeared at once that the vault is probably unmounted, not emptied.

    Notes that are still in the folder ``root`` do not count as disappeared, because they were excluded on
    purpose. New notes show that the vault is mounted, because an empty mount point has none. A Git repository
    is never considered unmounted, because a branch may have few notes.
    """
    if os.path.lexists(root / ".git"):
        return False
    notes = ledger.counts().notes

    def are_many(count: int) -> bool:
        return count >= VANISHED_NOTES and count > notes * VANISHED_SHARE

    removed = set(changes.removed).difference(changes.attachments_added)
    if not are_many(len(removed)):
        return False
    notes += len(set(changes.read).difference(ledger.notes.file_states()))
    return are_many(sum(not os.path.lexists(root / path) for path in removed))


def compare_paths(root: Path, ignore: Ignore, ledger: Ledger, paths: Iterable[str]) -> Changes:
    """Compare the files and folders at ``paths`` on disk with the ledger; a folder includes everything below
    it.
    """
    disk: dict[str, ScannedFile] = {}
    notes: dict[str, FileState] = {}
    attachments: set[str] = set()
    scope: list[str] = []
    # A folder becomes a separate vault when it gets Obsidian settings, and stops being one when they are
    # removed.
    for path in _outermost(path.removesuffix(f"/{OBSIDIAN_FOLDER}") for path in paths):
        above, _, _ = path.rpartition("/")
        if bad_name(above) is not None:
            continue  # its own event, or the next scan, reports the folder
        if (unnamed := bad_name(path)) is not None:
            scope.append(unnamed.path)
            if os.path.lexists(root / path):
                disk[unnamed.path] = unnamed
            continue
        scope.append(path)
        notes.update(ledger.notes.file_states(path))
        attachments.update(ledger.attachments.paths(path))
        known = ledger.notes.file_state(path)
        if known is not None:
            notes[path] = known
        elif ledger.attachments.contains(path):
            attachments.add(path)
        disk.update((file.path, file) for file in _scan_path(root, ignore, path))
    return compare(disk.values(), notes, frozenset(attachments), tuple(scope))


def _scan_path(root: Path, ignore: Ignore, path: str) -> Iterator[ScannedFile]:
    above = path.rpartition("/")[0]
    if (above and _through_link(root, above)) or ignore.skips(path):
        return
    if (root / path).is_symlink():
        if not ignore.is_excluded(path) and (link := skipped_link(path)) is not None:
            yield link
    elif (root / path).is_dir():
        if not ignore.skips_folder(path):
            yield from scan(root, ignore, path)
        elif (folder := skipped_folder(path, ignore)) is not None:
            yield folder
    elif not ignore.is_read(path):
        if (root / path).is_file():
            yield ScannedFile(path, None)
    else:
        stat = file_stat(root, path)
        if stat is not None:
            yield ScannedFile(path, stat)


def _through_link(root: Path, path: str) -> bool:
    folder = root
    for name in path.split("/"):
        folder = folder / name
        if folder.is_symlink():
            return True
    return False


def _outermost(paths: Iterable[str]) -> list[str]:
    outermost: list[str] = []
    for path in sorted(paths, key=lambda path: path.split("/")):
        if not outermost or not path.startswith(outermost[-1] + "/"):
            outermost.append(path)
    return outermost


def until_stopped(items: Iterable[T], stopped: threading.Event) -> Iterator[T]:
    """Yield the items. Raises Cancelled once ``stopped`` is set."""
    for item in items:
        if stopped.is_set():
            raise Cancelled(CLOSING)
        yield item
