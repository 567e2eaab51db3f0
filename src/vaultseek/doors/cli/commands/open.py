"""``vaultseek open``: a note in the editor or in Obsidian."""

import re

import click

from vaultseek.doors.cli.connect import call_note, find_part
from vaultseek.doors.cli.editor import open_notes
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.options import daemon_options, note_argument
from vaultseek.errors import NotFound

_PLACE = re.compile(r"(.+\.(?:md|txt|org)):(\d{1,9})(?::\d+)?(?::.*)?", re.DOTALL)


@click.command()
@note_argument
@click.option("--obsidian", is_flag=True, help="Open it in Obsidian, even if an editor is set.")
@daemon_options
def open(invocation: Invocation, /, note: str, obsidian: bool) -> None:
    """Open a note in $VISUAL or $EDITOR; if neither is set, in Obsidian.

    NOTE is a path or the end of one, a title, an alias or a file name; path:line, as other commands print
    it, NOTE#heading or NOTE#^block leads to the line.

    \b
    vaultseek open "Float Switch Wiring"
    vaultseek open "Float Switch Wiring#Alarm" --obsidian
    vaultseek open Daily/2026-07-30.md:11
    """
    place = _PLACE.fullmatch(note)
    name, line = (place[1], int(place[2])) if place else (note, 1)
    try:
        answer = call_note(invocation, "note/get", name, end_line=1)
    except NotFound as no_note:
        answer, part = find_part(invocation, name, no_note)
        line = part.line or part.first
    result = {"vault_path": answer["vault_path"], "path": answer["path"], "line": line}
    open_notes([result], obsidian=obsidian)
