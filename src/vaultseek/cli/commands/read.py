"""``vaultseek read``: the text of a note, from the daemon."""

from __future__ import annotations

import re

import click

from vaultseek.cli.connect import call_note
from vaultseek.cli.exit_codes import SUCCESS
from vaultseek.cli.invocation import Invocation
from vaultseek.cli.options import daemon_options, note_argument, pass_invocation
from vaultseek.cli.output import print_json
from vaultseek.cli.terminal import clean
from vaultseek.errors import UsageError

_RANGE = re.compile(r"(\d{0,9})[-:](\d{0,9})|(\d{1,9})")


@click.command()
@note_argument
@click.option("--lines", metavar="A-B", help="Print only lines A to B.")
@click.option("--json", "json_", is_flag=True, help="Print one JSON object with all details of the note.")
@daemon_options
@pass_invocation
def read(invocation: Invocation, /, note: str, lines: str | None, json_: bool) -> int:
    """Print a note, found by path, title, alias or file name.

    \b
    vaultseek read "Float Switch Wiring" --lines 10-20
    """
    start, end = _parse_range(lines)
    answer = call_note(invocation, "note/get", note, start_line=start, end_line=end)
    if json_:
        print_json(answer)
    else:
        invocation.show("\n".join(clean(line) for line in answer["text"].split("\n")))
    return SUCCESS


def _parse_range(lines: str | None) -> tuple[int | None, int | None]:
    match = _RANGE.fullmatch(lines or "-")
    if match is None:
        raise UsageError(f"--lines {lines}: expected A-B, such as 10-20")
    if match[3]:
        line = max(1, int(match[3]))
        return line, line
    return int(match[1] or 1) or 1, int(match[2]) or 1 if match[2] else None
