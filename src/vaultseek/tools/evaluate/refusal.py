"""The curve of refusals: how much nonsense finds nothing at a threshold, and how many questions it loses.

A search finds nothing if no note is confident enough (``search.nothing_below``). A higher threshold refuses
more questions that have nothing to do with the notes, and also more of those that have an answer in other
words.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

THRESHOLDS = (0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.1, 0.12, 0.15, 0.2, 0.3)
NOISE_QUERIES = 40
_SEED = 20260115
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Shares, in [0, 1], of queries that find nothing below the confidence ``threshold``.

    ``noise`` of letters typed at random, ``foreign`` of queries without a right note, ``lost`` of those that
    have one; ``worst`` is the category that loses most, with its share. None where there are no such queries.
    """

    threshold: float
    noise: float | None
    foreign: float | None
    lost: float | None
    worst: tuple[str, float] | None


def keyboard_noise(count: int = NOISE_QUERIES) -> list[str]:
    """Return queries of one to four words of random letters, always the same."""
    generator = random.Random(_SEED)
    return [" ".join(_random_word(generator) for _ in range(generator.randint(1, 4))) for _ in range(count)]


def refusals(
    noise: Sequence[float], foreign: Sequence[float], answerable: Mapping[str, Sequence[float]]
) -> list[Refusal]:
    """Return the curve, from the best confidence that each query reached; answerable ones by category."""
    everything = [confidence for values in answerable.values() for confidence in values]
    return [
        Refusal(
            threshold,
            _share_below(noise, threshold),
            _share_below(foreign, threshold),
            _share_below(everything, threshold),
            _worst(answerable, threshold),
        )
        for threshold in THRESHOLDS
    ]


def _random_word(generator: random.Random) -> str:
    return "".join(generator.choice(_LETTERS) for _ in range(generator.randint(3, 9)))


def _share_below(confidences: Sequence[float], threshold: float) -> float | None:
    if not confidences:
        return None
    return sum(confidence < threshold for confidence in confidences) / len(confidences)


def _worst(answerable: Mapping[str, Sequence[float]], threshold: float) -> tuple[str, float] | None:
    shares = {name: _share_below(values, threshold) or 0.0 for name, values in answerable.items() if values}
    return max(shares.items(), key=lambda item: item[1], default=None)
