"""The list of faults and the tests marked with their numbers agree."""

import ast
from pathlib import Path

from fault import read_list

TESTS = Path(__file__).parents[1]


def marked() -> set[str]:
    """Return the numbers in all marks of the tests."""
    calls = (
        node
        for file in TESTS.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "fault"
    )
    return {arg.value for call in calls for arg in call.args if isinstance(arg, ast.Constant)}


def test_every_number_that_a_test_carries_is_in_the_list():
    chapters, _ = read_list()
    assert marked() <= {number for faults in chapters.values() for number in faults}


def test_every_fault_has_a_test_or_a_reason_why_not():
    chapters, reasons = read_list()
    numbers = {number for faults in chapters.values() for number in faults}
    assert len(numbers) == 170
    assert numbers - marked() == set(reasons)
