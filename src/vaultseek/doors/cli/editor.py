"""Opening a note at a given line, in the editor or in Obsidian."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from vaultseek.base.paths import obsidian_url
from vaultseek.base.text import quote
from vaultseek.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from vaultseek.base.model import JSON

_GOTO = ("code", "code-insiders", "codium", "cursor", "windsurf")
_VIEWED = (".pdf", ".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff")
"""Extensions of files that editors cannot show."""
_OPENER = "open" if sys.platform == "darwin" else "xdg-open"
_SET_EDITOR = "set $VISUAL or $EDITOR to your editor"
_COLON = ("subl", "zed", "hx", "helix", "micro")
_COMMON = ("sensible-editor", "nano", "vi")
"""Terminal editors to try if the user has not set an editor."""
_OBSIDIAN_HANDLER = ("xdg-mime", "query", "default", "x-scheme-handler/obsidian")


def open_notes(
    results: Sequence[JSON], *, obsidian: bool = False, on_start: Callable[[], object] = lambda: None
) -> None:
    """Open notes at their matching lines in ``$VISUAL`` or ``$EDITOR``, all at once.

    If neither variable is set, try Obsidian, a terminal editor and the desktop's default program, in this
    order. With ``obsidian``, use only Obsidian. ``on_start`` is called once a program has started. Raises
    UsageError if no program can be started, or an editor fails.
    """
    files = [(_file(result), int(result.get("line") or result.get("start_line") or 1)) for result in results]
    places = [place for place in files if obsidian or not place[0].lower().endswith(_VIEWED)]
    for file in (file for file, _ in files if not obsidian and file.lower().endswith(_VIEWED)):
        _open_by_desktop(
            [file],
            f"no program is set for opening {Path(file).name}; set one for this kind of file",
            on_start,
        )
    if not places:
        return
    urls = [obsidian_url(file) for file, _ in places]
    if obsidian:
        _open_by_desktop(urls, "Obsidian is not installed; install it, or use an editor", on_start)
    elif editor := user_editor():
        _edit(editor, places, on_start)
    elif not (_may_have_obsidian() and _is_opened_by_desktop(urls, on_start)):
        if editor := _common_editor():
            _edit(editor, places, on_start)
        else:
            _open_by_desktop([file for file, _ in places], f"no editor was found; {_SET_EDITOR}", on_start)


def _file(result: JSON) -> str:
    if not result["vault_path"]:
        raise UsageError(
            "this note is on another machine, so there is no file to open; read it with `vaultseek read`"
        )
    return str(Path(result["vault_path"], result["path"]))


def open_window(vault: str, result: JSON) -> None:
    """Open the note of ``result`` in an editor that has its own window, without waiting for the editor to
    end.

    Raises UsageError if the editor cannot be started.
    """
    command = editor_command(user_editor(), [(str(Path(vault, result["path"])), int(result["line"]))])
    nowhere = subprocess.DEVNULL
    _start(command, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True)


def user_editor() -> str:
    """Return the command that starts the user's editor, possibly with options, or "" if no editor is set."""
    return (os.environ.get("VISUAL") or os.environ.get("EDITOR") or "").strip()


def editor_command(editor: str, places: Sequence[tuple[str, int]]) -> Sequence[str]:
    """Return the command line that opens files at given lines; most editors use only the first file's line.

    Raises UsageError if the editor's command has an unclosed quotation mark.
    """
    try:
        words = shlex.split(editor)
    except ValueError:
        raise UsageError(
            f"the editor {quote(editor)} has an unclosed quotation mark; {_SET_EDITOR}"
        ) from None
    name = Path(words[0]).name
    if name in (*_GOTO, *_COLON):
        goto = ["--goto"] if name in _GOTO else []
        return [*words, *goto, *(f"{file}:{line}" for file, line in places)]
    return [*words, f"+{places[0][1]}", *(file for file, _ in places)]


def _common_editor() -> str:
    """Return an editor found on most systems, or "" if none is installed or there is no terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return ""
    return next((name for name in _COMMON if shutil.which(name)), "")


def _may_have_obsidian() -> bool:
    """Return False if the desktop has no program for Obsidian links; a browser would open the links and show
    an error."""
    if not shutil.which(_OBSIDIAN_HANDLER[0]):
        return True
    asked = subprocess.run(_OBSIDIAN_HANDLER, check=False, capture_output=True)
    return bool(asked.stdout.strip())


def _open_by_desktop(targets: Sequence[str], problem: str, on_start: Callable[[], object]) -> None:
    if not _is_opened_by_desktop(targets, on_start):
        raise UsageError(problem)


def _is_opened_by_desktop(targets: Sequence[str], on_start: Callable[[], object]) -> bool:
    for target in targets:
        try:
            # The desktop's own error message is about web browsers and MIME types.
            done = subprocess.run([_OPENER, target], check=False, stderr=subprocess.DEVNULL)
        except OSError:
            return False
        if done.returncode:
            return False
    on_start()
    return True


def _edit(editor: str, places: Sequence[tuple[str, int]], on_start: Callable[[], object]) -> None:
    command = editor_command(editor, places)
    with _start(command) as process:
        on_start()
        code = process.wait()
    if code:
        raise UsageError(f"{command[0]} exited with code {code}; {_SET_EDITOR}")


def _start(command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(command, **options)
    except OSError as error:
        raise UsageError(f"cannot start {command[0]}: {error.strerror}; {_SET_EDITOR}") from None
