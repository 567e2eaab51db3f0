"""Completion in bash without click offers what click would, and leaves the rest to it."""

from __future__ import annotations

from typing import Any

import pytest

from vaultseek.base import paths
from vaultseek.doors.cli import completion_values
from vaultseek.doors.cli.bash_completion import offered
from vaultseek.doors.cli.commands import vaultseek
from vaultseek.doors.cli.shell_completion import Bash

COMMON = [
    "vaultseek search --tag wo",
    "vaultseek search boiler --vault home --tag '#wo",
    "vaultseek search --vault ho",
    "vaultseek search --property status=o",
    "vaultseek search --property sta",
    "vaultseek search --has-property st",
    "vaultseek search --links-to Boi",
    "vaultseek search -- -tag:wo",
    "vaultseek search tag:wo",
    "vaultseek search [st",
    "vaultseek search boiler ",
    "vaultseek read Boi",
    "vaultseek read --vault home Boi",
    "vaultseek links ./Boi",
    "vaultseek related --no-color Boi",
    "vaultseek search --json boiler tag:wo",
    "vaultseek search --json tag:wo",
]
RARE = [
    "vaultseek rel",
    "vaultseek search --mo",
    "vaultseek search --mode ",
    "vaultseek search --tag=wo",
    "vaultseek search -n ",
    "vaultseek search --jsn Boi",
    "vaultseek read Boiler ",
    "vaultseek read --start 3 Boi",
    "vaultseek read --tag wo",
    "vaultseek why boiler Boi",
    "vaultseek vault remove ho",
    "vaultseek tags wo",
]


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The requests that the daemon got; it knows one value of each kind."""
    asked: list[Any] = []

    def ask(method: str, params: dict[str, Any]) -> dict[str, Any]:
        asked.append((method, params))
        text = {"tag": "work", "property": "status", "value": "open"}.get(
            params.get("kind", ""), "Boiler Room"
        )
        return {
            "items": [{"text": text, "path": "Boiler Room.md", "count": 2}],
            "vaults": [{"name": "home", "path": "/home/ana/notes"}],
        }

    monkeypatch.setattr(completion_values, "_ask_daemon", ask)
    monkeypatch.delenv("VAULTSEEK_CONFIG", raising=False)
    monkeypatch.setenv("COMP_BREAKS", " \t\n\"'><=;|&(:")
    return asked


@pytest.mark.parametrize("line", COMMON)
def test_bash_is_offered_what_click_offers(line, requests, monkeypatch):
    monkeypatch.setenv("COMP_LINE", line)
    text = offered()
    without_click = list(requests)
    requests.clear()
    assert text == Bash(vaultseek, {}, "vaultseek", "_VAULTSEEK_COMPLETE").complete()
    assert without_click == requests


@pytest.mark.parametrize("line", RARE)
def test_the_rest_is_left_to_click(line, requests, monkeypatch):
    monkeypatch.setenv("COMP_LINE", line)
    assert offered() is None
    assert requests == []


@pytest.mark.parametrize("breaks", [" \t\n", " \t\n@:"])
def test_saved_searches_are_offered_after_their_sign(breaks, requests, monkeypatch):
    file = paths.config_file()
    file.parent.mkdir(parents=True)
    file.write_text("[searches]\ntodo = 'task-todo:x'\nToday = 'modified:1d'\nweek = 'modified:7d'\n")
    monkeypatch.setenv("COMP_BREAKS", breaks)
    monkeypatch.setenv("COMP_LINE", "vaultseek search boiler @to")
    text = offered()
    assert text is not None
    assert [line.removeprefix("@").strip() for line in text.splitlines()[-2:]] == ["todo", "Today"]
    assert text == Bash(vaultseek, {}, "vaultseek", "_VAULTSEEK_COMPLETE").complete()
    file.write_text("[searches]\nto do = 1\n")
    assert "to" not in (offered() or "")
