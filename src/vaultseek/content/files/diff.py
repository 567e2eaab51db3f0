"""Compute the differences between a vault on disk and its ledger."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vaultseek.base.model import Problem
from vaultseek.content.files.scan import FileStat, ScannedFile
from vaultseek.content.kinds import turn


@dataclass(frozen=True, slots=True)
class FileState:
    """State of a note's file as recorded in the ledger.

    If ``racy`` is true, ``stat`` cannot be trusted, so the file is read again.
    """

    stat: FileStat
    racy: bool


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes needed to sync the ledger with the disk. ``moved`` holds pairs of old and new path.

    The files to ``read`` are sorted: notes come before PDFs and pictures, and recently modified files before
    older ones, because recent files are searched for most. ``scope`` has the files and folders that were
    compared; ``""`` means the whole vault.
    """

    read: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    moved: tuple[tuple[str, str], ...] = ()
    attachments_added: tuple[str, ...] = ()
    attachments_removed: tuple[str, ...] = ()
    problems: tuple[tuple[str, Problem], ...] = ()
    scope: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(
            self.read or self.removed or self.moved or self.attachments_added or self.attachments_removed
        )


def compare(
    disk: Iterable[ScannedFile],
    notes: Mapping[str, FileState],
    attachments: frozenset[str],
    scope: tuple[str, ...] = ("",),
) -> Changes:
    """Compare a scan of the vault, or of a part of it, with the same part of the ledger.

    A note has moved if it disappears from one path and appears at another with the same inode, size and
    modification time. Times are compared for equality only, because clocks may jump.
    """
    new: dict[str, FileStat] = {}
    changed: dict[str, FileStat] = {}
    seen_notes: set[str] = set()
    seen_attachments: set[str] = set()
    problems: list[tuple[str, Problem]] = []
    for file in disk:
        if file.problem is not None:
            problems.append((file.path, file.problem))
        elif file.stat is None:
            seen_attachments.add(file.path)
        else:
            seen_notes.add(file.path)
            known = notes.get(file.path)
            if known is None:
                new[file.path] = file.stat
            elif known.racy or known.stat != file.stat:
                changed[file.path] = file.stat
    unlisted = tuple(path + "/" for path, problem in problems if problem.code == "unreadable_folder")
    gone = [path for path in notes if path not in seen_notes and not _below(path, unlisted)]
    moved = _moves(new, gone, notes)
    targets = {target for _, target in moved}
    sources = {source for source, _ in moved}
    missing = (path for path in attachments - seen_attachments if not _below(path, unlisted))
    unread = changed | {path: stat for path, stat in new.items() if path not in targets}
    return Changes(
        read=tuple(sorted(unread, key=lambda path: (turn(path), -unread[path].mtime_ns, path))),
        removed=tuple(path for path in gone if path not in sources),
        moved=tuple(moved),
        attachments_added=tuple(sorted(seen_attachments - attachments)),
        attachments_removed=tuple(sorted(missing)),
        problems=tuple(problems),
        scope=scope,
    )


def _below(path: str, folders: tuple[str, ...]) -> bool:
    return bool(folders) and ("./" in folders or path.startswith(folders))


def _moves(
    new: Mapping[str, FileStat], gone: list[str], notes: Mapping[str, FileState]
) -> list[tuple[str, str]]:
    if not new or not gone:
        return []
    sources: dict[tuple[int, int, int], str] = {}
    for path in gone:
        stat = notes[path].stat
        sources[stat.inode, stat.size, stat.mtime_ns] = path
    moves: list[tuple[str, str]] = []
    for path, stat in new.items():
        source = sources.pop((stat.inode, stat.size, stat.mtime_ns), None)
        if source is not None:
            moves.append((source, path))
    return moves
