"""``vaultseek inspect``: what is understood of a note, without daemon, index or model."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vaultseek import limits
from vaultseek.cli import FOUND, complain
from vaultseek.cli.invocation import JSON, Invocation, as_json, pass_invocation, shared_options, vault_option
from vaultseek.errors import NotFound, UsageError, VaultseekError

if TYPE_CHECKING:
    from vaultseek.inspect import Inspector

_MARK = ".obsidian"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("notes", nargs=-1, required=True, metavar="NOTE...")
@click.option("--path", metavar="PATH", help="What a note from standard input is called.")
@click.option("--json", "json_", is_flag=True, help="Print one JSON object a line and note.")
@vault_option
@shared_options
@pass_invocation
def inspect(invocation: Invocation, notes: tuple[str, ...], path: str | None, json_: bool) -> int:
    """Show what is understood of a note.

    Title, properties, outline, links and where they lead, tags, tasks, passages, problems.
    Needs no daemon and no model. A - reads the note from standard input.

    \b
    vaultseek inspect "Boiler.md" daily/2024-05-01.md
    vaultseek inspect --json Boiler.md | jq .links
    cat draft.md | vaultseek inspect - --path ideas/draft.md
    """
    if path is not None and "-" not in notes:
        raise UsageError("--path names a note from standard input; give - as the note")
    code = FOUND
    for number, note in enumerate(notes):
        try:
            found = _standard_input(invocation, path) if note == "-" else _file(invocation, Path(note))
        except VaultseekError as error:
            complain(str(error))
            code = max(code, error.exit_code)
            continue
        _print(found, invocation, json_=json_, first=number == 0)
    return code


def _file(invocation: Invocation, note: Path) -> JSON:
    if not os.path.lexists(note):
        raise NotFound(f"{note}: no such file")
    if note.is_dir():
        raise UsageError(f"{note}: is a folder, expected a note")
    path = Path(os.path.abspath(note))  # noqa: PTH100 - a link is for the inspector to judge
    root = vault_of(invocation, path.parent) or path.parent
    found: JSON = inspector(root).inspect_file(path)
    return found


def _standard_input(invocation: Invocation, path: str | None) -> JSON:
    data = sys.stdin.buffer.read(limits.NOTE_READ_BYTES + 1)
    root = vault_of(invocation, Path.cwd())
    found: JSON = inspector(root).inspect_text(data, path or "stdin.md")
    return found


@lru_cache(maxsize=8)
def inspector(root: Path | None) -> Inspector:
    """The inspector of a vault; it has to list the notes to know where links lead."""
    from vaultseek.inspect import Inspector

    return Inspector(root)


def vault_of(invocation: Invocation, folder: Path) -> Path | None:
    """The vault of ``folder``: the one named, the folder upwards with .obsidian, or a configured one."""
    if invocation.vault is not None:
        return _named(invocation)
    marked = next((above for above in (folder, *folder.parents) if (above / _MARK).is_dir()), None)
    return marked or _configured(invocation, folder)


def _named(invocation: Invocation) -> Path:
    given = Path(invocation.vault or "").expanduser()
    if given.is_dir():
        return Path(os.path.abspath(given))  # noqa: PTH100
    from vaultseek.config import load

    for vault in load(invocation.config).vaults:
        if vault.name.casefold() == (invocation.vault or "").casefold():
            return vault.path
    raise UsageError(f"--vault {invocation.vault}: neither a folder nor the name of a configured vault")


def _configured(invocation: Invocation, folder: Path) -> Path | None:
    from vaultseek import paths

    if not (invocation.config or paths.config_file()).exists() and "VAULTSEEK_VAULTS" not in os.environ:
        return None
    from vaultseek.config import load
    from vaultseek.errors import ConfigError

    try:
        vaults = load(invocation.config).vaults
    except ConfigError as error:
        # Not needed to read a note; only where its links lead may depend on it.
        complain(f"{error}; taking the note's own folder for the vault")
        return None
    real = folder.resolve()
    inside = [vault.path for vault in vaults if real.is_relative_to(vault.path)]
    return max(inside, key=lambda root: len(root.parts), default=None)


def _print(found: JSON, invocation: Invocation, *, json_: bool, first: bool) -> None:
    if json_:
        as_json(found)
        return
    from vaultseek.cli.notepage import page

    print(("" if first else "\n") + page(found, invocation.out))
