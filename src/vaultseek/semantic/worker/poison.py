"""Texts that crash the model: identified by embedding a fatal batch one by one, then skipped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

WORKER_POISON_TEXTS = 10_000
"""Texts remembered, by hash, before the memory is cleared."""


class PoisonTexts:
    """A record of the texts on which the worker crashed, for as long as the daemon runs."""

    def __init__(self) -> None:
        self._suspected: set[int] = set()
        self._poison: set[int] = set()

    def record_crash(self, texts: Sequence[str]) -> None:
        """Record that the worker crashed on this batch. A suspected text that was alone in it is poison."""
        if max(len(self._suspected), len(self._poison)) > WORKER_POISON_TEXTS:
            self._suspected.clear()
            self._poison.clear()
        hashes = [hash(text) for text in texts]
        if len(hashes) == 1 and hashes[0] in self._suspected:
            self._poison.add(hashes[0])
        self._suspected.update(hashes)

    def batches(self, texts: Sequence[str], size: int) -> Iterator[list[int]]:
        """Yield indexes of the texts in batches of similar length: suspected texts alone, poison never."""
        single: list[int] = []
        batched: list[int] = []
        for i in sorted(range(len(texts)), key=lambda i: -len(texts[i])):
            if (digest := hash(texts[i])) not in self._poison:
                (single if digest in self._suspected else batched).append(i)
        for start in range(0, len(batched), size):
            yield batched[start : start + size]
        for i in single:
            yield [i]
