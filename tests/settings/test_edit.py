"""Changing one key of config.toml: the rest stays, and what cannot be changed is left alone."""

from pathlib import Path

import pytest

from vaultseek.errors import ConfigError
from vaultseek.settings import toml
from vaultseek.settings.reference import example
from vaultseek.settings.toml import create, set_key

COMMENTED = """\
# mine
[search]  # ranking
limit = 3 # few

[model]
# why
name = "old"

[daemon]
autostart = false
"""


def test_the_rest_stays_byte_for_byte(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(COMMENTED)
    file.chmod(0o640)
    set_key(file, "model", "name", "owner/new")
    assert file.read_text() == COMMENTED.replace('"old"', '"owner/new"')
    assert file.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    "text", ["", "[search]\nlimit = 3", "model.name = 'x'\n", "model = {name = 'x'}\n", example()]
)
def test_a_key_or_a_table_that_was_not_there_is_added(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    before = toml.read(file, required=True)
    set_key(file, "model", "name", 'a"\\b')
    assert toml.read(file, required=True) == before | {"model": {"name": 'a"\\b'}}
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        line for line in file.read_text().splitlines() if line.startswith("#")
    ]


def test_a_new_file_is_for_the_user_alone(tmp_path: Path) -> None:
    file = tmp_path / "new" / "config.toml"
    set_key(file, "model", "name", "x")
    assert file.read_text() == '[model]\nname = "x"\n'
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    real = tmp_path / "dotfiles" / "vaultseek.toml"
    real.write_text(COMMENTED)
    link = tmp_path / "config.toml"
    link.symlink_to(real)
    set_key(link, "model", "name", "new")
    assert link.is_symlink()
    assert '"new"' in real.read_text()
    assert [file.name for file in real.parent.iterdir()] == ["vaultseek.toml"]


@pytest.mark.parametrize("text", ["model = 5\n", "[model\n"])
def test_what_cannot_be_changed_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=r"write name = \"x\" under \[model\]|line 1: not valid TOML"):
        set_key(file, "model", "name", "x")
    assert file.read_text() == text


def test_nothing_is_written_over(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="already exists; nothing was written"):
        create(file, "text")
    assert not (tmp_path / "elsewhere").exists()
