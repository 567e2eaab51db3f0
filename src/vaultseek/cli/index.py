"""``vaultseek index``: look for changes now, and show how the index fills."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import click

from vaultseek import limits
from vaultseek.cli import FOUND
from vaultseek.cli.invocation import JSON, Invocation, as_json, daemon_options, pass_invocation
from vaultseek.cli.terminal import clean, count
from vaultseek.errors import Cancelled

if TYPE_CHECKING:
    from vaultseek.client import Client

_BACKGROUND = (
    "the daemon takes in what changed; `vaultseek status` tells how far it is, `vaultseek index --wait` waits"
)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--wait", is_flag=True, help="Show progress and end when everything is indexed.")
@click.option("--json", "json_", is_flag=True, help="Print the state at the end as one JSON object.")
@daemon_options
@pass_invocation
def index(invocation: Invocation, wait: bool, json_: bool) -> int:
    """Take in what changed, and show how far it is.

    The daemon does so by itself whenever a note changes; this is for the first time and for the impatient.
    Ctrl-C ends the display, not the indexing.

    \b
    vaultseek index --wait
    vaultseek index --wait --vault ~/Notes
    """
    from vaultseek.cli.reach import connect

    with connect(invocation) as client:
        state = _wait(client, invocation, quiet=json_) if wait else _refresh(client, invocation)
    if json_:
        as_json(state)
    elif wait:
        print(_summary(state))
    else:
        print(_BACKGROUND)
    return FOUND


def _refresh(client: Client, invocation: Invocation) -> JSON:
    # Where there is much to take in, the daemon goes on with it after this has lost patience.
    with suppress(Cancelled):
        client.call("index/refresh", invocation.params(), timeout=limits.REFRESH_SECONDS)
    answer: JSON = client.call("index/status", invocation.params() if invocation.vault else {})
    return answer


def _wait(client: Client, invocation: Invocation, *, quiet: bool) -> JSON:
    from vaultseek.cli.progress import progress

    with progress(color=invocation.color, quiet=quiet) as show:
        state: JSON = client.call(
            "index/wait",
            invocation.params(progress=not quiet),
            timeout=None,
            on_notification=lambda method, params: show(params) if method == "index/progress" else None,
        )
    return state


def _summary(state: JSON) -> str:
    from vaultseek.cli.status import progress_of

    problems = state.get("problem_count", len(state.get("problems") or ()))
    remark = f"; {count(problems, 'problem')}, named by `vaultseek status`" if problems else ""
    return f"{clean(state.get('name') or 'vault')}: {progress_of(state)}{remark}"
