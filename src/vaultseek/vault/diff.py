"""What is different between a vault on disk and what the ledger remembers of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vaultseek.model import Problem
from vaultseek.vault.scan import FoundFile, Stamp


@dataclass(frozen=True, slots=True)
class Known:
    """What the ledger remembers of a note: its stamp, and whether that stamp may be trusted."""

    stamp: Stamp
    racy: bool


@dataclass(frozen=True, slots=True)
class Changes:
    """The work that brings the ledger up to the disk. ``moved`` is old path to new path.

    ``looked`` names the files and folders that were compared; ``""`` is the whole vault.
    """

    read: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    moved: tuple[tuple[str, str], ...] = ()
    attachments_added: tuple[str, ...] = ()
    attachments_removed: tuple[str, ...] = ()
    problems: tuple[tuple[str, Problem], ...] = ()
    looked: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(
            self.read or self.removed or self.moved or self.attachments_added or self.attachments_removed
        )


def compare(
    disk: Iterable[FoundFile],
    notes: Mapping[str, Known],
    attachments: frozenset[str],
    looked: tuple[str, ...] = ("",),
) -> Changes:
    """Compare a whole scan, or the scan of a part with what the ledger holds of the same part.

    A note that is gone from one path and new at another with the same inode, size and modification time has
    moved. Stamps are compared for equality only: clocks jump.
    """
    new: dict[str, Stamp] = {}
    read: list[str] = []
    seen_notes: set[str] = set()
    seen_attachments: set[str] = set()
    problems: list[tuple[str, Problem]] = []
    for file in disk:
        if file.problem is not None:
            problems.append((file.path, file.problem))
        elif file.stamp is None:
            seen_attachments.add(file.path)
        else:
            seen_notes.add(file.path)
            known = notes.get(file.path)
            if known is None:
                new[file.path] = file.stamp
            elif known.racy or known.stamp != file.stamp:
                read.append(file.path)
    unlisted = tuple(path + "/" for path, problem in problems if problem.code == "unreadable_folder")
    gone = [path for path in notes if path not in seen_notes and not _below(path, unlisted)]
    moved = _moves(new, gone, notes)
    arrived = {target for _, target in moved}
    left = {source for source, _ in moved}
    lost = (path for path in attachments - seen_attachments if not _below(path, unlisted))
    return Changes(
        read=tuple(read) + tuple(path for path in new if path not in arrived),
        removed=tuple(path for path in gone if path not in left),
        moved=tuple(moved),
        attachments_added=tuple(sorted(seen_attachments - attachments)),
        attachments_removed=tuple(sorted(lost)),
        problems=tuple(problems),
        looked=looked,
    )


def _below(path: str, folders: tuple[str, ...]) -> bool:
    return bool(folders) and ("./" in folders or path.startswith(folders))


def _moves(new: Mapping[str, Stamp], gone: list[str], notes: Mapping[str, Known]) -> list[tuple[str, str]]:
    if not new or not gone:
        return []
    sources: dict[tuple[int, int, int], str] = {}
    for path in gone:
        stamp = notes[path].stamp
        sources[stamp.inode, stamp.size, stamp.mtime_ns] = path
    moves: list[tuple[str, str]] = []
    for path, stamp in new.items():
        source = sources.pop((stamp.inode, stamp.size, stamp.mtime_ns), None)
        if source is not None:
            moves.append((source, path))
    return moves
