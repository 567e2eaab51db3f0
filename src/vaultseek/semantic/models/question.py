"""The vector of a question without its language.

A multilingual model puts texts of one language near to each other, whatever they mean, and questions near to
short notes. So an Italian question about English notes would find the one that is in Italian, and an empty
template. What tells the language is taken off the question; the vectors of the notes stay as they are.
"""

from functools import cache
from pathlib import Path

import numpy as np

from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.models.packed import MULTILINGUAL

MEANS = {MULTILINGUAL.fingerprint: Path(__file__).with_name("multilingual-e5-small-questions.npy")}
"""Files of the mean vectors of questions, a row for each language, by the model's fingerprint;
``scripts/language_means.py`` writes them."""
COMMON_SHARE = 0.6
"""Share of the mean of all questions that is taken off: with all of it, questions in the language of the
notes would be answered worse."""


def without_language(vector: Vectors, fingerprint: str) -> Vectors:
    """Return a question's unit vector without the component of its language, if the model has known means."""
    if fingerprint not in MEANS:
        return vector
    common, differences = _language_space(fingerprint)
    rest = vector - COMMON_SHARE * common
    rest = rest - (differences @ rest) @ differences
    unit: Vectors = (rest / np.linalg.norm(rest)).astype(np.float32)
    return unit


@cache
def _language_space(fingerprint: str) -> tuple[Vectors, Vectors]:
    """Return the mean of all languages, and the directions in which they differ: rows of length 1, at right
    angles to each other."""
    means = np.load(MEANS[fingerprint], allow_pickle=False).astype(np.float64)
    common = means.mean(axis=0)
    differences = np.linalg.svd(means - common, full_matrices=False)[2][:-1]
    return common.astype(np.float32), differences.astype(np.float32)
