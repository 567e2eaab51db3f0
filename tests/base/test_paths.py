"""Writing files in vaultseek's directories: atomic, private, and without leftovers."""

import os
from pathlib import Path

import platformdirs
import pytest

from vaultseek.base import paths
from vaultseek.base.paths import write_atomically
from vaultseek.core.indexing.model_source import SHARE_FILE, kept_share
from vaultseek.errors import ConfigError, Unavailable
from vaultseek.semantic.models.fetch import recorded_digests
from vaultseek.settings.watch import RegisteredVaults, read_registry, registry_file
from vaultseek.store.concept_vocabulary import read_vocabulary


def test_a_file_is_replaced_and_only_the_user_can_read_it(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "state.json"
    file.parent.mkdir()
    file.write_text("old")
    file.chmod(0o644)
    write_atomically(file, "n\u00e9w\r\n")
    assert file.read_bytes() == "n\u00e9w\r\n".encode()
    assert file.stat().st_mode & 0o777 == 0o600
    write_atomically(file, "newer", mode=0o644)
    assert file.stat().st_mode & 0o777 == 0o644
    assert [path.name for path in file.parent.iterdir()] == ["state.json"]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "state.json"
    file.parent.mkdir()
    file.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(file, "lone surrogate: \ud800")
    assert file.read_text() == "old"
    assert [path.name for path in file.parent.iterdir()] == ["state.json"]


def test_a_link_left_at_the_temporary_name_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.getpid", lambda: 7)
    (tmp_path / ".state.json.7").symlink_to(tmp_path / "elsewhere")
    write_atomically(tmp_path / "state.json", "text")
    assert not (tmp_path / "elsewhere").exists()
    assert not (tmp_path / "state.json").is_symlink()


@pytest.mark.parametrize("value", [None, "", "/elsewhere", "relative"])
@pytest.mark.parametrize("home", [None, "/home/ana", "/"])
def test_directories_are_those_of_platformdirs(
    monkeypatch: pytest.MonkeyPatch, value: str | None, home: str | None
) -> None:
    variables = dict.fromkeys(("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"), value)
    for name, text in {**variables, "HOME": home}.items():
        if text is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, text)
    of_user = platformdirs.PlatformDirs("vaultseek", appauthor=False)
    assert paths.config_file().parent == Path(of_user.user_config_dir)
    assert paths.data_directory() == Path(of_user.user_data_dir)
    assert paths.state_directory() == Path(of_user.user_state_dir)
    assert paths.socket_file() == Path(of_user.user_data_dir) / "run" / "daemon.sock"
    assert paths.socket_name() == str(paths.socket_file())


@pytest.mark.fault("G4")
def test_a_folder_that_others_can_use_is_made_private(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    folder.chmod(0o777)
    assert paths.private_directory(folder) == folder
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.fault("G4")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o777)
    os.chown(folder, 65534, 65534)
    with pytest.raises(Unavailable, match="belongs to another user"):
        paths.private_directory(folder)


@pytest.mark.parametrize("damage", [b'{"a":' + b"[" * 5000, b"", b"\xff", b"{", b'{"a": 1}' + b" " * 100])
def test_a_state_file_that_is_no_json_or_too_deep_is_damaged(tmp_path: Path, damage: bytes) -> None:
    file = tmp_path / "state.json"
    file.write_bytes(damage)
    with pytest.raises(ValueError, match=r"."):
        paths.read_json(file, 80 + 20 * 1000 * (b"[" in damage))
    file.write_text('{"a": [1]}')
    assert paths.read_json(file) == {"a": [1]}


@pytest.mark.parametrize("content", ["[" * 5000, '{"a":' + "[" * 5000, "[1]", "{}", "null", "\x00"])
def test_nonsense_in_a_file_of_the_daemons_own_counts_as_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    for name in (paths.models_directory() / "fetched.json", registry_file(), tmp_path / SHARE_FILE):
        name.parent.mkdir(parents=True, exist_ok=True)
        name.write_text(content)
    assert read_registry() == RegisteredVaults()
    assert dict(recorded_digests()) == {}
    assert kept_share(tmp_path) is None
    assert read_vocabulary(registry_file(), "model") is None


def test_a_list_of_vaults_that_cannot_be_read_now_is_not_empty(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert read_registry() == RegisteredVaults()
    registry_file().mkdir(parents=True)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_registry()
