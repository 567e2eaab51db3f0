"""Calibration of each model's cosines, and a measure of how well a model reads a text.

Cosines of two models cannot be compared: for one .3 is near, for another .8 is far. So each model has a curve
of its own from cosine to confidence. And a model of English does not read Russian. Its tokenizer shows that
without running the model: a word of English is one or two pieces of its vocabulary, one of German is two or
three, and one in another script is spelled letter by letter or is unknown.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from vaultseek.base.text import UNSPACED
from vaultseek.semantic.models.packed import MULTILINGUAL
from vaultseek.semantic.models.service import SERVED

_STEP = 0.0007341162
_CENTRES = {
    MULTILINGUAL.fingerprint: (
        "HsiLtUcM$iQ}QteJKnuTPtDf8BlO5JO+nWnHMhIBJ+D$Gtj9vV>J&0jCp*O^-qzYq7&bSxsj9C{OWF`NWK=RbzR$Q&57rYRF"
        "Ul&s%GJ~(xK&86RoF-<vb?9I(n3kqRl_u|*)k}oNUz5>Tt2$W^T909Q`NV%w#+XtD+e(!3p+DxrU~iWv@gv>QaoAGVbC?(OD"
        "aUo!p1pG$F{WPugob^#;ngo(Kz%=$r)`p%;=}ayw1WVF5we7%&*BJ&^S9e{M{!oLHo5f(mO<@tU%V)`Z&KiFW)+W!azsN$vV"
        "2!v9ZXU+&Uni+P5vMLCM`I@i#2A#=gNxN?*$@8tHsVLoCzGy63PWG}q78C~VEiL>@agH0s<x$KCI|FwJlv|6aKx<FYY2ohbq"
        "rCnirn$<9Ai_%)`o%(dpRI6$e^H~J;S%|x}p>PNA%C_c9}*Rwy;%P2^WAwR`D-p*7!t<F9)L__QUIImkm!zAg(yHLBXOj$TP"
    )
}
"""Means of the vectors of many texts, by the model's fingerprint, as bytes from -127 to 127 in base 85, each
so many steps.

All vectors of multilingual-e5-small are near to one another, and short or vague queries are near to
everything. What is left of a cosine after subtracting the query's product with the centre says what is near
for *this* query.

That of multilingual-e5-small is the mean of the means of seven sets of texts: articles in English, German,
Russian and Chinese, and abstracts of three sciences in English.
"""


@cache
def centre_of(fingerprint: str) -> NDArray[np.float32] | None:
    """Return the centre of the model with this fingerprint; None if its vectors lie around zero."""
    text = _CENTRES.get(fingerprint)
    if text is None:
        return None
    return np.frombuffer(base64.b85decode(text), np.int8).astype(np.float32) * np.float32(_STEP)


CHARACTERS_PER_WORD = 2
"""Characters that count as a word in scripts without spaces."""


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """The constants of a model; the defaults are those of the bundled one.

    ``meaning_curve`` has intercept and slope of the logistic curve from cosine to confidence; if the model
    has a ``centre``, from what a cosine is above the query's product with it.
    ``fluent_pieces`` are the most pieces per word of a text that the model reads well. A model with an
    unknown tokenizer ``reads_all``.
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
_SERVED = Calibration(reads_all=True)
_BY_FINGERPRINT = {
    MULTILINGUAL.fingerprint: Calibration((-4.1, 28.0), 3.0, centre_of(MULTILINGUAL.fingerprint))
}
"""The curve was set by hand, on questions in four languages and in another language than the notes': it puts
hardly one of them below `search.nothing_below`. Logistic fits on all sets but one were twice to four times as
steep, and lost a quarter of the English questions about Chinese notes. Without its language (``question.py``)
a question's vector is .62 as long, and scaled to 1, so the slope is .62 of the one then set."""


def calibration_of(fingerprint: str) -> Calibration:
    """Return the constants of the model with this fingerprint; those of the bundled one for others."""
    if fingerprint.startswith(SERVED):
        return _SERVED
    return _BY_FINGERPRINT.get(fingerprint, DEFAULT)


def share_read(text: str, count: Callable[[str], int], fluent_pieces: float = DEFAULT.fluent_pieces) -> float:
    """Return how well a model reads ``text``, in [0, 1]; ``count`` counts the pieces of a word.

    The share of letters that it knows at all, if ``count`` has ``unknown_letters``, times ``fluent_pieces``
    to the pieces per word if there are more. A text without letters and digits is read.
    """
    letters = sum(map(len, _WORD.findall(text)))
    if not letters:
        return 1.0
    unspaced = len(_UNSPACED.findall(text))
    spaced = len(_WORD.findall(_UNSPACED.sub(" ", text)))
    words = spaced + -(-unspaced // CHARACTERS_PER_WORD)
    pieces = sum(map(count, _WORD.findall(text)))
    unknown = getattr(count, "unknown_letters", lambda text: 0)(text)
    return max(0.0, 1 - unknown / letters) * min(1.0, fluent_pieces * words / max(pieces, 1))


_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(f"[{UNSPACED}]")
