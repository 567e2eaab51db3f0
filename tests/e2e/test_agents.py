"""Notes hidden from agents, in the commands that agents run and in MCP."""

from pathlib import Path
from typing import Any

from vaultseek.base import paths
from vaultseek.client import Client
from worlds import write_files

FILES = {
    "Pump.md": "# Pump\nThe float switch starts the pump.\n",
    "Journal/Diary.md": "# Diary\nThe float switch made me sad: xylophone.\n",
}


def test_the_commands_for_agents_leave_out_what_is_hidden_from_them(daemon: Any, tmp_path: Path):
    root = write_files(tmp_path / "notes", FILES)
    config = paths.config_file()
    config.parent.mkdir(parents=True, exist_ok=True)
    settings = f'[[vaults]]\nname = "notes"\npath = "{root}"\n'
    config.write_text(f'{settings}[agents]\nhide = ["Journal/"]\n')
    assert daemon.run("index", "--wait", "--vault", "notes").returncode == 0

    def printed(*command: str) -> str:
        return daemon.run(*command, "--vault", "notes").stdout

    assert "Diary" in printed("search", "float switch")
    for command in (["search", "--format", "agent", "float switch"], ["context", "float switch"]):
        text = printed(*command)
        assert "Pump.md" in text
        assert "Diary" not in text
    assert "Diary" in printed("search", "--format", "paths", "xylophone")
    with Client(paths.socket_file(), agent=True) as agent:
        assert [each["path"] for each in agent.search("float switch")["results"]] == ["Pump.md"]
        assert agent.vaults()["vaults"][0]["notes"] == 1

    config.write_text(f'{settings}[agents]\nhide = ["Journal"]\n')
    refused = daemon.run("context", "float switch", "--vault", "notes")
    assert refused.returncode != 0
    assert "agents.hide" in refused.stderr
    assert refused.stderr.count("\n") == 1
