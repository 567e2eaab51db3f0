"""``vaultseek status``."""

from __future__ import annotations

import time

import click

from vaultseek.base import limits
from vaultseek.doors.cli.exit_codes import SUCCESS, UNAVAILABLE
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.options import json_option, pass_invocation, shared_options, vault_option
from vaultseek.doors.cli.output import print_json


@click.command()
@json_option
@vault_option
@shared_options
@pass_invocation
def status(invocation: Invocation, json_: bool) -> int:
    """Show the daemon, its vaults and their problems.

    For each vault: the progress of its index, the lanes that are up, and the notes with problems. Starts
    nothing: if no daemon is running, it says so and ends with exit code 3.
    """
    from vaultseek.doors.cli.connect import wait_for_running
    from vaultseek.doors.cli.status_page import page

    client = wait_for_running()
    if client is None:
        if json_:
            print_json({"daemon": None, "vaults": []})
        else:
            print("no daemon is running")
        return UNAVAILABLE
    with client:
        params = invocation.params() if invocation.vault else {}
        answer = client.call("index/status", params, timeout=limits.CALL_SECONDS)
    if json_:
        print_json(answer)
    else:
        invocation.show(page(answer, invocation.out, now=time.time()))
    return SUCCESS
