"""The baseline that everybody has: notes by how many of the query's words are somewhere in their text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence

from vaultseek.index.ledger import Ledger
from vaultseek.query.stopwords import STOP_WORDS
from vaultseek.text import fold


class Grep:
    """Every note's text in memory, folded."""

    def __init__(self, ledger: Ledger) -> None:
        ids = ledger.notes.ids()
        rows = ledger.notes.by_id(ids)
        chunks = ledger.chunks.by_note(ids)
        self._texts = {
            row.path: fold("\n".join([row.path, *(chunk.text for chunk in chunks[number])]))
            for number, row in rows.items()
        }

    def search(self, text: str, limit: int, only: Container[str] | None = None) -> list[str]:
        """Paths by the number of different words found (stop words only if there are no others).

        Ties by how often the words are found, then by path. ``only`` these notes are looked at.
        """
        words = {fold(word) for word in text.split()}
        words = words - STOP_WORDS or words
        found = [
            (*_found(words, content), path)
            for path, content in self._texts.items()
            if only is None or path in only
        ]
        best = sorted((-distinct, -count, path) for distinct, count, path in found if distinct)
        return [path for *_, path in best[:limit]]


def _found(words: Sequence[str] | set[str], text: str) -> tuple[int, int]:
    counts = Counter({word: text.count(word) for word in words if word})
    return sum(count > 0 for count in counts.values()), counts.total()
