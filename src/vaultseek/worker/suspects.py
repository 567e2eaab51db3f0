"""Which texts kill the model: found by embedding those of a fatal batch one by one, then left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

WORKER_PARKED_TEXTS = 10_000


class Suspects:
    """Remembers, while the daemon runs, over which texts the worker died."""

    def __init__(self) -> None:
        self._suspect: set[int] = set()
        self._fatal: set[int] = set()

    def died_over(self, texts: Sequence[str]) -> None:
        """The worker died over these: the one text is the culprit, of several each is suspect."""
        if max(len(self._suspect), len(self._fatal)) > WORKER_PARKED_TEXTS:
            self._suspect.clear()
            self._fatal.clear()
        hashes = [hash(text) for text in texts]
        if len(hashes) == 1 and hashes[0] in self._suspect:
            self._fatal.add(hashes[0])
        self._suspect.update(hashes)

    def batches(self, texts: Sequence[str], size: int) -> Iterator[list[int]]:
        """Indexes of the texts in batches of like length. Suspects stand alone; fatal texts are left out."""
        alone: list[int] = []
        together: list[int] = []
        for i in sorted(range(len(texts)), key=lambda i: -len(texts[i])):
            if (known := hash(texts[i])) not in self._fatal:
                (alone if known in self._suspect else together).append(i)
        for at in range(0, len(together), size):
            yield together[at : at + size]
        for i in alone:
            yield [i]
