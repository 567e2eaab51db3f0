"""Judgement of cosines by the model that computed them."""

from dataclasses import replace

import numpy as np

from tiny_packed import TinyPacked, installed_package
from vaultseek.core.indexing.unembedded import EmbeddingSpec
from vaultseek.semantic.models.calibration import DEFAULT, calibration_of
from vaultseek.semantic.models.catalogue import find_model
from vaultseek.semantic.models.packed import MULTILINGUAL
from vaultseek.semantic.worker import SemanticAnswer

VECTOR = np.full(384, 384**-0.5, dtype=np.float32)
ANSWER = SemanticAnswer(vector=VECTOR)


async def test_an_answer_of_the_previous_model_is_judged_by_its_curve() -> None:
    spec = EmbeddingSpec(MULTILINGUAL.fingerprint, len, 254)
    own = await spec.judged(replace(ANSWER, model=spec.fingerprint), "the text")
    assert own.meaning_curve == calibration_of(MULTILINGUAL.fingerprint).curve(VECTOR)
    previous = await spec.judged(replace(ANSWER, model="another-model"), "the text")
    assert previous.meaning_curve == DEFAULT.meaning_curve


async def test_the_vocabulary_of_a_packed_model_is_read_when_it_is_needed(tmp_path) -> None:
    with installed_package(tmp_path, TinyPacked().to_bytes()) as model:
        count = find_model(model.name).counter()
        spec = EmbeddingSpec(model.fingerprint, count, 20)
        assert not count.is_loaded
        assert (await spec.judged(replace(ANSWER, model=model.fingerprint), "the note")).reading == 1.0
        assert count.is_loaded
