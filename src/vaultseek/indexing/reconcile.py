"""What changed: the disk compared with the ledger, as a whole or where hints point.

The same comparison serves a save, a start, a lost event and the hourly look around.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from vaultseek.errors import VaultMissing
from vaultseek.index.ledger import Ledger
from vaultseek.vault.diff import Changes, Known, compare
from vaultseek.vault.ignore import Ignore
from vaultseek.vault.scan import FoundFile, is_note, left_out_folder, left_out_link, scan, stamp_of

VANISHED_SHARE = 0.5
"""If more than this share of the notes is gone at once, the vault is taken to be unmounted."""
VANISHED_NOTES = 20


def everything(root: Path, ignore: Ignore, ledger: Ledger) -> Changes:
    """Compare the whole vault. Raises VaultMissing if its folder is not there."""
    if not root.is_dir():
        raise VaultMissing(
            f"the vault's folder {root} is missing; its index is kept until the folder is back"
        )
    return compare(scan(root, ignore), ledger.notes.file_states(), ledger.attachments.paths())


def vanished(changes: Changes, notes: int) -> bool:
    """Whether so much is gone at once that the vault is rather unmounted than emptied."""
    gone = len(changes.removed)
    return gone >= VANISHED_NOTES and gone > notes * VANISHED_SHARE


def hinted(root: Path, ignore: Ignore, ledger: Ledger, hints: Iterable[str]) -> Changes:
    """Compare only what the hints name: files, or folders with all below them."""
    disk: dict[str, FoundFile] = {}
    notes: dict[str, Known] = {}
    attachments: set[str] = set()
    looked = _outermost(hints)
    for path in looked:
        notes.update(ledger.notes.file_states(path))
        attachments.update(ledger.attachments.paths(path))
        known = ledger.notes.file_state(path)
        if known is not None:
            notes[path] = known
        elif ledger.attachments.contains(path):
            attachments.add(path)
        disk.update((file.path, file) for file in _look(root, ignore, path))
    return compare(disk.values(), notes, frozenset(attachments), tuple(looked))


def _look(root: Path, ignore: Ignore, path: str) -> Iterator[FoundFile]:
    """What is on disk at a path that a hint named."""
    above = path.rpartition("/")[0]
    if (above and _through_link(root, above)) or ignore.anywhere(path):
        return
    if (root / path).is_symlink():
        if not ignore.unwanted(path) and (link := left_out_link(path)) is not None:
            yield link
    elif (root / path).is_dir():
        if not ignore.folder(path):
            yield from scan(root, ignore, path)
        elif (folder := left_out_folder(path, ignore)) is not None:
            yield folder
    elif not is_note(path):
        if (root / path).is_file():
            yield FoundFile(path, None)
    else:
        stamp = stamp_of(root, path)
        if stamp is not None:
            yield FoundFile(path, stamp)


def _through_link(root: Path, path: str) -> bool:
    at = root
    for name in path.split("/"):
        at = at / name
        if at.is_symlink():
            return True
    return False


def _outermost(hints: Iterable[str]) -> list[str]:
    """The hints that are not below another hint."""
    kept: list[str] = []
    for path in sorted(hints, key=lambda hint: hint.split("/")):
        if not kept or not path.startswith(kept[-1] + "/"):
            kept.append(path)
    return kept
