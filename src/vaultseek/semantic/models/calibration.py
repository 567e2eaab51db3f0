"""Constants of each model by which its cosines are judged, and how well a model reads a text.

Cosines of two models cannot be compared: for one .3 is near, for another .8 is far. So each model has a curve
of its own from cosine to confidence. And a model of English does not read Russian, however it is asked. Its
tokenizer tells, without asking it: a word of English is one or two pieces of its vocabulary, one of German is
two or three, and one in another script is spelled letter by letter or is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from vaultseek.base.text import UNSPACED
from vaultseek.semantic.models.centre import centre_of
from vaultseek.semantic.models.packed import MULTILINGUAL
from vaultseek.semantic.models.service import SERVED

CHARACTERS_PER_WORD = 2
"""Characters that count as a word in scripts without spaces."""


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """The constants of a model; the defaults are those of the bundled one.

    ``meaning_curve`` has intercept and slope of the logistic curve from cosine to confidence; if the model
    has a ``centre``, from what a cosine is above the query's product with it.
    ``fluent_pieces`` are the most pieces per word of a text that the model reads well; a model whose tokens
    nobody knows ``reads_all``.
    """

    meaning_curve: tuple[float, float] = (-4.5, 5.7)
    fluent_pieces: float = 1.6
    centre: NDArray[np.float32] | None = None
    reads_all: bool = False

    def curve(self, query: NDArray[np.float32]) -> tuple[float, float]:
        """Return intercept and slope from cosine to confidence for the query with this unit vector."""
        if self.centre is None or query.shape != self.centre.shape:
            return self.meaning_curve
        intercept, slope = self.meaning_curve
        return intercept - slope * float(query @ self.centre), slope


DEFAULT = Calibration()
_OF_SERVER = Calibration(reads_all=True)
_OF_FINGERPRINT = {
    MULTILINGUAL.fingerprint: Calibration((-4.1, 45.0), 3.0, centre_of(MULTILINGUAL.fingerprint))
}
"""The curve was set by hand, on questions in four languages and in another language than the notes': it puts
hardly one of them below `search.nothing_below`. Logistic fits on all sets but one varied from (-4.9, 72) to
(-8.8, 165), and lost a quarter of the English questions about Chinese notes."""


@runtime_checkable
class KnowsUnknown(Protocol):
    """A counter of tokens that can tell what the vocabulary lacks."""

    def unknown_letters(self, text: str) -> int:
        """Return the number of letters and digits in pieces that the vocabulary does not have."""


def calibration_of(fingerprint: str) -> Calibration:
    """Return the constants of the model with this fingerprint; those of the bundled one for others."""
    if fingerprint.startswith(SERVED):
        return _OF_SERVER
    return _OF_FINGERPRINT.get(fingerprint, DEFAULT)


def share_read(text: str, count: Callable[[str], int], fluent_pieces: float = DEFAULT.fluent_pieces) -> float:
    """Return how well a model reads ``text``, in [0, 1]; ``count`` counts the pieces of a word.

    The share of letters that it knows at all, times ``fluent_pieces`` to the pieces per word if there are
    more. A text without letters and digits is read.
    """
    letters = sum(map(len, _WORD.findall(text)))
    if not letters:
        return 1.0
    unspaced = len(_UNSPACED.findall(text))
    spaced = len(_WORD.findall(_UNSPACED.sub(" ", text)))
    words = spaced + -(-unspaced // CHARACTERS_PER_WORD)
    pieces = sum(map(count, _WORD.findall(text)))
    unknown = count.unknown_letters(text) if isinstance(count, KnowsUnknown) else 0
    return max(0.0, 1 - unknown / letters) * min(1.0, fluent_pieces * words / max(pieces, 1))


_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(f"[{UNSPACED}]")
