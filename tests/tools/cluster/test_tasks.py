"""The work of a cluster's machine, run here: vectors, and what it lacks in words that say what to install."""

import re

import numpy as np
import pytest

from vaultseek import __version__
from vaultseek.semantic.inference import embed
from vaultseek.semantic.models.catalogue import find_model
from vaultseek.tools.cluster.ray_cluster import embed_texts

TEXTS = ["A float switch.", "", "Rust on the anchor chain. " * 40, "\ud800", "A copper contact."] * 5


def test_the_vectors_are_those_of_the_model_here():
    model = find_model("bundled")
    answer = embed_texts(__version__, model.name, model.fingerprint, TEXTS)
    here = embed.embed(embed.load(model.name, model.directory), TEXTS)
    assert answer["failed"] == [place for place, _ in here.failed]
    assert np.abs(answer["vectors"] - here.vectors).max() < 1e-6


@pytest.mark.parametrize(
    ("version", "model", "fingerprint", "said"),
    [
        ("0.0.9", "hashing", "hashing", r"has vaultseek .*; install 0\.0\.9 there"),
        (__version__, "/nowhere/a model", "x", "cannot load the model /nowhere/a model"),
        (__version__, "hashing", "hashing-64", "another model under the name hashing"),
    ],
)
def test_a_machine_that_lacks_something_says_what(version, model, fingerprint, said):
    answer = embed_texts(version, model, fingerprint, ["a text"])
    assert re.search(said, answer["refusal"])
    assert answer.keys() == {"refusal"}
