"""The stand-in model is deterministic, gives unit vectors, and prefers texts that share words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.errors import ConfigError
from vaultseek.semantic.inference.embed import HashingEncoder


@given(st.lists(st.text(max_size=40), max_size=5))
def test_every_text_gets_a_unit_vector_and_always_the_same(texts: list[str]) -> None:
    encoder = HashingEncoder()
    vectors = encoder.encode(texts)
    assert vectors.shape == (len(texts), encoder.dimension)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-5)
    assert np.array_equal(vectors, HashingEncoder().encode(texts))


def test_shared_words_are_closeness() -> None:
    query, near, far = HashingEncoder(256).encode(
        ["Restart the server", "server restart guide", "bread and salt"]
    )
    assert query @ near > 0.5 > abs(query @ far)


def test_it_goes_by_its_name() -> None:
    usual = HashingEncoder.from_name("hashing")
    small = HashingEncoder.from_name("hashing-16")
    assert usual is not None
    assert small is not None
    assert (usual.fingerprint, small.fingerprint, small.dimension) == ("hashing", "hashing-16", 16)
    assert HashingEncoder.from_name("hashing-of-mine") is None
    with pytest.raises(ConfigError):
        HashingEncoder.from_name("hashing-0")
