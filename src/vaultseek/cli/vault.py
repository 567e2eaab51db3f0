"""``vaultseek vault``: which vaults there are, one more, one less, and a rest for one."""

from __future__ import annotations

import os
from typing import Any

import click

from vaultseek import limits
from vaultseek.cli import FOUND, candidates
from vaultseek.cli.asking import HELP
from vaultseek.cli.invocation import JSON, Invocation, as_json, pass_invocation, shared_options
from vaultseek.cli.terminal import clean, count


@click.group(context_settings=HELP)
@shared_options
def vault() -> None:
    """List, add, remove, pause and resume vaults.

    What is changed here is remembered beside the indexes; config.toml is the user's own and stays as it is.
    """


@vault.command("list", context_settings=HELP)
@click.option("--json", "json_", is_flag=True, help="Print one JSON object.")
@shared_options
@pass_invocation
def list_(invocation: Invocation, /, json_: bool) -> int:
    """Show the vaults that there are."""
    answer = _ask(invocation, "vault/list")
    if json_:
        as_json(answer)
        return FOUND
    rows = [
        [clean(v["name"]), clean(v["state"]).replace("_", " "), count(v["notes"], "note"), clean(v["path"])]
        for v in answer["vaults"]
    ]
    print("\n".join(invocation.out.tabled(rows)) if rows else "no vault; `vaultseek vault add DIR` adds one")
    return FOUND


@vault.command(context_settings=HELP)
@click.argument("folder", metavar="DIR", shell_complete=candidates.folders)
@click.option("--name", metavar="NAME", help="What to call it; by default the folder's name.")
@click.option("--language", metavar="CODE", help="Language of the notes, for word stems: en, de, fr, …")
@click.option("--exclude", metavar="GLOB", multiple=True, help="Notes or folders that are left out.")
@click.option("--json", "json_", is_flag=True, help="Print one JSON object.")
@shared_options
@pass_invocation
def add(
    invocation: Invocation,
    /,
    folder: str,
    name: str | None,
    language: str | None,
    exclude: tuple[str, ...],
    json_: bool,
) -> int:
    """Keep the notes in DIR from now on."""
    path = os.path.abspath(os.path.expanduser(folder))  # noqa: PTH100, PTH111
    answer = _ask(invocation, "vault/add", path=path, name=name, language=language, exclude=list(exclude))
    return _said(answer, f"{answer['name']}: {answer['path']}", json_=json_)


@vault.command(context_settings=HELP)
@click.argument("name", metavar="NAME|DIR", shell_complete=candidates.vaults)
@click.option("--delete-index", is_flag=True, help="Delete its index, too. Notes are never touched.")
@click.option("--json", "json_", is_flag=True, help="Print one JSON object.")
@shared_options
@pass_invocation
def remove(invocation: Invocation, /, name: str, delete_index: bool, json_: bool) -> int:
    """Keep a vault no longer. Its notes stay as they are."""
    answer = _ask(invocation, "vault/remove", vault=_vault(name), delete_index=delete_index)
    index = "its index is deleted" if delete_index else "its index is kept"
    return _said(answer, f"removed {answer['path']}; {index}", json_=json_)


@vault.command(context_settings=HELP)
@click.argument("name", metavar="NAME|DIR", shell_complete=candidates.vaults)
@click.option("--json", "json_", is_flag=True, help="Print one JSON object.")
@shared_options
@pass_invocation
def pause(invocation: Invocation, /, name: str, json_: bool) -> int:
    """Follow a vault's changes no longer; searches answer from what is known."""
    return _rest(invocation, "vault/pause", name, "paused", json_=json_)


@vault.command(context_settings=HELP)
@click.argument("name", metavar="NAME|DIR", shell_complete=candidates.vaults)
@click.option("--json", "json_", is_flag=True, help="Print one JSON object.")
@shared_options
@pass_invocation
def resume(invocation: Invocation, /, name: str, json_: bool) -> int:
    """Follow a paused vault again, and take in what has changed meanwhile."""
    return _rest(invocation, "vault/resume", name, "following", json_=json_)


def _rest(invocation: Invocation, method: str, name: str, done: str, *, json_: bool) -> int:
    answer = _ask(invocation, method, vault=_vault(name))
    return _said(answer, f"{done} {answer['path']}", json_=json_)


def _ask(invocation: Invocation, method: str, **params: Any) -> JSON:
    from vaultseek.cli.reach import connect

    given = {name: value for name, value in params.items() if value is not None}
    with connect(invocation) as client:
        answer: JSON = client.call(method, given, timeout=limits.CALL_SECONDS)
    return answer


def _said(answer: JSON, words: str, *, json_: bool) -> int:
    if json_:
        as_json(answer)
    else:
        print(clean(words))
    return FOUND


def _vault(given: str) -> str:
    folder = os.path.expanduser(given)  # noqa: PTH111
    return os.path.abspath(folder) if os.path.isdir(folder) or os.sep in given else given  # noqa: PTH100, PTH112
