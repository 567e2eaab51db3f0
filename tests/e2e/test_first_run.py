"""The first run of ``vaultseek`` in a terminal: it asks for the notes, indexes them and searches."""

import json
import sys
from pathlib import Path

import pytest

from live_terminal import LiveTerminal


@pytest.fixture
def start(daemon, tmp_path):
    """Starts ``vaultseek`` in a folder that is not a vault."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    command = [sys.executable, "-m", "vaultseek"]
    return lambda: LiveTerminal(command, cwd=elsewhere, environment=daemon.environment)


def obsidian_knows(home: Path, *folders: Path) -> None:
    place = "Library/Application Support" if sys.platform == "darwin" else ".config"
    file = home / place / "obsidian" / "obsidian.json"
    file.parent.mkdir(parents=True)
    vaults = {str(number): {"path": str(folder), "ts": -number} for number, folder in enumerate(folders)}
    file.write_text(json.dumps({"vaults": vaults}))


def test_a_vault_of_obsidian_is_chosen_by_its_number_indexed_and_searched(daemon, vault, start, tmp_path):
    root = vault({"Slugs.md": "They came at night and ate the lettuce."})
    obsidian_knows(daemon.home, tmp_path / "gone", root)
    with start() as terminal:
        terminal.shows("Enter its number, or the path of another folder")
        assert f"1  {root}" in terminal.text.replace("\n", "")
        terminal.type("1\r")
        terminal.shows("They came at night")
        terminal.type("Esc")
        assert terminal.ended() == 0
    assert [known["path"] for known in daemon.json("vault", "list")["vaults"]] == [str(root)]


def test_the_search_opens_when_words_can_be_searched(daemon, vault, start):
    root = vault({"Slugs.md": "They came at night and ate the lettuce."})
    daemon.environment["VAULTSEEK_MODEL__NAME"] = "nobody/has-this"
    with start() as terminal:
        terminal.shows("Enter the path of a folder")
        terminal.type(f"{root}\r")
        terminal.type("lettuce")
        terminal.shows("They came at night")
        terminal.shows("search by meaning was left out")
        terminal.type("Esc")
        assert terminal.ended() == 0
    assert [known["path"] for known in daemon.json("vault", "list")["vaults"]] == [str(root)]


def test_a_folder_that_is_not_there_is_asked_for_again_and_enter_leaves(start, daemon, tmp_path):
    with start() as terminal:
        terminal.shows("Enter the path of a folder (press Enter to quit)")
        terminal.type(f"{tmp_path / 'none'}\r")
        terminal.shows("There is no folder")
        terminal.type("\r")
        terminal.shows("no folder was chosen")
        assert terminal.ended() == 2
    assert daemon.json("vault", "list")["vaults"] == []
