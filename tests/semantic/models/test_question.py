"""Questions with the component of their language removed: the remaining vector, and what it finds."""

import numpy as np
import pytest

from vaultseek.semantic.inference.embed import load
from vaultseek.semantic.models.packed import MULTILINGUAL
from vaultseek.semantic.models.question import without_language


def test_a_model_of_one_language_answers_the_question_as_it_is():
    vector = np.array([0.6, 0.8], np.float32)
    assert without_language(vector, "a-model-of-english") is vector


@pytest.mark.model
def test_a_question_finds_what_it_means_and_not_its_language():
    encoder = load(MULTILINGUAL.name)
    texts = encoder.encode(
        [
            "Slugs ate all of the lettuce. Copper tape round the bed keeps them out.",
            "Linsen über Nacht einweichen, dann mit der Brühe eine halbe Stunde köcheln.",
            "Daily note",
        ]
    )
    asked = encoder.encode(["Nacktschnecken fressen mir den Salat weg"], query=True)[0]
    question = without_language(asked, MULTILINGUAL.fingerprint)
    assert np.linalg.norm(question) == pytest.approx(1)
    before, after = texts @ asked, texts @ question
    assert after.argmax() == 0
    assert after[0] - max(after[1:]) > 2 * (before[0] - max(before[1:]))


@pytest.mark.model
def test_the_same_question_in_two_languages_is_nearer_to_itself():
    encoder = load(MULTILINGUAL.name)
    texts = ["wo liegt der Schlüssel zum Schuppen", "where is the key of the shed", "wie backe ich Brot"]
    asked = encoder.encode(texts, query=True)
    same, other = np.stack([without_language(each, MULTILINGUAL.fingerprint) for each in asked])[[1, 2]] @ (
        without_language(asked[0], MULTILINGUAL.fingerprint)
    )
    assert same - other > asked[1] @ asked[0] - asked[2] @ asked[0]
