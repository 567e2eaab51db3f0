"""The files that `vaultseek uninstall` removes on each platform, and those that it leaves."""

import os
import sys
from importlib.resources import files
from pathlib import Path

import platformdirs
import pytest
from click.testing import CliRunner, Result
from platformdirs.macos import MacOS

from vaultseek.base import paths
from vaultseek.doors.cli.commands import vaultseek
from vaultseek.doors.cli.service_files import MARK
from vaultseek.errors import UsageError
from vaultseek.settings.model import VaultSettings
from vaultseek.settings.watch import RegisteredVaults, write_registry
from worlds import write_files

CONTROL = """#!/bin/sh
echo "$0" "$@" >> "$HOME/controlled"
"""
FOLDERS = {
    "linux": (".local/share/vaultseek", ".local/state/vaultseek", ".config/vaultseek"),
    "darwin": ("Library/Application Support/vaultseek",) * 3,
}
SERVICES = {
    "linux": [".config/systemd/user/vaultseek.socket", ".config/systemd/user/vaultseek.service"],
    "darwin": ["Library/LaunchAgents/vaultseek.daemon.plist"],
}
SKILL = ".claude/skills/vaultseek/SKILL.md"


@pytest.fixture(params=["linux", "darwin"])
def home(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder on one platform, with everything vaultseek stores there, a vault and unrelated files."""
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.delenv(f"XDG_{name}_HOME")
    monkeypatch.setattr(sys, "platform", request.param)
    if request.param == "darwin":
        monkeypatch.setattr(platformdirs, "PlatformDirs", MacOS)
    programs = write_files(tmp_path / "programs", dict.fromkeys(("systemctl", "launchctl"), CONTROL))
    for program in programs.iterdir():
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    data, state, config = FOLDERS[request.param]
    write_files(
        home,
        {
            "notes/A.md": "# A\n",
            "notes/vaultseek/B.md": "# B\n",
            f"{data}/vaults/notes-0123456789ab/ledger.sqlite": "text of the notes",
            f"{data}/run/daemon.lock": "1 here\n",
            f"{state}/daemon.log": "started",
            f"{config}/config.toml": "",
            **dict.fromkeys(SERVICES[request.param], f"# {MARK}\n"),
            SKILL: files("vaultseek.doors").joinpath("SKILL.md").read_text("utf-8"),
            **OTHERS,
        },
    )
    write_registry(RegisteredVaults((VaultSettings(name="notes", path=home / "notes"),)))
    return home


OTHERS = {
    ".config/other/config.toml": "x",
    ".local/share/other/data": "x",
    "Library/LaunchAgents/other.plist": "x",
    ".claude/skills/other/SKILL.md": "x",
}


def contents(folder: Path) -> dict[str, str]:
    """Return the texts of all files below a folder."""
    return {str(each.relative_to(folder)): each.read_text() for each in folder.rglob("*") if each.is_file()}


def uninstall(*arguments: str, answer: str = "") -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(vaultseek, ["uninstall", *arguments], input=answer)


def test_what_vaultseek_keeps_is_shown_then_removed_and_nothing_else(home: Path) -> None:
    before = contents(home)
    shown = uninstall(answer="n\n")
    assert shown.exit_code == 0, shown.output
    assert contents(home) == before
    places = [*dict.fromkeys(FOLDERS[sys.platform]), *SERVICES[sys.platform], SKILL]
    for place in places:
        assert f"to remove: {home / place}: " in shown.output
    assert f"not touched: the notes in {home / 'notes'}\n" in shown.output

    done = uninstall(answer="y\n")
    assert done.exit_code == 0, done.output
    notes = {"notes/A.md": "# A\n", "notes/vaultseek/B.md": "# B\n"}
    controlled = contents(home).pop("controlled")
    assert contents(home) == {**OTHERS, **notes, "controlled": controlled}
    assert [place for place in places if (home / place).exists()] == []
    stopped = {"linux": "systemctl --user disable --now vaultseek", "darwin": "launchctl bootout gui/"}
    assert stopped[sys.platform] in controlled
    assert done.output.splitlines()[-1].startswith("to remove the program, run `")
    assert done.output.splitlines()[-1].endswith(" uninstall vaultseek`")

    again = uninstall("--yes")
    assert (again.exit_code, again.output.splitlines()[0]) == (
        0,
        "there is nothing to remove in your folders",
    )


MINE = (
    "mine.txt",
    "vaults/My notes/A.md",
    "vaults/A.md",
    "models/my-model/config.json",
    "run/mine",
    "backup/ledger.sqlite",
)


@pytest.mark.fault("L13")
def test_l13_what_the_user_put_there_stays_and_is_named(home: Path) -> None:
    folders = dict.fromkeys((paths.data_directory(), paths.state_directory(), paths.config_file().parent))
    mine = {str(folder / name): "mine" for folder in folders for name in MINE}
    write_files(Path("/"), mine)
    made = (
        "models/org--name/model.onnx",
        "worker-x.log.2",
        "daemon.crash",
        "audit.log",
        ".vaults.json.77",
        "evaluate/n-0123456789ab/x",
    )
    write_files(paths.data_directory(), dict.fromkeys(made, "made"))
    (paths.models_directory() / "fetched.json").write_text('{"org/name": {"digest": "1"}}')
    shown = uninstall("--yes").output
    for folder in folders:
        assert {name: text for name, text in contents(folder).items() if text != "mine"} == {}
        for name in ("mine.txt", "vaults/My notes", "vaults/A.md", "models/my-model", "run/mine", "backup"):
            assert f"not touched: {folder / name}, because vaultseek did not create it\n" in shown
    assert all(Path(name).read_text() == "mine" for name in mine)
    assert "there is nothing to remove in your folders" in uninstall("--yes").output


def test_an_unanswered_question_removes_nothing(home: Path) -> None:
    before = contents(home)
    with pytest.raises(UsageError, match="no answer was given; answer y in a terminal, or add --yes"):
        raise uninstall().exception
    assert contents(home) == before
    refused = uninstall(answer="n\n").output.splitlines()
    assert refused[-2].endswith("nothing was removed")
    assert refused[-1].startswith("to remove the program, run `")


def test_a_service_or_skill_that_others_wrote_stays(home: Path) -> None:
    service = home / SERVICES[sys.platform][0]
    service.write_text("[Unit]\n")
    (home / SKILL).write_text("---\nname: mine\n")
    assert uninstall("--yes").exit_code == 0
    assert service.read_text() == "[Unit]\n"
    assert (home / SKILL).exists()


def test_indexes_behind_a_link_are_removed_and_settings_behind_one_stay(home: Path, tmp_path: Path) -> None:
    moved = {}
    for folder in dict.fromkeys((paths.data_directory(), paths.config_file().parent)):
        moved[folder] = tmp_path / f"moved {len(moved)}"
        folder.rename(moved[folder])
        folder.symlink_to(moved[folder])
    shown = uninstall("--yes").output
    assert f"{paths.data_directory()} (a link to {moved[paths.data_directory()]}): " in shown
    assert not moved[paths.data_directory()].exists()
    assert not any(map(os.path.lexists, moved))
    if sys.platform == "linux":
        assert [file.name for file in moved[paths.config_file().parent].iterdir()] == ["config.toml"]


@pytest.mark.parametrize("where", ["inside", "around", "the same"])
def test_a_folder_that_overlaps_with_a_vault_stays(home: Path, where: str) -> None:
    data = paths.data_directory()
    root = {"inside": data / "my notes", "around": data.parent, "the same": data}[where]
    write_files(root, {"Mine.md": "mine"})
    write_registry(RegisteredVaults((VaultSettings(name="mine", path=root.resolve()),)))
    done = uninstall("--yes")
    assert done.exit_code == 0, done.output
    assert f"not touched: {data}, because it overlaps with the vault {root}\n" in done.output
    assert (root / "Mine.md").read_text() == "mine"
    assert not (home / SERVICES[sys.platform][0]).exists()


def test_a_folder_with_the_program_stays(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(paths.data_directory() / "venv"))
    done = uninstall("--yes")
    assert "because it contains the program itself" in done.output
    assert (paths.data_directory() / "vaults.json").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_the_folder_of_another_user_stays(home: Path) -> None:
    os.chown(paths.data_directory(), 65534, 65534)
    assert "because it belongs to another user" in uninstall("--yes").output
    assert (paths.data_directory() / "vaults.json").exists()


@pytest.mark.parametrize("settings", ["[model", 'unknown = "x"\n'])
def test_wrong_settings_are_removed_as_well(home: Path, settings: str) -> None:
    paths.config_file().write_text(settings)
    done = uninstall("--yes")
    assert done.exit_code == 0, done.output
    assert not paths.config_file().exists()


def test_the_help_says_that_a_file_inside_an_index_goes_with_it():
    shown = " ".join(CliRunner().invoke(vaultseek, ["uninstall", "--help"]).output.split())
    assert "stay and are listed, except files inside an index folder" in shown
