"""Choose the models of each vault, and start the workers that run them."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from vaultseek.base.model import Reason
from vaultseek.base.paths import is_folder, private_directory, read_json, write_atomically
from vaultseek.content.files.ignore import Ignore
from vaultseek.content.files.read import read_note
from vaultseek.content.files.scan import scan
from vaultseek.content.kinds import is_markdown
from vaultseek.content.markdown.decode import decode
from vaultseek.content.markdown.frontmatter import read_frontmatter
from vaultseek.core.indexing.open_vault import VaultOptions
from vaultseek.core.indexing.spaces import JUDGED_CHARS, foreign_share
from vaultseek.core.indexing.unembedded import EmbeddingSpec
from vaultseek.errors import ConfigError
from vaultseek.semantic.models.catalogue import LocalModel
from vaultseek.semantic.models.choice import VaultModels, counter_of
from vaultseek.semantic.worker.pool import WorkerPool
from vaultseek.store.ledger import Ledger


class ModelSource:
    """Source of models for vaults. Chooses among the models in the settings (``choice``), and runs their
    workers in ``pool``.
    """

    def __init__(self, choice: VaultModels, pool: WorkerPool) -> None:
        self.choice = choice
        self.pool = pool

    async def start(self, directories: Iterable[Path]) -> None:
        """Start the workers that the vaults with these index folders used last; without index folders, start
        the default worker.

        Models load slowly, so workers are started before the vaults are opened.
        """
        shares = [kept_share(directory) or 0.0 for directory in directories] or [0.0]
        for share in shares:
            await self.pool.worker(self.choice.of_vault(share).main).start()

    def of_vault(self, options: VaultOptions, directory: Path) -> VaultModels:
        """Return the models of a vault that is not open yet. May read notes, so call it in a thread."""
        share = kept_share(directory) if self.choice.automatic else 0.0
        if share is None:
            count = self.spec(self.choice.main).count
            share = share_of_folder(options.root, options.exclude, count) if is_folder(options.root) else None
        return self._usable(share or 0.0)

    def of_notes(self, ledger: Ledger, directory: Path) -> VaultModels | None:
        """Choose models by the languages of the vault's current notes; return None if there are no notes.

        The share of non-English notes is stored with the index.
        """
        share = share_of_ledger(ledger, self.spec(self.choice.main).count)
        if share is None:
            return None
        if share != kept_share(directory):
            keep_share(directory, share)
        return self._usable(share)

    def spec(self, model: LocalModel) -> EmbeddingSpec:
        """Return the embedding spec of the model, with its tokenizer loaded."""
        return EmbeddingSpec(model.fingerprint, counter_of(model), model.window, model.name)

    def _usable(self, share: float) -> VaultModels:
        """Return the models for a vault in which this ``share`` of notes is not in English.

        If the chosen model's tokenizer cannot be read, returns the default models.
        """
        models = self.choice.of_vault(share)
        try:
            counter_of(models.main)
        except ConfigError as error:
            missing = Reason("model_unusable", str(error), error.advice)
            return replace(self.choice, second=None, missing=missing).of_vault(share)
        return models


SAMPLED_NOTES = 200
"""Number of notes sampled to detect a vault's language. Only the beginning of each note is read."""
SHARE_FILE = "foreign-share.json"

T = TypeVar("T")


def share_of_ledger(ledger: Ledger, count: Callable[[str], int]) -> float | None:
    """Return the share of a vault's notes that are not in English, read from the vault's ledger; None if
    there are no notes.
    """
    rows = ledger.select("SELECT id, path FROM notes ORDER BY path")
    ids = [number for number, path in rows if is_markdown(path)] or [number for number, _ in rows]
    if not ids:
        return None
    return foreign_share((ledger.chunks.opening(note, JUDGED_CHARS) for note in _sample(ids)), count)


def share_of_folder(root: Path, exclude: Sequence[str], count: Callable[[str], int]) -> float | None:
    """Return the share of notes that are not in English, read from the files of a vault without an index.

    Returns None if there are no notes.
    """
    paths = sorted(file.path for file in scan(root, Ignore(root, tuple(exclude))) if is_markdown(file.path))
    return foreign_share(_beginnings(root, _sample(paths)), count) if paths else None


def kept_share(directory: Path) -> float | None:
    """Return the share of non-English notes that was stored with the index in ``directory``; None if nothing
    was stored.
    """
    try:
        share = read_json(directory / SHARE_FILE)["foreign_share"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return float(share) if isinstance(share, int | float) and 0 <= share <= 1 else None


def keep_share(directory: Path, share: float) -> None:
    """Store the share of non-English notes with the index in ``directory``."""
    write_atomically(private_directory(directory) / SHARE_FILE, json.dumps({"foreign_share": share}))


def _sample(notes: Sequence[T]) -> Sequence[T]:
    return notes[:: -(-len(notes) // SAMPLED_NOTES)]


def _beginnings(root: Path, paths: Sequence[str]) -> Iterator[str]:
    for path in paths:
        note = read_note(root, path)
        if note is not None and note.problem is None:
            lines = decode(note.data)[0].split("\n", 400)
            yield "\n".join(lines[read_frontmatter(lines).body_line - 1 :])[: 2 * JUDGED_CHARS]
