"""Calibration of each model's cosines, and a measure of how well a model reads a text.

Cosines from different models cannot be compared: 0.3 is near for one model, and 0.8 is far for another. So
each model has its own curve from cosine to confidence. An English model cannot read Russian. The tokenizer
shows this, so the model need not be run. An English word consists of one or two pieces of the vocabulary, and
a German word of two or three; a word in a different script is split into single letters or is unknown.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vaultseek.base.text import UNSPACED
from vaultseek.semantic.models.packed import MULTILINGUAL
from vaultseek.semantic.models.service import SERVED

_CENTRE = Path(__file__).with_name("multilingual-e5-small-centre.npy")
"""File with the mean vector of many texts from seven sets: articles in English, German, Russian and Chinese,
and English abstracts from three sciences.

All vectors of multilingual-e5-small are close together, and short or vague queries are close to everything.
The query's product with this mean (the centre) shows how close the query is to everything. The product is
subtracted from each cosine, so that the difference shows which texts are near this query in particular."""
CHARACTERS_PER_WORD = 2
"""Number of characters that count as one word in unspaced scripts."""


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """The calibration of a model; the default values are those of the bundled model.

    ``meaning_curve`` is the intercept and slope of the logistic curve from cosine to confidence; if the model
    has a ``centre``, the dot product of the query and ``centre`` is first subtracted from the cosine.
    ``fluent_pieces`` is the maximum mean number of pieces per word in a text that the model reads well.
    ``reads_all`` is true if the tokenizer is unknown; the model is then assumed to read every text.
    """

    meaning_curve: tuple[float, float] = (-4.5, 5.7)
    fluent_pieces: float = 1.6
    centre: NDArray[np.float32] | None = None
    reads_all: bool = False

    def curve(self, query: NDArray[np.float32]) -> tuple[float, float]:
        """Return the intercept and slope of the curve from cosine to confidence; ``query`` is the query's
        unit vector."""
        if self.centre is None or query.shape != self.centre.shape:
            return self.meaning_curve
        intercept, slope = self.meaning_curve
        return intercept - slope * float(query @ self.centre), slope


DEFAULT = Calibration()
_SERVED = Calibration(reads_all=True)
_BY_FINGERPRINT = {
    MULTILINGUAL.fingerprint: Calibration((-4.1, 28.0), 3.0, np.load(_CENTRE, allow_pickle=False))
}
"""Calibrations by fingerprint. The multilingual model's curve was set by hand, with questions in four
languages about notes in the same language or a different one. Hardly any of these questions fall below
`search.nothing_below`. Logistic curves fitted on all sets of questions but one were two to four times as
steep; with them, a quarter of the English questions about Chinese notes fell below that limit. Removing the
language (``question.py``) shortens a question's vector to .62 before it is scaled to 1, so the slope was
multiplied by .62."""


def calibration_of(fingerprint: str) -> Calibration:
    """Return the calibration of the model with this fingerprint; for an unknown model, return the bundled
    model's calibration."""
    if fingerprint.startswith(SERVED):
        return _SERVED
    return _BY_FINGERPRINT.get(fingerprint, DEFAULT)


def share_read(text: str, count: Callable[[str], int], fluent_pieces: float = DEFAULT.fluent_pieces) -> float:
    """Return how well a model reads ``text``, in [0, 1]. ``count`` returns the number of pieces in a word.

    The result is ``fluent_pieces`` divided by the pieces per word, at most 1. If ``count`` has
    ``unknown_letters``, the result is multiplied by the share of known letters. A text without letters and
    digits gives 0.
    """
    letters = sum(map(len, _WORD.findall(text)))
    if not letters:
        return 0.0
    unspaced = len(_UNSPACED.findall(text))
    spaced = len(_WORD.findall(_UNSPACED.sub(" ", text)))
    words = spaced + -(-unspaced // CHARACTERS_PER_WORD)
    pieces = sum(map(count, _WORD.findall(text)))
    unknown = getattr(count, "unknown_letters", lambda text: 0)(text)
    return max(0.0, 1 - unknown / letters) * min(1.0, fluent_pieces * words / max(pieces, 1))


_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(f"[{UNSPACED}]")
