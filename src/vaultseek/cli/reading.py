"""``vaultseek read``: a note's text, as the daemon knows it."""

from __future__ import annotations

import re

import click

from vaultseek.cli import FOUND, candidates
from vaultseek.cli.asking import HELP, ask_about
from vaultseek.cli.invocation import Invocation, as_json, daemon_options, pass_invocation
from vaultseek.cli.terminal import clean
from vaultseek.errors import UsageError

_LINES = re.compile(r"(\d{0,9})[-:](\d{0,9})|(\d{1,9})")


@click.command(context_settings=HELP)
@click.argument("note", shell_complete=candidates.notes)
@click.option("--lines", metavar="A-B", help="Only the lines from A to B.")
@click.option("--json", "json_", is_flag=True, help="Print one JSON object with all that is known of it.")
@daemon_options
@pass_invocation
def read(invocation: Invocation, /, note: str, lines: str | None, json_: bool) -> int:
    """Print a note, found by path, title, alias or file name.

    \b
    vaultseek read "Float Switch Wiring" --lines 10-20
    """
    start, end = _range(lines)
    answer = ask_about(invocation, "note/get", note, start_line=start, end_line=end)
    if json_:
        as_json(answer)
    else:
        invocation.show("\n".join(clean(line) for line in answer["text"].split("\n")))
    return FOUND


def _range(lines: str | None) -> tuple[int | None, int | None]:
    found = _LINES.fullmatch(lines or "-")
    if found is None:
        raise UsageError(f"--lines {lines}: expected A-B, such as 10-20")
    if found[3]:
        return max(1, int(found[3])), max(1, int(found[3]))
    return int(found[1] or 1) or 1, int(found[2]) or 1 if found[2] else None
