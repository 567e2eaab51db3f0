"""Writing files in vaultseek's directories: as a whole, private, and without leftovers."""

from pathlib import Path

import pytest

from vaultseek.paths import write_atomically


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
