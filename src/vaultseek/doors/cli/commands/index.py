"""``vaultseek index``, which shows the progress, and ``compact``."""

from __future__ import annotations

from contextlib import suppress

import click

from vaultseek.base import limits
from vaultseek.base.model import JSON
from vaultseek.doors.cli.connect import connect
from vaultseek.doors.cli.exit_codes import SUCCESS
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.options import daemon_options, json_option, pass_invocation
from vaultseek.doors.cli.output import print_json
from vaultseek.doors.cli.terminal import clean, count, size
from vaultseek.errors import Cancelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultseek.client.caller import Caller


_BACKGROUND = (
    "the daemon is indexing the changes; `vaultseek status` shows the progress, "
    "`vaultseek index --wait` waits for the end"
)
_REMEMBERED = (
    "{name} is now one of your vaults; `vaultseek vault list` shows them, "
    "and `vaultseek vault remove` forgets one"
)


@click.command()
@click.option("--wait", is_flag=True, help="Show the progress until everything is indexed.")
@click.option(
    "--ray",
    metavar="ADDRESS",
    help="Have a Ray cluster read and embed the notes, and wait: local, HOST:PORT or ray://HOST:PORT.",
)
@click.option("--json", "json_", is_flag=True, help="Print the final state as one JSON object.")
@daemon_options
@pass_invocation
def index(invocation: Invocation, wait: bool, ray: str | None, json_: bool) -> int:
    """Index the notes that changed, and remember the vault if it is new.

    The daemon does this by itself whenever a note changes. Use this command to wait for the first index, or
    to index changes now. Ctrl-C ends the display, not the indexing.

    \b
    vaultseek index --wait
    vaultseek index --wait --vault ~/Notes
    vaultseek index --ray ray://cluster:10001 --vault ~/Notes
    """
    if ray is None:
        state = _by_daemon(invocation, wait=wait, json_=json_)
    else:
        state = _on_cluster(invocation, ray, quiet=json_)
    if json_:
        print_json(state)
    elif wait or ray is not None:
        print(_summary(state))
    else:
        print(_BACKGROUND)
    if state.get("remembered") and not json_:
        print(_REMEMBERED.format(name=clean(state.get("name") or state["vault"])))
    return SUCCESS


def _on_cluster(invocation: Invocation, address: str, *, quiet: bool) -> JSON:
    from vaultseek.doors.cli.cluster_index import index_on_cluster
    from vaultseek.doors.cli.progress import progress

    with progress(color=invocation.color, quiet=quiet) as show:
        return index_on_cluster(invocation, address, show, quiet=quiet)


def _by_daemon(invocation: Invocation, *, wait: bool, json_: bool) -> JSON:
    from vaultseek.doors.cli.connect import connect

    with connect(invocation) as client:
        if wait:
            return _wait(client, invocation, quiet=json_)
        state = _refresh(client, invocation)
        if not json_:
            return state
        status: JSON = client.call("index/status", _named(invocation))
        return status


def _refresh(client: Caller, invocation: Invocation) -> JSON:
    # With many changes this call times out, and the daemon goes on indexing.
    params = invocation.params(remember=True)
    with suppress(Cancelled):
        return dict(client.call("index/refresh", params, timeout=limits.REFRESH_SECONDS))
    return {}


def _named(invocation: Invocation) -> JSON:
    return invocation.params() if invocation.vault else {}


def _wait(client: Caller, invocation: Invocation, *, quiet: bool) -> JSON:
    from vaultseek.doors.cli.progress import progress

    with progress(color=invocation.color, quiet=quiet) as show:
        state: JSON = client.call(
            "index/wait",
            invocation.params(progress=not quiet, remember=True),
            timeout=None,
            on_notification=lambda method, params: show(params) if method == "index/progress" else None,
        )
    return state


def _summary(state: JSON) -> str:
    from vaultseek.doors.cli.status_page import progress_of

    problems = state.get("problem_count", len(state.get("problems") or ()))
    remark = f"; {count(problems, 'problem')}, listed by `vaultseek status`" if problems else ""
    return f"{clean(state.get('name') or 'vault')}: {progress_of(state)}{remark}"


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
