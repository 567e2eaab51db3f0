"""The script that cuts a part out of a large vault."""

import sys
from pathlib import Path

import cut_vault
import pytest


def write(root: Path, *numbers: int) -> None:
    for number in numbers:
        path = root / "pages" / f"{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"Note {number}\n")


def cut(monkeypatch, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", ["cut_vault.py", *map(str, arguments)])
    cut_vault.main()


def test_new_notes_do_not_move_others_in_or_out_of_the_part(tmp_path):
    write(tmp_path, *range(200))
    before = set(cut_vault.part(tmp_path, "pages", 4))
    write(tmp_path, *range(200, 300))
    after = set(cut_vault.part(tmp_path, "pages", 4))
    assert 25 < len(before) < 100
    assert {path for path in after if int(Path(path).stem) < 200} == before


def test_the_part_keeps_its_paths_and_leaves_other_folders_out(tmp_path, monkeypatch, capsys):
    source, copy = tmp_path / "source", tmp_path / "copy"
    write(source, 1, 2, 3)
    (source / "README.md").write_text("About\n")
    cut(monkeypatch, source, copy, "--one-in", 1, "--folder", "pages")
    assert {path.relative_to(copy).as_posix() for path in copy.rglob("*.md")} == {
        f"pages/{number}.md" for number in (1, 2, 3)
    }
    assert capsys.readouterr().out == "3 notes\n"


def test_a_part_is_not_mixed_with_other_notes(tmp_path, monkeypatch):
    write(tmp_path / "source", 1)
    write(tmp_path / "copy", 2)
    with pytest.raises(SystemExit):
        cut(monkeypatch, tmp_path / "source", tmp_path / "copy", "--one-in", 1)
