"""The script that fits certainty: it recovers the curve that generated the answers, and counts results."""

import fit_certainty
import numpy as np
import pytest
from fit_certainty import Answer


def made(curve: np.ndarray, count: int, most: float = 1.0) -> list[Answer]:
    """Answers of ten results that are right with the probability of the curve."""
    random = np.random.default_rng(1)
    answers = []
    for _ in range(count):
        leads = np.sort(random.uniform(-0.5, 0.6, 10))[::-1]
        features = np.column_stack([random.normal(-1, 1.5, 10), leads, random.random(10)])
        right = random.random(10) < 1 / (1 + np.exp(-(curve[0] + features @ curve[1:])))
        answers.append(Answer("vault", False, features, right, np.full(10, most)))
    return answers


def test_the_curve_is_found_again():
    curve = np.array([-1.5, 0.5, 8.0, -2.0])
    assert fit_certainty.fit(made(curve, 400)) == pytest.approx(curve, abs=0.5)


def test_the_table_counts_results_and_what_is_folded():
    curve = np.array([-1.5, 0.5, 8.0, -2.0])
    answers = made(curve, 40)
    lines = list(
        fit_certainty.table("made", [(each, fit_certainty.predicted(each, curve)) for each in answers])
    )
    counts = [int(line.split("|")[2]) for line in lines[2:-1]]
    assert sum(counts) == 400
    assert lines[-1].startswith("\nShown of ten: ")


def test_a_weak_answer_has_no_high_certainty():
    curve = np.array([0.0, 0.0, 9.0, 0.0])
    (answer,) = made(curve, 1, most=0.25)
    assert fit_certainty.predicted(answer, curve)[0] == 0.25
