"""``vaultseek backend``: moving notes to another engine."""

from __future__ import annotations

import time
from collections.abc import Iterator

import click

from vaultseek.base import limits
from vaultseek.base.model import JSON
from vaultseek.doors.cli.connect import connect, daemon_pid
from vaultseek.doors.cli.exit_codes import SUCCESS
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.options import daemon_options, json_option
from vaultseek.doors.cli.output import print_error, print_result
from vaultseek.doors.cli.terminal import clean, count
from vaultseek.errors import Cancelled, Unavailable

DIFFERENT = 1
"""Exit code after a move if counts or searches differ."""
SHOWN_SEARCHES = 5
MOST_RESTARTS = 5
"""Maximum number of times that the daemon is restarted during one move."""


@click.group()
def backend() -> None:
    """Move notes between the embedded engine and PostgreSQL.

    The settings are in [index]; docs/backends.md explains which engine to choose.
    """


@backend.command()
@click.option(
    "--to",
    "target",
    required=True,
    type=click.Choice(["postgres", "embedded"]),
    help="The engine.",
)
@click.option("--uri", metavar="URI", help="Address of the engine.")
@json_option()
@daemon_options
def migrate(invocation: Invocation, target: str, uri: str | None) -> int:
    """Copy notes and vectors to another engine, and use that engine.

    Everything is copied from the index: no note is read and nothing is embedded again. The engine is checked
    first; if it cannot be used, nothing changes. At the end, the engine's counts of notes, passages and
    vectors are compared with the index, and some searches are repeated. Exit code 1 if the counts or the
    results differ.

    The setting applies to all vaults, so all are moved. With --vault, the command waits for and compares only
    that vault.

    The daemon does the work: Ctrl-C ends the display, not the move. Run the command again to follow the rest.
    If the notes are already in the engine, the command only compares. The former engine keeps its copy.

    \b
    vaultseek backend migrate --to postgres --uri postgresql://db.example/notes
    vaultseek backend migrate --to embedded
    """
    moved = _moved(invocation, target, uri)
    place = f"PostgreSQL at {clean(moved['place'])}" if moved["place"] else "the embedded engine"
    print_result(moved, invocation, *_lines(moved, place))
    if moved["same"]:
        return SUCCESS
    if not invocation.json:
        print_error(
            f"the counts in {place} differ from the index, or searches find different notes than before"
        )
    return DIFFERENT


def _moved(invocation: Invocation, target: str, uri: str | None) -> JSON:
    """Request the move and return the daemon's answer. If the daemon ends, restart it; it then continues the
    move."""
    from vaultseek.doors.cli.progress import progress

    asked = {"to": target, "uri": uri, "vault": invocation.vault and invocation.params()["vault"]}
    asked = {name: value for name, value in asked.items() if value is not None}
    restarts = 0
    with progress(color=invocation.color, quiet=invocation.json, after=1.0) as show:
        while True:
            pid = None
            try:
                with connect(invocation) as client:
                    pid = daemon_pid()
                    answer: JSON = client.call(
                        "index/move",
                        {**asked, "progress": not invocation.json},
                        timeout=None,
                        on_notification=lambda method, params: (
                            show(_copying(params)) if method == "index/progress" else None
                        ),
                    )
                    return answer
            except (Cancelled, Unavailable):
                if (pid is not None and daemon_pid() == pid) or restarts == MOST_RESTARTS:
                    raise
                restarts += 1
                time.sleep(limits.DAEMON_POLL_SECONDS)


def _copying(state: JSON) -> JSON:
    if state["phase"] != "embedding" or state["rate"]:
        return state
    return {**state, "doing": f"copying vectors, {state['pending']:,} left"}


def _lines(moved: JSON, place: str) -> Iterator[str]:
    from vaultseek_server.doctor import in_words

    if not moved["vaults"]:
        yield f"there is no vault yet; vaults that you add will be kept in {place}"
    for vault in moved["vaults"]:
        name = clean(vault["vault"])
        yield f"{name}: {in_words(vault)} are {'already ' if moved['was_there'] else ''}in {place}"
        if vault["reason"]:
            yield f"{name}: not everything could be compared: {clean(vault['reason'])}"
        if vault["unsearched"]:
            yield f"{name}: searches could not be compared: {clean(vault['unsearched'])}"
        if searches := vault["searches"]:
            others = [each for each in searches if each["again"] != each["notes"]]
            asked = count(len(searches), "search", "searches")
            yield f"{name}: {len(searches) - len(others)} of {asked} found the same top notes as before"
            for each in others[:SHOWN_SEARCHES]:
                yield f"  {each['again']} of {each['notes']} top notes found again: {clean(each['query'])}"
    if moved["former"]:
        yield f"{clean(moved['former'])} keeps its copy; delete it there if you no longer need it"
