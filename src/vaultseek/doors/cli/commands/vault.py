"""``vaultseek vault``: list, add, remove, pause and resume vaults."""

import os
from typing import Any

import click

from vaultseek.base.model import JSON
from vaultseek.doors.cli.completion_values import complete_folder, complete_vault
from vaultseek.doors.cli.connect import call_daemon
from vaultseek.doors.cli.invocation import Invocation, vault_argument
from vaultseek.doors.cli.options import agent_option, completed_by, json_option, local_options, shared_options
from vaultseek.doors.cli.output import print_result
from vaultseek.doors.cli.terminal import clean, count
from vaultseek.errors import VaultMissing

_name_argument = click.argument("name", metavar="NAME|DIR", shell_complete=completed_by(complete_vault))


@click.group()
@shared_options
def vault() -> None:
    """List, add, remove, pause and resume vaults.

    The list of added vaults is stored beside the indexes. These commands never change config.toml.
    """


@vault.command("list")
@json_option()
@agent_option
@local_options
def list_(invocation: Invocation, /) -> int:
    """Show all vaults."""
    answer = call_daemon(invocation, "vault/list", {})
    rows = [
        [clean(v["name"]), clean(v["state"]).replace("_", " "), _notes(v), clean(v["path"])]
        for v in answer["vaults"]
    ]
    lines = invocation.out.tabled(rows) if rows else ["no vaults; add one: vaultseek vault add DIR"]
    return print_result(answer, invocation, *lines)


def _notes(vault: JSON) -> str:
    # The notes in an index that is not open yet have not been counted.
    return "" if vault["state"] == "opening" else count(vault["notes"], "note")


@vault.command()
@click.argument("folder", metavar="DIR", shell_complete=completed_by(complete_folder))
@click.option("--name", metavar="NAME", help="Name of the vault; by default, the folder's name.")
@click.option("--language", metavar="CODE", help="Language of the notes, for word stems: en, de, fr, …")
@click.option("--exclude", metavar="GLOB", multiple=True, help="Notes or folders to leave out.")
@json_option()
@local_options
def add(
    invocation: Invocation,
    /,
    folder: str,
    name: str | None,
    language: str | None,
    exclude: tuple[str, ...],
) -> int:
    """Index and watch the notes in DIR from now on."""
    if not folder:
        raise click.UsageError("DIR is empty")
    path = os.path.abspath(os.path.expanduser(folder))
    params: JSON = {"path": path, "exclude": list(exclude)}
    params |= {key: value for key, value in (("name", name), ("language", language)) if value is not None}
    answer = call_daemon(invocation, "vault/add", params)
    return print_result(answer, invocation, clean(f"added {answer['name']}: {answer['path']}"))


@vault.command()
@_name_argument
@click.option("--delete-index", is_flag=True, help="Also delete the vault's index. Notes are never deleted.")
@json_option()
@local_options
def remove(invocation: Invocation, /, name: str, delete_index: bool) -> int:
    """Stop indexing and watching a vault. Its notes are unchanged."""
    answer = _call(invocation, "vault/remove", name, delete_index=delete_index)
    index = "the index is deleted" if answer["index_deleted"] else "the index is kept"
    return print_result(answer, invocation, clean(f"removed {answer['path']}; {index}"))


@vault.command()
@_name_argument
@json_option()
@local_options
def pause(invocation: Invocation, /, name: str) -> int:
    """Stop watching a vault for changes. Searches use its existing index."""
    answer = _call(invocation, "vault/pause", name)
    return print_result(answer, invocation, clean(f"paused {answer['path']}"))


@vault.command()
@_name_argument
@json_option()
@local_options
def resume(invocation: Invocation, /, name: str) -> int:
    """Watch a paused vault again, and index what changed."""
    answer = _call(invocation, "vault/resume", name)
    return print_result(answer, invocation, clean(f"resumed {answer['path']}"))


def _call(invocation: Invocation, method: str, name: str, **params: Any) -> JSON:
    """Call ``method`` for the vault with this name or, if there is none, at this path."""
    try:
        return call_daemon(invocation, method, {"vault": vault_argument(name), **params})
    except VaultMissing as no_name:
        try:
            return call_daemon(invocation, method, {"vault": os.path.abspath(name), **params})
        except VaultMissing:
            raise no_name from None
