"""``vaultseek find``: search while typing, and open the chosen notes."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain

import click

from vaultseek.doors.cli.arguments import MODE_HELP
from vaultseek.doors.cli.completion_values import complete_query
from vaultseek.doors.cli.connect import call_daemon, call_vault, connect, ensure_running, record_open
from vaultseek.doors.cli.editor import open_notes
from vaultseek.doors.cli.exit_codes import NO_MATCH, SUCCESS
from vaultseek.doors.cli.invocation import Invocation, environment_settings
from vaultseek.doors.cli.options import QueryCommand, completed_by, daemon_options, mode_option, unescaped
from vaultseek.doors.cli.output import print_paths, with_command
from vaultseek.doors.cli.terminal import clean
from vaultseek.errors import UsageError, VaultseekError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultseek.base.model import JSON
    from vaultseek.doors.cli.live.filters import Suggestion
    from vaultseek.doors.cli.live.screen import Choice

RESULTS = 30
"""Maximum number of results in a live search; users rarely look further."""
EVERY_NOTE = "ext:md"
HISTORY = 50
"""Number of recently opened notes whose queries are suggested while nothing is typed."""
OFFERED_QUERIES = 8
"""Maximum number of earlier queries suggested before the filters."""


@click.command(cls=QueryCommand)
@click.argument("query", nargs=-1, shell_complete=completed_by(complete_query))
@mode_option(MODE_HELP)
@click.option("--all-vaults", is_flag=True, help="Search every vault instead of one.")
@click.option("--obsidian", is_flag=True, help="Open the note in Obsidian, even if an editor is set.")
@daemon_options
def find(
    invocation: Invocation,
    /,
    query: tuple[str, ...],
    mode: str | None,
    all_vaults: bool,
    obsidian: bool,
) -> int:
    """Search while you type, and open the note you choose.

    `vaultseek` alone does the same. Enter opens the note at the matching line, in $VISUAL, $EDITOR, Obsidian
    or a terminal editor. Tab offers filters. Ctrl-T marks notes to open together. In a pipe, the paths of the
    chosen notes are printed instead.

    \b
    vaultseek find
    vaultseek find tag:work pump
    vaultseek find | xargs -d '\\n' wc -w
    """
    screen = sys.stdout.isatty() or sys.stderr.isatty()
    if not (sys.stdin.isatty() and screen) or os.environ.get("TERM", "dumb") == "dumb":
        raise UsageError("this needs a terminal; in a script, use `vaultseek search`")
    if not (all_vaults or invocation.vaults) and sys.stdout.isatty():
        _ask_for_first_vault(invocation)
    use = (
        partial(_open, invocation, obsidian=obsidian) if sys.stdout.isatty() else partial(_print, invocation)
    )
    words = " ".join(map(unescaped, query))
    is_chosen = asyncio.run(_search(invocation, words, mode, use, all_vaults=all_vaults))
    return SUCCESS if is_chosen or sys.stdout.isatty() else NO_MATCH


def _open(invocation: Invocation, choice: Choice, *, obsidian: bool) -> None:
    results, in_obsidian = choice
    open_notes(results, obsidian=obsidian or in_obsidian, on_start=lambda: record_open(invocation, results))


def _print(invocation: Invocation, choice: Choice) -> None:
    results, _ = choice
    record_open(invocation, results)
    print_paths({"results": results})


def _ask_for_first_vault(invocation: Invocation) -> None:
    try:
        call_vault(invocation, "search", query=EVERY_NOTE, limit=1)
    except UsageError:
        if call_daemon(invocation, "vault/list", {})["vaults"]:
            raise
        from vaultseek.doors.cli.live.first_vault import choose_vault
        from vaultseek.doors.cli.progress import progress

        folder = choose_vault()
        invocation.vaults = [folder]
        print("Indexing. No note is changed, and nothing leaves this computer.")
        with progress(color=invocation.color) as show, connect(invocation) as client:
            client.call("vault/add", {"path": folder}, timeout=None)
            # Wait only until search by word works. Vectors take minutes, and the search shows how many are
            # missing.
            client.call(
                "search",
                invocation.params(query=EVERY_NOTE, limit=1, wait=True, progress=True),
                timeout=None,
                on_notification=lambda _, state: show(state),
            )


async def _search(
    invocation: Invocation,
    query: str,
    mode: str | None,
    use: Callable[[Choice], None],
    *,
    all_vaults: bool,
) -> bool:
    """Show the live search until the user makes a usable choice. Return False if the user chose nothing.

    ``use`` is called with the chosen results, each with its query and its vault's folder.
    """
    from vaultseek.client.asynchronous import AsyncClient, OnDemand
    from vaultseek.doors.cli.live.filters import Suggestion, suggest
    from vaultseek.doors.cli.live.finder import Finder
    from vaultseek.doors.cli.live.screen import Screen

    method, where = invocation.search(all_vaults=all_vaults)
    request: JSON = {"limit": RESULTS, "settings": environment_settings(), "typing": True, **where}
    if mode:
        request["mode"] = mode
    recent = call_daemon(invocation, method, {**request, "query": EVERY_NOTE})
    vaults = [each["vault_path"] for each in recent.get("vaults") or (recent,)]
    async with AsyncClient(name="vaultseek.cli", validate=False) as client:
        ask = OnDemand(client, partial(asyncio.to_thread, ensure_running, invocation)).call

        async def complete(before: str) -> Sequence[JSON]:
            asked = (ask("complete", {"kind": "query", "text": before, "vault": vault}) for vault in vaults)
            items = chain.from_iterable(answer["items"] for answer in await asyncio.gather(*asked))
            return list({item["text"]: item for item in items}.values())

        async def opened_in(vault: str) -> Sequence[JSON]:
            with suppress(VaultseekError):  # clients with a team's token have no history
                answer = await ask("search/history", {"vault": vault, "limit": HISTORY})
                return answer["opened"] if answer["learn"] else ()
            return ()

        async def offers(before: str) -> Sequence[Suggestion]:
            filters = await suggest(before, finder.results, complete)
            if before:
                return filters
            opened = chain.from_iterable(await asyncio.gather(*map(opened_in, vaults)))
            latest = sorted(opened, key=lambda each: str(each["time"]), reverse=True)
            queries = dict.fromkeys(clean(str(each["query"])) for each in latest)
            former = [Suggestion(query, 0, "asked before") for query in queries]
            return [*former[:OFFERED_QUERIES], *filters]

        finder = Finder(ask, request, recent, query=query, method=method)
        color = invocation.color and not os.environ.get("NO_COLOR")
        screen = Screen(finder, offers, query=query, color=color)
        while (choice := await screen.run()) is not None:
            try:
                use(choice)
            except UsageError as error:
                screen.notify(with_command(error, error.advice))
            else:
                return True
        return False
