"""``vaultseek compact``: leave nothing of deleted text in the index."""

from __future__ import annotations

import click

from vaultseek.doors.cli.connect import connect
from vaultseek.doors.cli.exit_codes import SUCCESS
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.options import daemon_options, json_option, pass_invocation
from vaultseek.doors.cli.output import print_json
from vaultseek.doors.cli.terminal import clean, size


@click.command()
@json_option
@daemon_options
@pass_invocation
def compact(invocation: Invocation, /, json_: bool) -> int:
    """Remove what is left of deleted notes from the index.

    A note that you delete, or a password that you take out of one, is not found any more at once. Its text
    stays in files of the index until they are written anew: once a day, or by this command.

    \b
    vaultseek compact --vault notes
    """
    with connect(invocation) as client:
        answer = client.call("index/compact", invocation.params(), timeout=None)
    if json_:
        print_json(answer)
        return SUCCESS
    freed = f", {size(answer['freed_bytes'])} less than before" if answer["freed_bytes"] else ""
    print(
        f"Nothing of deleted text is left in the index of {clean(answer['vault'])}: "
        f"{size(answer['bytes'])}{freed}."
    )
    return SUCCESS
