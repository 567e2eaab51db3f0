"""Opening a note at a line, in the editor or in Obsidian."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from vaultseek.base.paths import obsidian_url
from vaultseek.base.text import quote
from vaultseek.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultseek.base.model import JSON

_GOTO = ("code", "code-insiders", "codium", "cursor", "windsurf")
_VIEWED = (".pdf", ".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff")
"""Files that no editor shows."""
_OPENER = "open" if sys.platform == "darwin" else "xdg-open"
_SET_EDITOR = "set $VISUAL or $EDITOR to your editor"
_COLON = ("subl", "zed", "hx", "helix", "micro")


def open_notes(results: Sequence[JSON], *, obsidian: bool = False) -> None:
    """Open notes at their lines in ``$VISUAL`` or ``$EDITOR``, all at once; if neither is set, in Obsidian.

    ``obsidian`` opens them there in any case. Raises UsageError if the program cannot be started.
    """
    editor = "" if obsidian else user_editor()
    places = []
    for result in results:
        if not result["vault_path"]:
            raise UsageError(
                "this note is on another machine, and a searcher has no file to open; "
                "read it with `vaultseek read`"
            )
        file = str(Path(result["vault_path"], result["path"]))
        if not obsidian and file.lower().endswith(_VIEWED):
            _open_by_desktop(file, f"no program here shows {Path(file).name}; set one for such files")
        elif editor:
            places.append((file, int(result.get("line") or result.get("start_line") or 1)))
        else:
            advice = "install it" if obsidian else "set $EDITOR to your editor, or install Obsidian"
            _open_by_desktop(obsidian_url(file), f"Obsidian is not here; {advice}")
    if places:
        _run(editor_command(editor, places))


def open_window(vault: str, result: JSON) -> None:
    """Open the note of ``result`` in an editor with a window of its own, and do not wait for its end.

    Raises UsageError if the editor cannot be started.
    """
    command = editor_command(user_editor(), [(str(Path(vault, result["path"])), int(result["line"]))])
    _run(command, wait=False)


def user_editor() -> str:
    """Return the command of the user's editor, which may include options; "" if none is set."""
    return (os.environ.get("VISUAL") or os.environ.get("EDITOR") or "").strip()


def editor_command(editor: str, places: Sequence[tuple[str, int]]) -> Sequence[str]:
    """Return the command line that opens files at lines; most editors take the line of the first alone.

    Raises UsageError.
    """
    try:
        words = shlex.split(editor)
    except ValueError:
        raise UsageError(f"the editor {quote(editor)} has a quotation mark too few; {_SET_EDITOR}") from None
    name = Path(words[0]).name
    if name in (*_GOTO, *_COLON):
        goto = ["--goto"] if name in _GOTO else []
        return [*words, *goto, *(f"{file}:{line}" for file, line in places)]
    return [*words, f"+{places[0][1]}", *(file for file, _ in places)]


def _open_by_desktop(target: str, problem: str) -> None:
    try:
        # Its own words are about web browsers and MIME types.
        done = subprocess.run([_OPENER, target], check=False, stderr=subprocess.DEVNULL)
    except OSError as error:
        raise UsageError(f"{_OPENER}: {error.strerror}; {problem}") from None
    if done.returncode:
        raise UsageError(problem)


def _run(command: Sequence[str], *, wait: bool = True) -> None:
    nowhere = subprocess.DEVNULL
    try:
        if wait:
            subprocess.run(command, check=False)
        else:
            subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True)
    except OSError as error:
        raise UsageError(f"cannot start {command[0]}: {error.strerror}; {_SET_EDITOR}") from None
