"""The program that opens a note: the user's editor, Obsidian, or whatever the desktop or terminal
provides."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from vaultseek.doors.cli.editor import editor_command, open_notes
from vaultseek.errors import UsageError

OPENER = "open" if sys.platform == "darwin" else "xdg-open"
NOTE = [{"vault_path": "/n/ü", "path": "a.md", "line": 7}]
URL = "obsidian://open?path=%2Fn%2F%C3%BC%2Fa.md"
Programs = Callable[..., Callable[[], list[str]]]


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """``programs({"vi": "exit 0"})`` makes these scripts the only programs; the result lists their calls."""
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))

    def make(scripts: dict[str, str], *, terminal: bool = True) -> Callable[[], list[str]]:
        for stream in ("stdin", "stdout"):
            monkeypatch.setattr(getattr(sys, stream), "isatty", lambda: terminal, raising=False)
        calls = tmp_path / "calls"
        calls.write_text("")
        for name, script in scripts.items():
            (tmp_path / name).write_text(f'#!/bin/sh\necho {name} "$@" >> {calls}\n{script}\n')
            (tmp_path / name).chmod(0o700)
        return lambda: calls.read_text().splitlines()

    return make


@pytest.mark.parametrize(
    ("editor", "command"),
    [
        ("vim", ["vim", "+12", "/n/a b.md"]),
        ("emacsclient -n", ["emacsclient", "-n", "+12", "/n/a b.md"]),
        ("/usr/bin/code --wait", ["/usr/bin/code", "--wait", "--goto", "/n/a b.md:12"]),
        ("hx", ["hx", "/n/a b.md:12"]),
    ],
)
def test_an_editor_goes_to_the_line(editor: str, command: list[str]) -> None:
    assert editor_command(editor, [("/n/a b.md", 12)]) == command


def test_the_users_editor_goes_before_all_others(programs: Programs, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = programs({OPENER: "", "vi": "", "ed": ""})
    monkeypatch.setenv("EDITOR", "ed -s")
    open_notes(NOTE)
    assert calls() == ["ed -s +7 /n/ü/a.md"]


@pytest.mark.parametrize(
    ("scripts", "terminal", "expected"),
    [
        ({OPENER: "", "vi": ""}, True, [f"{OPENER} {URL}"]),
        ({OPENER: "exit 3", "nano": "", "vi": ""}, True, [f"{OPENER} {URL}", "nano +7 /n/ü/a.md"]),
        ({"sensible-editor": "", "vi": ""}, True, ["sensible-editor +7 /n/ü/a.md"]),
        ({"vi": ""}, True, ["vi +7 /n/ü/a.md"]),
        (
            {OPENER: 'case "$1" in obsidian:*) exit 4;; esac', "vi": ""},
            False,
            [f"{OPENER} {URL}", f"{OPENER} /n/ü/a.md"],
        ),
        (
            {"xdg-mime": "", OPENER: "", "vi": ""},
            True,
            ["xdg-mime query default x-scheme-handler/obsidian", "vi +7 /n/ü/a.md"],
        ),
        (
            {"xdg-mime": "echo obsidian.desktop", OPENER: "", "vi": ""},
            True,
            ["xdg-mime query default x-scheme-handler/obsidian", f"{OPENER} {URL}"],
        ),
    ],
)
def test_without_a_users_editor_what_there_is_opens_the_note(
    programs: Programs, scripts: dict[str, str], terminal: bool, expected: list[str]
) -> None:
    calls = programs(scripts, terminal=terminal)
    started: list[int] = []
    open_notes(NOTE, on_start=lambda: started.append(1))
    assert (calls(), started) == (expected, [1])


def test_where_nothing_opens_a_note_the_error_says_what_to_do(
    programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs({})
    started: list[int] = []
    for editor, obsidian, message in (
        ("", False, "no editor was found; set $VISUAL or $EDITOR to your editor"),
        ("", True, "Obsidian is not installed; install it, or use an editor"),
        (
            "gone",
            False,
            "cannot start gone: No such file or directory; set $VISUAL or $EDITOR to your editor",
        ),
    ):
        monkeypatch.setenv("EDITOR", editor)
        with pytest.raises(UsageError) as raised:
            open_notes(NOTE, obsidian=obsidian, on_start=lambda: started.append(1))
        assert str(raised.value) == message
    assert not started
    programs({"broken": "exit 3"})
    monkeypatch.setenv("EDITOR", "broken")
    with pytest.raises(UsageError, match=r"^broken exited with code 3; set \$VISUAL"):
        open_notes(NOTE)


def test_a_folder_of_several_notes_is_opened_at_once(programs: Programs) -> None:
    calls = programs({"vi": ""})
    open_notes([*NOTE, {**NOTE[0], "path": "b.md"}])
    assert calls() == ["vi +7 /n/ü/a.md /n/ü/b.md"]
    assert os.environ["PATH"]
