"""The words that describe which faults were survived, and the version of the tested code."""

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


def test_the_page_names_only_faults_that_were_not_survived(tmp_path, monkeypatch):
    page = tmp_path / "faults.md"
    page.write_text(f"before\n{fault.BEGIN}\nold\n{fault.END}\nafter\n", encoding="utf-8")
    monkeypatch.setattr(fault, "PAGE", page)
    faults = {"A1": "It ends", "A2": "It hangs", "A3": "It waits"}
    partly = fault.Result(2, [], ["no Landlock"])
    fault._write_page(
        {"A process ends": faults, "The disk": {"B1": "Full"}},
        {},
        {"A1": partly, "A2": fault.Result(1), "A3": partly, "B1": fault.Result(1)},
    )
    lines = page.read_text(encoding="utf-8").splitlines()
    assert lines[2].endswith("Of 4 faults, not survived in full: A1, A3 in part: 1 skipped: no Landlock.")
    assert lines[0] == "before"
    assert lines[-1] == "after"
