"""The grep baseline: notes ranked by the number of query words that occur in their text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence

from vaultseek.base.text import fold
from vaultseek.content.languages.stopwords import STOP_WORDS
from vaultseek.store.ledger import Ledger


class Grep:
    """The folded text of every note, in memory."""

    def __init__(self, ledger: Ledger) -> None:
        ids = ledger.notes.ids()
        rows = ledger.notes.by_id(ids)
        chunks = ledger.chunks.by_note(ids)
        self._texts = {
            row.path: fold("\n".join([row.path, *(chunk.text for chunk in chunks[number])]))
            for number, row in rows.items()
        }

    def search(self, text: str, limit: int, allowed: Container[str] | None = None) -> list[str]:
        """Return paths by the number of distinct query words that occur, best first.

        Stop words count only if there are no other words. Ties are broken by the number of occurrences, then
        by path. ``allowed`` restricts the notes.
        """
        words = {fold(word) for word in text.split()}
        words = words - STOP_WORDS or words
        matches = [
            (*_count(words, content), path)
            for path, content in self._texts.items()
            if allowed is None or path in allowed
        ]
        best = sorted((-distinct, -count, path) for distinct, count, path in matches if distinct)
        return [path for *_, path in best[:limit]]


def _count(words: Sequence[str] | set[str], text: str) -> tuple[int, int]:
    counts = Counter({word: text.count(word) for word in words if word})
    return sum(count > 0 for count in counts.values()), counts.total()
