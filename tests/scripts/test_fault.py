"""The words for what was survived, and of which code they are."""

import fault
import pytest


@pytest.mark.parametrize(
    ("passed", "failed", "skipped", "word"),
    [
        (2, [], [], "survived"),
        (2, [], ["no Landlock"], "in part"),
        (0, [], ["no Landlock"], "skipped"),
        (2, ["test_x"], ["no Landlock"], "failed"),
    ],
)
def test_a_skipped_test_is_no_survival(passed, failed, skipped, word):
    result = fault.Result(passed, failed, skipped)
    assert fault._outcome("A1", {}, {"A1": result}, True)[0] == word
    assert ("no Landlock" in fault._outcome("A1", {}, {"A1": result}, True)[1]) == bool(skipped)


def test_a_fault_without_a_test_is_not_tested_whatever_ran():
    assert fault._outcome("K12", {"K12": "why"}, {}, True) == ("not tested", "why")
