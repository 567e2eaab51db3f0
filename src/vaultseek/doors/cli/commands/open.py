"""``vaultseek open``: a note in the editor or in Obsidian."""

from __future__ import annotations

import re

import click

from vaultseek.base.text import fold, quote
from vaultseek.doors.cli.connect import call_note
from vaultseek.doors.cli.editor import open_note
from vaultseek.doors.cli.exit_codes import SUCCESS
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.options import daemon_options, note_argument
from vaultseek.errors import NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultseek.base.model import JSON

HEADINGS_NAMED = 5
_PLACE = re.compile(r"(.+\.(?:md|txt|org)):(\d{1,9})(?::\d+)?(?::.*)?", re.DOTALL)


@click.command()
@note_argument
@click.option("--obsidian", is_flag=True, help="Open it in Obsidian, even if an editor is set.")
@daemon_options
def open(invocation: Invocation, /, note: str, obsidian: bool) -> int:
    """Open a note in $VISUAL or $EDITOR; if neither is set, in Obsidian.

    NOTE is a path or the end of one, a title, an alias or a file name; path:line, as other commands print
    it, or NOTE#heading leads to the line.

    \b
    vaultseek open "Float Switch Wiring"
    vaultseek open "Float Switch Wiring#Alarm" --obsidian
    vaultseek open Daily/2026-07-30.md:11
    """
    place = _PLACE.fullmatch(note)
    answer, line = (_note(invocation, place[1]), int(place[2])) if place else _at_heading(invocation, note)
    open_note(answer["vault_path"], {"path": answer["path"], "line": line}, obsidian=obsidian)
    return SUCCESS


def _note(invocation: Invocation, name: str) -> JSON:
    return call_note(invocation, "note/get", name, start_line=1, end_line=1)


def _at_heading(invocation: Invocation, name: str) -> tuple[JSON, int]:
    """Return a note and the line to go to. What stands behind ``#`` may also be a part of its name."""
    try:
        return _note(invocation, name), 1
    except NotFound:
        note, mark, heading = name.rpartition("#")
        if not mark or not note:
            raise
    answer = _note(invocation, note)
    return answer, _line_of(heading, answer)


def _line_of(heading: str, note: JSON) -> int:
    for each in note.get("headings") or ():
        if fold(each["text"]) == fold(heading):
            return int(each["line"])
    headings = [quote(each["text"]) for each in note.get("headings") or ()]
    more = ", …" if len(headings) > HEADINGS_NAMED else ""
    there = ", ".join(headings[:HEADINGS_NAMED]) + more if headings else "none"
    raise NotFound(f"{note['path']} has no heading {quote(heading)}; its headings: {there}")
