"""``vaultseek index``: look for changes now, and show how the index fills."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from vaultseek import limits
from vaultseek.cli import FOUND
from vaultseek.cli.invocation import JSON, Invocation, as_json, daemon_options, pass_invocation
from vaultseek.cli.terminal import clean, count

if TYPE_CHECKING:
    from vaultseek.client import Client


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--wait", is_flag=True, help="Show progress and end when everything is indexed.")
@click.option("--json", "json_", is_flag=True, help="Print the state at the end as one JSON object.")
@daemon_options
@pass_invocation
def index(invocation: Invocation, wait: bool, json_: bool) -> int:
    """Compare the vault with its index now and take in what changed.

    The daemon does so by itself whenever a note changes; this is for the first time and for the impatient.
    Ctrl-C ends the display, not the indexing.

    \b
    vaultseek index --wait
    vaultseek index --wait --vault ~/Notes
    """
    from vaultseek.cli.reach import connect

    with connect(invocation) as client:
        client.call("index/refresh", invocation.params(), timeout=limits.CALL_SECONDS)
        if wait:
            state = _wait(client, invocation, quiet=json_)
        else:
            state = client.call("index/status", invocation.params(), timeout=limits.CALL_SECONDS)
    if json_:
        as_json(state)
    elif wait:
        print(_summary(state))
    else:
        print("looking for changes in the background; `vaultseek index --wait` shows how it goes")
    return FOUND


def _wait(client: Client, invocation: Invocation, *, quiet: bool) -> JSON:
    from vaultseek.cli.progress import progress

    with progress(color=invocation.color, quiet=quiet) as show:
        return client.call(
            "index/wait",
            invocation.params(progress=not quiet),
            timeout=None,
            on_notification=lambda method, params: show(params) if method == "index/progress" else None,
        )


def _summary(state: JSON) -> str:
    from vaultseek.cli.status import progress_of

    problems = len(state.get("problems") or ())
    remark = f"; {count(problems, 'problem')}, named by `vaultseek status`" if problems else ""
    return f"{clean(state.get('name') or 'vault')}: {progress_of(state)}{remark}"
