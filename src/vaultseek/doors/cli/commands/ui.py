"""``vaultseek ui``: a page in the browser for searching and reading notes."""

import shlex
import shutil
import webbrowser
from functools import partial
from pathlib import Path

import click

from vaultseek.doors.cli.connect import call_daemon, ensure_running, vault_folder
from vaultseek.doors.cli.editor import open_window, user_editor
from vaultseek.doors.cli.garbage import collect_as_usual
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.options import daemon_options
from vaultseek.errors import NotFound, UsageError

WINDOWED = (
    *("code", "code-insiders", "codium", "cursor", "windsurf", "subl", "zed"),
    *("gvim", "mvim", "gedit", "pluma", "xed"),
)
"""Editors that have their own window; other editors would need this command's terminal."""


@click.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    help="Port; by default 7468, or any free port if that one is taken.",
)
@click.option("--no-browser", is_flag=True, help="Only print the address, without opening a browser.")
@click.option("--all-vaults", is_flag=True, help="Start with all vaults instead of one.")
@daemon_options
def ui(invocation: Invocation, port: int | None, no_browser: bool, all_vaults: bool) -> None:
    """Search and read notes in the browser.

    Serves one page on a port on this computer and opens it. Only the browser that opens the address has
    access. The page stops with this command: on Ctrl-C, when the terminal closes, or after an idle hour.

    \b
    vaultseek ui
    vaultseek ui --vault ~/notes --no-browser
    """
    from vaultseek.doors.ui.application import serve

    collect_as_usual()

    def announce(address: str, lasts: bool) -> None:
        click.echo(f"Your notes are at {address}")
        place = address.partition("#")[0]
        click.echo(f"This link works in one browser{f', which can then also use {place}' if lasts else ''}.")
        click.echo("Press Ctrl-C to stop.")
        if not no_browser and not webbrowser.open(address):
            click.echo("No browser could be opened; copy the address into one.")

    serve(
        partial(ensure_running, invocation),
        announce,
        open_window,
        vault=None if all_vaults else _first_vault(invocation),
        editor=_editor(),
        port=port,
    )


def _first_vault(invocation: Invocation) -> str | None:
    """Return the folder of the vault that the page searches first, or None for all vaults."""
    try:
        return vault_folder(invocation)
    except (UsageError, NotFound):
        if invocation.vault is not None or not call_daemon(invocation, "vault/list", {})["vaults"]:
            raise
        return None


def _editor() -> str | None:
    """Return the name of the user's editor if it has its own window, or None."""
    try:
        words = shlex.split(user_editor())
    except ValueError:
        return None
    name = Path(words[0]).name if words else ""
    return name if name in WINDOWED and shutil.which(words[0]) else None
