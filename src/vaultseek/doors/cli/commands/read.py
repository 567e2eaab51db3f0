"""``vaultseek read``: the text of a note, from the daemon."""

import re

import click

from vaultseek.base.text import quote
from vaultseek.doors.cli.connect import call_note, find_part
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.options import daemon_options, json_option, note_argument
from vaultseek.doors.cli.output import print_json
from vaultseek.doors.cli.terminal import clean
from vaultseek.errors import NotFound, UsageError

_RANGE = re.compile(r"(\d{0,9})[-:](\d{0,9})|(\d{1,9})")


@click.command()
@note_argument
@click.option("--lines", metavar="A-B", help="Print only lines A to B.")
@json_option("Print one JSON object with all details of the note.")
@daemon_options
def read(invocation: Invocation, /, note: str, lines: str | None) -> None:
    """Print a note, found by path, title, alias or file name, or a part of it.

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
            raise UsageError(f"{quote(note)} names a part of a note; leave out that or --lines") from None
        lines_of_part = {"start_line": part.first, "end_line": part.last}
        answer = call_note(invocation, "note/get", found["path"], **lines_of_part)
    if invocation.json:
        print_json(answer)
    else:
        invocation.show("\n".join(clean(line) for line in answer["text"].split("\n")))


def _parse_range(lines: str | None) -> tuple[int | None, int | None]:
    match = _RANGE.fullmatch(lines or "-")
    if match is None:
        raise UsageError(f"--lines {lines}: expected A-B, such as 10-20")
    if match[3]:
        line = max(1, int(match[3]))
        return line, line
    start, end = int(match[1] or 1) or 1, int(match[2]) or 1 if match[2] else None
    if end is not None and end < start:
        raise UsageError(f"--lines {lines}: the last line is before the first; use --lines {end}-{start}")
    return start, end
