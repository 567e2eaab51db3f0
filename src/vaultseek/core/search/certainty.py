"""Certainty: the confidences of results as one list, which falls as their order does.

The order compares notes with each other; the confidence judges each by itself. Where a note is more confident
than one before it, the two disagree, and both get the mean. The result is the falling list that is nearest to
the confidences (isotonic regression by pooling neighbours; Ayer et al., Annals of Mathematical Statistics
1955): where order and confidence agree, it is the confidences themselves.
"""

from __future__ import annotations

from collections.abc import Sequence


def monotone_certainty(confidences: Sequence[float], pooled: int | None = None) -> list[float]:
    """Return the falling list nearest to the ``confidences``, each in [0, 1].

    Only the first ``pooled`` are pooled, all if that is None; later ones do not rise above these. So what
    stands further down changes nothing above it.
    """
    blocks: list[tuple[float, int]] = []
    for value in confidences[:pooled]:
        total, size = value, 1
        while blocks and total * blocks[-1][1] > blocks[-1][0] * size:
            before = blocks.pop()
            total, size = total + before[0], size + before[1]
        blocks.append((total, size))
    certainties = [min(total / size, 1.0) for total, size in blocks for _ in range(size)]
    for value in confidences[len(certainties) :]:
        certainties.append(min(value, certainties[-1]))
    return certainties
