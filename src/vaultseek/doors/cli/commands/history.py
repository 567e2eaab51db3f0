"""``vaultseek history``: notes opened from search results."""

from __future__ import annotations

import time

import click

from vaultseek.doors.cli.connect import call_vault
from vaultseek.doors.cli.exit_codes import NO_MATCH, SUCCESS
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.listing import remaining
from vaultseek.doors.cli.options import daemon_options, json_option, limit_option
from vaultseek.doors.cli.output import print_answer, print_result
from vaultseek.doors.cli.terminal import Terminal, age, clean, count, table
from vaultseek.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultseek.base.model import JSON


@click.command()
@click.argument("what", required=False, metavar="[QUERY|NOTE]")
@click.option("--forget", is_flag=True, help="Forget one query or note, or everything.")
@click.option("--off/--on", "off", default=None, help="Stop or resume recording.")
@limit_option("Show at most N notes.", default=20)
@json_option()
@daemon_options
def history(
    invocation: Invocation, /, what: str | None, forget: bool, off: bool | None, limit: int | None
) -> int:
    """Show the notes you opened, and from which searches.

    The latest come first. Notes you open rank higher when you repeat the search. All of this stays in the
    vault's index.

    \b
    vaultseek history
    vaultseek history --forget "invoice june"
    vaultseek history --off
    """
    if off is not None:
        if forget or what is not None:
            raise UsageError(
                "--off and --on cannot be combined with other options; run `vaultseek history --forget` first"
            )
        kept = "; `vaultseek history --forget` deletes what was recorded"
        return switch(invocation, "search", "learn", on=not off, kept=kept)
    if forget:
        answer = call_vault(invocation, "search/forget", what=what)
        print_result(answer, invocation, f"forgot {count(answer['forgotten'], 'opened note')}")
        return SUCCESS if answer["forgotten"] or what is None else NO_MATCH
    if what is not None:
        raise UsageError("history shows everything; add --forget to forget a query or a note")
    answer = call_vault(invocation, "search/history", limit=limit)
    return print_answer(answer, invocation, "opened", _table)


def switch(invocation: Invocation, section: str, key: str, *, on: bool, kept: str) -> int:
    """Turn a kind of recording on or off in the configuration. When recording is turned off, the message ends
    with ``kept``."""
    from vaultseek.base import paths
    from vaultseek.settings.toml import set_key

    file = invocation.config or paths.config_file()
    set_key(file, section, key, on)
    line = f"set {section}.{key} = {str(on).lower()} in {clean(file)}"
    return print_result({key: on, "file": str(file)}, invocation, line + ("" if on else kept))


def _table(answer: JSON, terminal: Terminal) -> str:
    off = "" if answer["learn"] else "\nNothing is recorded: search.learn is off."
    if not answer["opened"]:
        return f"No notes have been opened from a search yet.{off}"
    now = time.time()
    rows = [
        [
            clean(each["query"]),
            clean(each["path"]),
            f"{each['position']}.",
            clean(each["client"]).removeprefix("vaultseek."),
            age(each["time"], now),
        ]
        for each in answer["opened"]
    ]
    return "\n".join(table(rows, right=(2,))) + remaining(answer) + off
