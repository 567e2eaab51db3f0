"""Completion in bash: the matching words, quoted like the line."""

import pytest

from vaultseek.base import paths
from vaultseek.doors.cli.commands import vaultseek
from vaultseek.doors.cli.shell_completion import Bash


def offered() -> str:
    return Bash(vaultseek, {}, "vaultseek", "_VAULTSEEK_COMPLETE").complete()


@pytest.mark.parametrize("breaks", [" \t\n", " \t\n@:"])
def test_saved_searches_are_offered_after_their_sign(breaks, monkeypatch):
    file = paths.config_file()
    file.parent.mkdir(parents=True)
    file.write_text("[searches]\ntodo = 'task-todo:x'\nToday = 'modified:1d'\nweek = 'modified:7d'\n")
    monkeypatch.setenv("COMP_BREAKS", breaks)
    monkeypatch.setenv("COMP_LINE", "vaultseek search boiler @to")
    text = offered()
    assert [line.removeprefix("@").strip() for line in text.splitlines()[-2:]] == ["todo", "Today"]
    file.write_text("[searches]\nto do = 1\n")
    assert "to" not in offered()
