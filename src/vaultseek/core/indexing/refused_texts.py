"""Texts that a server of the user's own refused, and that are tried again: a server may change its mind."""

from __future__ import annotations

from vaultseek.base.model import NOT_EMBEDDED
from vaultseek.core.indexing.unembedded import Unembedded
from vaultseek.store.ledger import Ledger

TRIES = 5
"""Starts of the daemon at which the texts of a note are tried again, or those of no use would be for ever."""
PAGE_NOTES = 200


def try_refused_again(ledger: Ledger, unembedded: Unembedded) -> int:
    """Have the texts embedded that have no vector because the model failed; return of how many notes.

    Runs in the writer thread, once after a start.
    """
    before = ledger.problems.tries()
    refused = ledger.problems.paths(NOT_EMBEDDED)
    tries = {path: before.get(path, 0) + 1 for path in refused}
    again = [path for path in refused if tries[path] <= TRIES]
    numbers = list(ledger.notes.numbers(again).values())
    for start in range(0, len(numbers), PAGE_NOTES):
        page = numbers[start : start + PAGE_NOTES]
        items = [item for item in unembedded.of_notes(page) if item.text is not None and not item.vector]
        ledger.pending.add(
            [item.chunk for item in items if item.chunk is not None],
            [item.note for item in items if item.chunk is None],
        )
    for path in again:
        ledger.problems.remove(path, NOT_EMBEDDED)
    if tries != before:
        ledger.problems.set_tries({path: min(count, TRIES + 1) for path, count in tries.items()})
    return len(again)
