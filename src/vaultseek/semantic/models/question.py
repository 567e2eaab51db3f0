"""Removal of the language component from a question's vector.

A multilingual model puts texts in the same language close together, whatever they mean, and questions close
to short notes. So an Italian question about English notes would find the only Italian note, or an empty
template. Therefore the language component is removed from the question; the vectors of the notes are
unchanged.
"""

from functools import cache
from pathlib import Path

import numpy as np

from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.models.packed import MULTILINGUAL

MEANS = {MULTILINGUAL.fingerprint: Path(__file__).with_name("multilingual-e5-small-questions.npy")}
"""Files with the mean vectors of questions, by the model's fingerprint. Each file has one row per language,
and is written by ``scripts/language_means.py``."""
COMMON_SHARE = 0.6
"""Share of the questions' mean vector that is subtracted from each question's vector. If the whole mean were
subtracted, answers to questions in the notes' own language would be worse."""


def without_language(vector: Vectors, fingerprint: str) -> Vectors:
    """Return a question's unit vector without the component of its language. If the model's means are
    unknown, the vector is returned unchanged."""
    if fingerprint not in MEANS:
        return vector
    common, differences = _language_space(fingerprint)
    rest = vector - COMMON_SHARE * common
    rest = rest - (differences @ rest) @ differences
    unit: Vectors = (rest / np.linalg.norm(rest)).astype(np.float32)
    return unit


@cache
def _language_space(fingerprint: str) -> tuple[Vectors, Vectors]:
    """Return the mean over all languages, and orthonormal rows that span the languages' differences from this
    mean."""
    means = np.load(MEANS[fingerprint], allow_pickle=False).astype(np.float64)
    common = means.mean(axis=0)
    differences = np.linalg.svd(means - common, full_matrices=False)[2][:-1]
    return common.astype(np.float32), differences.astype(np.float32)
