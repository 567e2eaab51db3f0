"""``vaultseek find``: search as you type, and open what is chosen."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence

import click

from vaultseek.base import limits
from vaultseek.doors.cli.completion_values import complete_query
from vaultseek.doors.cli.connect import connect
from vaultseek.doors.cli.exit_codes import NO_MATCH, SUCCESS
from vaultseek.doors.cli.invocation import Invocation, environment_settings
from vaultseek.doors.cli.options import (
    QueryCommand,
    completed_by,
    daemon_options,
    mode_option,
    pass_invocation,
    unescaped,
)
from vaultseek.errors import NotRunning, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultseek.base.model import JSON
    from vaultseek.doors.cli.live.filters import Suggestion
    from vaultseek.doors.cli.live.screen import Choice

RESULTS = 30
"""Results of a live search: more than anybody looks through."""
EVERY_NOTE = "ext:md"


@click.command(cls=QueryCommand)
@click.argument("query", nargs=-1, shell_complete=completed_by(complete_query))
@mode_option("Search with all lanes, by words only or by meaning only.")
@click.option("--all-vaults", is_flag=True, help="Search every vault, instead of one.")
@click.option("--obsidian", is_flag=True, help="Open the note in Obsidian, even if an editor is set.")
@daemon_options
@pass_invocation
def find(
    invocation: Invocation,
    /,
    query: tuple[str, ...],
    mode: str | None,
    all_vaults: bool,
    obsidian: bool,
) -> int:
    """Search while you type, with a preview, and open the note you choose.

    `vaultseek` alone does the same. Enter opens the note at the line that matches, in $VISUAL, $EDITOR or
    Obsidian. Tab offers filters. In a pipe, the path of the chosen note is printed instead.

    \b
    vaultseek find
    vaultseek find tag:work pump
    vaultseek find | xargs -d '\\n' wc -w
    """
    _check_terminal()
    if all_vaults and invocation.vault:
        raise UsageError("--all-vaults searches every vault; leave --vault out")
    search = _LiveSearch(invocation, mode, all_vaults=all_vaults)
    choice = asyncio.run(search.run(" ".join(map(unescaped, query))))
    if choice is None:
        return SUCCESS if sys.stdout.isatty() else NO_MATCH
    return _open(search.vault_path(choice[0]), choice[0], obsidian=obsidian or choice[1])


class _LiveSearch:
    """The requests of one live search."""

    def __init__(self, invocation: Invocation, mode: str | None, *, all_vaults: bool) -> None:
        self._invocation = invocation
        self._method = "search/all" if all_vaults else "search"
        self._settings = environment_settings()
        self._request: JSON = {"limit": RESULTS, "settings": self._settings, "typing": True}
        if mode:
            self._request["mode"] = mode
        self._where: JSON = {name: value for name, value in invocation.params().items() if value is not None}
        if not all_vaults:
            self._request |= self._where
        with connect(invocation) as client:
            query = {**self._request, "query": EVERY_NOTE}
            self._recent: JSON = client.call(self._method, query, timeout=limits.CALL_SECONDS)

    def vault_path(self, result: JSON) -> str:
        """Return the folder of the vault that a result is in."""
        return str(result.get("vault_path") or self._recent.get("vault_path") or "")

    async def run(self, query: str) -> Choice | None:
        """Show the screen and return what was chosen on it."""
        from vaultseek.client.asynchronous import AsyncClient
        from vaultseek.doors.cli.live.filters import suggest
        from vaultseek.doors.cli.live.finder import Finder
        from vaultseek.doors.cli.live.screen import Screen

        async with AsyncClient(name="vaultseek.cli", validate=False) as client:

            async def ask(method: str, params: JSON) -> JSON:
                try:
                    answer: JSON = await client.call(method, params)
                except NotRunning:
                    await asyncio.to_thread(self._start_again)
                    answer = await client.call(method, params)
                return answer

            async def complete(kind: str, params: JSON) -> Sequence[JSON]:
                request = {**self._where, **params, "kind": kind}
                items: Sequence[JSON] = (await ask("complete", request)).get("items") or ()
                return items

            async def offers(before: str) -> Sequence[Suggestion]:
                return await suggest(before, finder.results, complete)

            finder = Finder(ask, self._request, self._recent, method=self._method)
            color = self._invocation.color and not os.environ.get("NO_COLOR")
            return await Screen(finder, offers, query=query, color=color).run()

    def _start_again(self) -> None:
        connect(self._invocation).close()


def _check_terminal() -> None:
    screen = sys.stdout.isatty() or sys.stderr.isatty()
    if not (sys.stdin.isatty() and screen) or os.environ.get("TERM", "dumb") == "dumb":
        raise UsageError("this needs a terminal; in a script, use `vaultseek search`")


def _open(vault: str, result: JSON, *, obsidian: bool) -> int:
    """Open the chosen note, or print its path if the output is no terminal."""
    if sys.stdout.isatty():
        from vaultseek.doors.cli.editor import open_note

        open_note(vault, result, obsidian=obsidian)
    else:
        from vaultseek.doors.cli.output import print_paths

        print_paths({"vault_path": vault, "results": [result]})
    return SUCCESS
