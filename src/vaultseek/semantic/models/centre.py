"""The centre of a model's vectors: the mean of many texts, where it is far from zero.

All vectors of multilingual-e5-small are near to one another, and short or vague queries are near to
everything. So a cosine says little by itself; what is left after subtracting the query's product with the
centre says what is near for *this* query.
"""

from __future__ import annotations

import base64
from functools import cache

import numpy as np
from numpy.typing import NDArray

from vaultseek.semantic.models.packed import MULTILINGUAL

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
"""Centres by the model's fingerprint, as bytes from -127 to 127 in base 85, each so many steps.

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
