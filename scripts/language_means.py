"""Compute the mean vector of questions in each language for the multilingual model, and write it into the
package.

    python scripts/language_means.py

``everyday_questions.txt`` has the same ten questions in each language, on unrelated subjects. So the mean of
their vectors represents the language, and the form of a question. ``semantic/models/question.py`` explains
its use.
"""

from pathlib import Path

import numpy as np

from vaultseek.semantic.inference.embed import load
from vaultseek.semantic.models.packed import MULTILINGUAL
from vaultseek.semantic.models.question import MEANS

QUESTIONS = Path(__file__).with_name("everyday_questions.txt")
"""File with a block of questions for each language; blocks are separated by empty lines."""


def main() -> None:
    """Write the means, one row per language."""
    blocks = QUESTIONS.read_text(encoding="utf-8").strip().split("\n\n")
    encoder = load(MULTILINGUAL.name)
    means = [encoder.encode(block.splitlines(), query=True).mean(axis=0) for block in blocks]
    np.save(MEANS[MULTILINGUAL.fingerprint], np.stack(means).astype(np.float16))
    print(f"{len(means)} languages")


if __name__ == "__main__":
    main()
