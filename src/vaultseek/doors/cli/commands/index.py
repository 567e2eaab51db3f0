"""``vaultseek index``, which can show progress, and ``vaultseek compact``."""

from contextlib import suppress

import click

from vaultseek.base import limits
from vaultseek.base.model import JSON
from vaultseek.doors.cli.connect import connect
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.options import daemon_options, json_option
from vaultseek.doors.cli.output import print_result
from vaultseek.doors.cli.terminal import clean, count, size
from vaultseek.errors import Cancelled

_BACKGROUND = (
    "the daemon is indexing the changes; `vaultseek status` shows the progress, "
    "and `vaultseek index --wait` waits until it is done"
)
_REMEMBERED = (
    "is now one of your vaults; `vaultseek vault list` shows them, and `vaultseek vault remove` forgets one"
)


@click.command()
@click.option("--wait", is_flag=True, help="Show the progress until everything is indexed.")
@click.option(
    "--ray",
    metavar="ADDRESS",
    help="Embed the notes on a Ray cluster, and wait: local, HOST:PORT or ray://HOST:PORT.",
)
@json_option("Print the final state as one JSON object.")
@daemon_options
def index(invocation: Invocation, wait: bool, ray: str | None) -> int:
    """Index changed notes, and add the vault if it is new.

    The daemon does this by itself whenever a note changes. Use this command to wait for the first index, or
    to index changes now. Ctrl-C ends the display, not the indexing.

    \b
    vaultseek index --wait
    vaultseek index --wait --vault ~/Notes
    vaultseek index --ray ray://cluster:10001 --vault ~/Notes
    """
    if wait or ray is not None:
        state = wait_until_indexed(invocation, ray)
        lines = [summary_of(state)]
    else:
        state, lines = _refresh(invocation), [_BACKGROUND]
    name = clean(state.get("name") or state.get("vault") or "")
    if state.get("remembered"):
        lines.append(f"{name} {_REMEMBERED}")
    if invocation.is_outside(state.get("path") or state.get("vault_path")):
        lines.append(
            f'indexed "{name}", because this folder is not in a vault; add it with `vaultseek vault add .`'
        )
    return print_result(state, invocation, *lines)


def wait_until_indexed(invocation: Invocation, cluster: str | None = None) -> JSON:
    """Wait until the daemon, or the cluster at the given address, has indexed everything; return the vault's
    status."""
    from vaultseek.doors.cli.progress import progress

    quiet = invocation.json
    with progress(color=invocation.color, quiet=quiet) as show:
        if cluster is not None:
            from vaultseek.doors.cli.cluster_index import index_on_cluster

            return index_on_cluster(invocation, cluster, show, quiet=quiet)
        with connect(invocation) as client:
            state: JSON = client.call(
                "index/wait",
                invocation.params(progress=not quiet, remember=True),
                timeout=None,
                on_notification=lambda method, params: show(params) if method == "index/progress" else None,
            )
    return state


def _refresh(invocation: Invocation) -> JSON:
    state: JSON = {}
    with connect(invocation) as client:
        # If there are many changes, this call times out, and the daemon continues indexing.
        with suppress(Cancelled):
            params = invocation.params(remember=True)
            state = dict(client.call("index/refresh", params, timeout=limits.REFRESH_SECONDS))
        if invocation.json:
            state = client.call("index/status", invocation.params() if invocation.vault else {})
    return state


def summary_of(state: JSON) -> str:
    from vaultseek.doors.cli.status_page import progress_of

    problems = state.get("problem_count", len(state.get("problems") or ()))
    remark = f"; {count(problems, 'problem')}, listed by `vaultseek status`" if problems else ""
    return f"{clean(state.get('name') or 'vault')}: {progress_of(state)}{remark}"


@click.command()
@json_option()
@daemon_options
def compact(invocation: Invocation, /) -> int:
    """Remove leftover text of deleted notes from the index.

    A note that you delete, or a password that you remove from a note, disappears from search at once. Its
    text stays in the index files until they are rewritten: daily, or by this command.

    \b
    vaultseek compact --vault notes
    """
    with connect(invocation) as client:
        answer = client.call("index/compact", invocation.params(), timeout=None)
    freed = f", {size(answer['freed_bytes'])} less than before" if answer["freed_bytes"] else ""
    left = f"No deleted text is left in the index for {clean(answer['vault'])}"
    return print_result(answer, invocation, f"{left}: {size(answer['bytes'])}{freed}.")
