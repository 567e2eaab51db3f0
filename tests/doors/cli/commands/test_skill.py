"""``vaultseek skill``: the file for agents, and where it is written."""

import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from vaultseek.doors.cli.commands import vaultseek
from vaultseek.doors.cli.commands.skill import skill_files
from vaultseek.errors import UsageError


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def run(*arguments: str, answer: str = "") -> Result:
    return CliRunner().invoke(vaultseek, ["skill", *arguments], input=answer)


def test_it_is_a_skill_whose_commands_exist(home: Path):
    text = run().output
    head = yaml.safe_load(text.split("---")[1])
    assert head["name"] == "vaultseek"
    assert 50 < len(head["description"]) < 1024
    commands = set(vaultseek.list_commands(None)) | {"vault"}
    named = set(re.findall(r"`vaultseek ([a-z-]+)", text))
    assert {"search", "context", "read", "table", "tags"} <= named <= commands
    allowed = set(re.findall(r"Bash\(vaultseek ([a-z-]+)", head["allowed-tools"]))
    assert named - {"start"} == allowed, (
        "a host asks the user before the others, and before it starts the daemon"
    )
    assert "vaultseek vault add" not in head["allowed-tools"]


def test_every_command_of_the_skill_has_the_view_of_agents(home: Path):
    text = run().output
    head = yaml.safe_load(text.split("---")[1])
    allowed = re.findall(r"Bash\(vaultseek ([^:]+):\*\)", head["allowed-tools"])
    own = {"context", "search --format agent"}
    assert own < set(allowed)
    assert [each for each in allowed if each not in own and not each.endswith(" --agent")] == []
    for command in re.findall(r"`vaultseek ([^`]+)`", text.split("---")[2]):
        words = " ".join(command.split())
        assert words.startswith((*allowed, "start", "vault add")), words


def test_the_errors_that_the_skill_names_are_those_of_the_commands(home: Path):
    text = run().output
    for error in ("no daemon is running", "which vault?"):
        assert f"`{error}`" in text
    refused = CliRunner().invoke(vaultseek, ["context", "pump", "--no-start"])
    assert "no daemon is running" in refused.output + str(refused.exception)


def test_it_is_written_where_agents_look_only_after_a_yes(home: Path):
    (home / ".claude").mkdir()
    (home / ".codex").mkdir()
    first, second = home / ".claude/skills/vaultseek/SKILL.md", home / ".agents/skills/vaultseek/SKILL.md"
    assert str(first) in run("--install", answer="n\n").output
    assert not first.exists()
    run("--install", answer="y\n")
    assert first.read_text() == second.read_text() == run().output
    assert "up to date" in run("--install").output


def test_an_older_skill_is_replaced(home: Path):
    place = home / ".claude/skills/vaultseek/SKILL.md"
    place.parent.mkdir(parents=True)
    place.write_text("old")
    assert "replace" in run("--install", "--yes").output
    assert place.read_text() == run().output


def test_without_an_agent_it_says_what_to_do(home: Path):
    with pytest.raises(UsageError, match="no agent was found"):
        skill_files(home)


def test_it_prefers_a_named_successor_to_a_later_date(home: Path):
    assert 'marked "superseded by X", prefer X' in run().output
