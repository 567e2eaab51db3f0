"""The vault to which a note on disk is assigned."""

import os
from pathlib import Path

import pytest

from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.local_vault import vault_of
from vaultseek.errors import UsageError


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("VAULTSEEK_")]:
        monkeypatch.delenv(name)
    for folder in ("notes/sub", "marked/.obsidian", "marked/sub"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def configure(home: Path, text: str) -> None:
    folder = Path(os.environ["XDG_CONFIG_HOME"]) / "vaultseek"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(text)


def named(vault: str) -> Invocation:
    invocation = Invocation()
    invocation.vaults = [vault]
    return invocation


def test_the_vault_of_a_note(home: Path) -> None:
    configure(home, f"[[vaults]]\nname = 'work'\npath = '{home / 'notes'}'\n")
    assert vault_of(Invocation(), home / "marked" / "sub") == home / "marked"
    assert vault_of(Invocation(), home / "notes" / "sub") == home / "notes"
    assert vault_of(Invocation(), home) is None
    assert vault_of(named(str(home / "marked")), home / "notes") == home / "marked"
    assert vault_of(named("Work"), home) == home / "notes"
    with pytest.raises(UsageError, match="--vault play: no such folder or vault"):
        vault_of(named("play"), home)
    with pytest.raises(UsageError, match="; did you mean work"):
        vault_of(named("wrok"), home)


def test_a_wrong_configuration_does_not_keep_a_note_from_being_read(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(home, "[serch]\n")
    assert vault_of(Invocation(), home / "notes") is None
    assert "serch: unknown key" in capsys.readouterr().err
