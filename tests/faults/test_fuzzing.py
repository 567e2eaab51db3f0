"""Inputs that once caused failures, and a few hundred random ones."""

import pytest

from fuzz_daemon import attacked
from fuzzing import CRASHERS, GRAMMARS, KINDS, inputs, is_survived
from hostile import SHAPES, costly_matches


@pytest.mark.fault("D6", "F4", "H1", "Invariant 4", "Invariant 6")
@pytest.mark.parametrize("kind", KINDS)
def test_random_inputs_are_survived(kind):
    source = inputs(1, kind)
    assert is_survived(
        kind, [next(source) for _ in range({"growth": 6}.get(kind, 20 if kind in GRAMMARS else 100))]
    )


@pytest.mark.fault("D6", "F4", "H1")
@pytest.mark.parametrize("kind", KINDS)
def test_what_was_not_survived_once_is_survived_now(kind):
    for path in sorted((CRASHERS / kind).glob("*")):
        assert is_survived(kind, [path.read_bytes()]), path.name


@pytest.mark.slow
@pytest.mark.fault("K1", "Invariant 6", "L2")
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.long)], ids=["two", "every"])
@pytest.mark.parametrize("shape", SHAPES)
def test_l2_no_pattern_takes_long_or_keeps_another_thread_waiting(shape, every):
    assert is_survived("matches", [data.encode() for data in costly_matches(shape, every=every)])


@pytest.mark.slow
@pytest.mark.fault("K1", "K2", "Invariant 6")
def test_others_notice_nothing_of_hostile_patterns_formulas_and_settings():
    assert attacked(30.0, seed=1, tries=30) == []
