"""Opening a found note: at its line in the editor, or in Obsidian."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from vaultseek.cli.invocation import JSON
from vaultseek.errors import UsageError

_GOTO = ("code", "code-insiders", "codium", "cursor", "windsurf")
_COLON = ("subl", "zed", "hx", "helix", "micro")


def open_note(vault: str, result: JSON) -> None:
    """Open the note of ``result`` in ``$VISUAL`` or ``$EDITOR`` at its line; without either, in Obsidian.

    Raises:
        UsageError: what was to open it is not there.
    """
    file = str(Path(vault, result["path"]))
    editor = (os.environ.get("VISUAL") or os.environ.get("EDITOR") or "").strip()
    if editor:
        command = editor_command(editor, file, int(result.get("start_line") or 1))
    else:
        command = ["open" if sys.platform == "darwin" else "xdg-open", obsidian_url(file)]
    try:
        subprocess.run(command, check=False)
    except OSError as error:
        raise UsageError(f"{command[0]} cannot be started ({error.strerror}); set $EDITOR") from None


def editor_command(editor: str, file: str, line: int) -> Sequence[str]:
    """The command line that opens ``file`` at ``line`` in ``editor``, which may have options of its own."""
    words = shlex.split(editor)
    name = Path(words[0]).name
    if name in _GOTO:
        return [*words, "--goto", f"{file}:{line}"]
    return [*words, f"{file}:{line}"] if name in _COLON else [*words, f"+{line}", file]


def obsidian_url(file: str) -> str:
    """The address that makes Obsidian show a note, which must lie in a vault that it knows."""
    return f"obsidian://open?path={quote(file, safe='')}"
