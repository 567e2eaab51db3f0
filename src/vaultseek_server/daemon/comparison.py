"""Comparison of a vault's counts in its engine and in its ledger, to verify that the engine has a complete
copy.

Both counts leave out texts without a vector (texts that cannot be embedded, or are not embedded yet in a
paused vault), and notes that the analysis cannot process.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vaultseek.base.model import JSON
from vaultseek.core.indexing.open_vault import OpenVault
from vaultseek.errors import IndexDamaged, WorkerUnavailable

TRIES = 3
"""Maximum number of comparisons. A comparison is repeated if the ledger changes during it."""
PAGE_NOTES = 500
_OTHER_NUMBERS = "the vector counts differ from the index"
_WITH_PROBLEM = (
    "SELECT DISTINCT n.id FROM problems p JOIN notes n ON n.path = p.path WHERE p.code = ? ORDER BY n.id"
)


@dataclass(frozen=True, slots=True)
class Number:
    """A count in the ledger, and the same count in the engine (None if the engine does not answer)."""

    of: str
    ledger: int
    engine: int | None

    @property
    def is_same(self) -> bool:
        """True if both counts are equal."""
        return self.ledger == self.engine

    def as_json(self) -> JSON:
        """Return the count as a JSON object for answers."""
        return {"of": self.of, "ledger": self.ledger, "engine": self.engine}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The counts for a vault in its ledger and its engine; ``reason`` explains why counts in the engine are
    missing."""

    words: tuple[Number, ...]
    vectors: tuple[Number, ...]
    second: tuple[Number, ...] = ()
    reason: str | None = None

    @property
    def numbers(self) -> tuple[Number, ...]:
        """All counts: those of words, of the first space's vectors, and of the second space's vectors."""
        return (*self.words, *self.vectors, *self.second)

    @property
    def is_same(self) -> bool:
        """True if all counts in the engine equal the counts in the ledger."""
        return all(number.is_same for number in self.numbers)


async def compare(vault: OpenVault) -> Comparison:
    """Compare the counts in a vault's ledger and engine; try again if the ledger changes during the
    comparison. Raises Unavailable."""
    for _ in range(TRIES):
        before = _state(vault)
        comparison = await _compare(vault)
        if _state(vault) == before:
            break
    return comparison


async def refill(vault: OpenVault, comparison: Comparison) -> None:
    """Discard stores whose counts differ from the ledger, and refill them in the background.

    Raises WorkerUnavailable.
    """
    if _differ(comparison.words):
        vault.rebuild_keyword_index()
    if _differ(comparison.vectors):
        await vault.embedding.discard_store(_OTHER_NUMBERS)
    if _differ(comparison.second) and vault.spaces.second is not None:
        await vault.spaces.second.discard_store(_OTHER_NUMBERS)


def _differ(numbers: Sequence[Number]) -> bool:
    return any(number.engine is not None and not number.is_same for number in numbers)


def _state(vault: OpenVault) -> tuple[object, ...]:
    return vault.ledger.revision, vault.ledger.counts()


async def _compare(vault: OpenVault) -> Comparison:
    ledger = vault.ledger
    counts = ledger.counts()
    notes, passages = await asyncio.to_thread(vault.keyword_index.stored)
    # No word index contains the passages of a note that broke the analysis.
    ids = [row[0] for row in await asyncio.to_thread(ledger.select, _WITH_PROBLEM, "not_indexed")]
    broken = len(await asyncio.to_thread(ledger.chunks.rows, ids)) if ids else 0
    words = Number("notes", counts.notes, notes), Number("passages", counts.chunks - broken, passages)
    lacking = await asyncio.to_thread(_without_vectors, vault)
    expected = counts.chunks - lacking[0], counts.notes - lacking[1]
    try:
        stored: tuple[int | None, int | None] = await vault.embedding.stored()
        return Comparison(words, _numbers("vectors", expected, stored), await _second(vault))
    except (WorkerUnavailable, IndexDamaged) as error:
        return Comparison(words, _numbers("vectors", expected, (None, None)), reason=str(error))


async def _second(vault: OpenVault) -> tuple[Number, ...]:
    """Return the counts for the second space; empty if there is no second space, or if its store is
    incomplete."""
    second = vault.spaces.second
    if second is None or second.pending_count() != 0:
        return ()
    stored = await second.stored()
    counts = vault.ledger.counts()
    expected = counts.chunks, counts.notes
    if stored != expected:
        expected = await asyncio.to_thread(second.expected)
    return _numbers("second vectors", expected, stored)


def _numbers(what: str, expected: tuple[int, int], stored: tuple[Any, Any]) -> tuple[Number, ...]:
    kinds = "passages", "notes"
    return tuple(
        Number(f"{what} of {kind}", *pair) for kind, *pair in zip(kinds, expected, stored, strict=True)
    )


def _without_vectors(vault: OpenVault) -> tuple[int, int]:
    """Return the number of passages and the number of notes that have no vector in the ledger, for now or
    permanently.

    Waiting texts count only in a paused vault, where they are not embedded; elsewhere their vectors will
    follow.
    """
    unembedded = vault.embedding.unembedded
    ids = [row[0] for row in vault.ledger.select(_WITH_PROBLEM, "not_embedded")]
    passages, notes = unembedded.pending_without_vectors() if vault.options.paused else (0, 0)
    for start in range(0, len(ids), PAGE_NOTES):
        some = unembedded.without_vectors(ids[start : start + PAGE_NOTES])
        passages, notes = passages + some[0], notes + some[1]
    return passages, notes
