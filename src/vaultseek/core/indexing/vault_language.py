"""Judge the language of a vault: the share of its notes that a model of English does not read well.

A sample of the notes that are there now decides, so two vaults of the same notes are judged alike, whatever
their history. The last share is kept beside the index, to know the model before the index is open.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from vaultseek.base.paths import private_directory, read_json, write_atomically
from vaultseek.content.files.ignore import Ignore
from vaultseek.content.files.read import read_note
from vaultseek.content.files.scan import scan
from vaultseek.content.kinds import is_markdown
from vaultseek.content.markdown.decode import decode
from vaultseek.content.markdown.frontmatter import read_frontmatter
from vaultseek.core.indexing.language_support import JUDGED_CHARS, foreign_share
from vaultseek.store.ledger import Ledger

SAMPLED_NOTES = 200
"""Notes whose beginnings are judged."""
SHARE_FILE = "foreign-share.json"

T = TypeVar("T")


def share_of_ledger(ledger: Ledger, count: Callable[[str], int]) -> float | None:
    """Return the share of the vault's notes that are not in English; None without a note."""
    rows = ledger.select("SELECT id, path FROM notes ORDER BY path")
    ids = [number for number, path in rows if is_markdown(path)] or [number for number, _ in rows]
    if not ids:
        return None
    return foreign_share((ledger.chunks.opening(note, JUDGED_CHARS) for note in _sample(ids)), count)


def share_of_folder(root: Path, exclude: Sequence[str], count: Callable[[str], int]) -> float | None:
    """Return the same from the files of a vault that has no index yet."""
    paths = sorted(file.path for file in scan(root, Ignore(root, tuple(exclude))) if is_markdown(file.path))
    return foreign_share(_beginnings(root, _sample(paths)), count) if paths else None


def kept_share(directory: Path) -> float | None:
    """Return the share that was judged last for the index in ``directory``; None if there is none."""
    try:
        share = read_json(directory / SHARE_FILE)["foreign_share"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return float(share) if isinstance(share, int | float) and 0 <= share <= 1 else None


def keep_share(directory: Path, share: float) -> None:
    """Keep the share beside the index in ``directory``."""
    write_atomically(private_directory(directory) / SHARE_FILE, json.dumps({"foreign_share": share}))


def _sample(notes: Sequence[T]) -> Sequence[T]:
    return notes[:: -(-len(notes) // SAMPLED_NOTES)]


def _beginnings(root: Path, paths: Sequence[str]) -> Iterator[str]:
    """Yield the texts of the notes, without their frontmatter."""
    for path in paths:
        note = read_note(root, path)
        if note is not None and note.problem is None:
            lines = decode(note.data)[0].split("\n", 400)
            yield "\n".join(lines[read_frontmatter(lines).body_line - 1 :])[: 2 * JUDGED_CHARS]
