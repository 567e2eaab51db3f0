"""The share of a text that a model reads, estimated from its tokenizer's pieces per word."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.errors import ConfigError
from vaultseek.semantic.inference.embed import load
from vaultseek.semantic.models.calibration import DEFAULT, Calibration, calibration_of, share_read
from vaultseek.semantic.models.catalogue import find_model
from vaultseek.semantic.models.packed import MULTILINGUAL
from vaultseek.semantic.models.question import without_language


@pytest.fixture(scope="module")
def count():
    try:
        return find_model("bundled").counter()
    except ConfigError:
        pytest.skip("the bundled model is not installed")


def letters(text):
    """Count every letter as a piece, as for a script that the vocabulary hardly contains."""
    return sum(map(str.isalnum, text))


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("how do I back up the pump controller every week", 1.0, 1.0),
        ("Welche Einrichtungen wurden durch die Verordnung gefördert", 0.4, 0.9),
        ("Сколько очков уступила защита", 0.1, 0.4),
        ("电动泵的噪音从哪里来", 0.0, 0.5),
        ("ปั๊มไฟฟ้าเสียงดังมาจากไหน", 0.0, 0.4),
        ("", 0.0, 0.0),
        ("?! —", 0.0, 0.0),
    ],
)
def test_a_model_of_english_reads_other_languages_less_well(count, text, least, most):
    assert least <= share_read(text, count) <= most


def test_a_vocabulary_of_letters_reads_one_in_so_many():
    assert share_read("abcdefgh", letters, 2.0) == pytest.approx(0.25)
    assert share_read("ab cd", letters, 2.0) == 1.0


@given(st.text(max_size=60), st.text(alphabet=" \n\t.,;!?", max_size=5))
def test_what_is_read_is_a_share_and_punctuation_does_not_change_it(text, marks):
    share = share_read(text, letters)
    assert 0 <= share <= 1
    assert share_read(text + marks, letters) == share


def test_models_have_constants_of_their_own():
    assert calibration_of("anything") is DEFAULT
    assert calibration_of(MULTILINGUAL.fingerprint) != DEFAULT


def test_a_query_near_to_everything_needs_a_greater_cosine():
    calibration = Calibration((-3.0, 40.0), centre=np.array([0.8, 0.0], np.float32))
    plain, vague = np.array([0.6, 0.8], np.float32), np.array([1.0, 0.0], np.float32)
    assert calibration.curve(plain) == pytest.approx((-3.0 - 40 * 0.48, 40.0))
    assert calibration.curve(vague)[0] < calibration.curve(plain)[0]
    assert calibration.curve(np.zeros(3, np.float32)) == (-3.0, 40.0)
    assert DEFAULT.curve(plain) == DEFAULT.meaning_curve


@pytest.mark.model
def test_the_multilingual_model_tells_an_answer_from_any_text():
    encoder = load(MULTILINGUAL.name)
    calibration = calibration_of(MULTILINGUAL.fingerprint)
    texts = encoder.encode(
        ["Bread rises for two hours before it is baked.", "The pump needs oil every week."]
    )

    def confidences(question: str) -> list[float]:
        query = without_language(encoder.encode([question], query=True)[0], MULTILINGUAL.fingerprint)
        intercept, slope = calibration.curve(query)
        return list(1 / (1 + np.exp(-(intercept + slope * (texts @ query)))))

    for question in ("How long does dough have to rise?", "Wie lange muss Teig gehen?"):
        answer, other = confidences(question)
        assert answer > 0.1
        assert answer > 2 * other
    assert max(confidences("quarterly sales targets")) < 0.1
