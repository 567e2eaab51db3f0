"""``vaultseek read`` and ``vaultseek open``: show a note in the terminal, the editor or Obsidian."""

import re

import click

from vaultseek.base.text import count, quote
from vaultseek.doors.cli.connect import call_note, find_part, record_given
from vaultseek.doors.cli.editor import open_notes
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.options import daemon_options, json_option, note_argument
from vaultseek.doors.cli.output import print_error, print_json
from vaultseek.doors.cli.terminal import clean
from vaultseek.errors import NotFound, UsageError

_PLACE = re.compile(r"(.+\.(?:md|txt|org)):(\d{1,9})(?::\d+)?(?::.*)?", re.DOTALL)
_RANGE = re.compile(r"(\d{0,9})[-:](\d{0,9})|(\d{1,9})")


@click.command()
@note_argument
@click.option("--lines", metavar="A-B", help="Print only lines A to B.")
@json_option("Print one JSON object with all details of the note.")
@daemon_options
def read(invocation: Invocation, /, note: str, lines: str | None) -> None:
    """Print a note or a part of it.

    NOTE is a path or the end of one, a title, an alias or a file name.

    \b
    vaultseek read "Float Switch Wiring" --lines 10-20
    vaultseek read "Float Switch Wiring#Wires"
    vaultseek read "Manual.pdf#page=12"
    """
    start, end = _parse_range(lines)
    try:
        answer = call_note(invocation, "note/get", note, start_line=start, end_line=end)
    except NotFound as no_note:
        found, part = find_part(invocation, note, no_note)
        if lines is not None:
            raise UsageError(
                f"{quote(note)} refers to a part of a note; leave out the part or --lines"
            ) from None
        lines_of_part = {"start_line": part.first, "end_line": part.last}
        answer = call_note(invocation, "note/get", found["path"], **lines_of_part)
    if answer["start_line"] > max(1, answer["lines"]):
        lines_there = count(answer["lines"], "line")
        raise UsageError(f"{quote(answer['path'])} has {lines_there}; use a range within the note")
    if invocation.json:
        print_json(answer)
    else:
        if currency := answer.get("currency"):
            print_error(f"{answer['path']}: {currency['text']}")
        invocation.show("\n".join(clean(line) for line in answer["text"].split("\n")))
    if invocation.agent:
        from vaultseek.doors.mcp.reply import Reply

        given = Reply(answer["path"], [answer["text"]], (), {"vault": answer["vault"]}, [answer])
        record_given(invocation, given, "read", note)


def _parse_range(lines: str | None) -> tuple[int | None, int | None]:
    match = _RANGE.fullmatch(lines or "-")
    if match is None:
        raise UsageError(f"--lines {lines}: expected A-B, such as 10-20")
    numbers = [int(text) if text else None for text in match.groups()]
    if 0 in numbers:
        raise UsageError(f"--lines {lines}: lines are counted from 1; use --lines 1-10")
    start, end, line = numbers
    if line is not None:
        return line, line
    if end is not None and end < (start or 1):
        raise UsageError(f"--lines {lines}: the last line is before the first; use --lines {end}-{start}")
    return start, end


@click.command()
@note_argument
@click.option("--obsidian", is_flag=True, help="Open the note in Obsidian, even if an editor is set.")
@daemon_options
def open(invocation: Invocation, /, note: str, obsidian: bool) -> None:
    """Open a note in your editor or in Obsidian.

    The editor is $VISUAL or $EDITOR; without either, Obsidian or a terminal editor opens the note.

    NOTE is a path or the end of one, a title, an alias or a file name; path:line (as printed by other
    commands), NOTE#heading and NOTE#^block open the note at that line.

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
