"""``vaultseek inspect``: what is understood of a note, without daemon, index or model."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vaultseek import limits
from vaultseek.cli import FOUND, candidates, complain
from vaultseek.cli.invocation import (
    JSON,
    Invocation,
    as_json,
    current_folder,
    failure,
    pass_invocation,
    shared_options,
    vault_option,
)
from vaultseek.errors import BadPath, NotFound, UsageError, VaultseekError

if TYPE_CHECKING:
    from vaultseek.notes.inspect import Inspector
    from vaultseek.settings.model import VaultSettings

INSPECTED_ITEMS = 30
"""Of each kind, headings, links, tasks and so on, `vaultseek inspect` shows a person so many."""

_MARK = ".obsidian"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument(
    "notes", nargs=-1, required=True, metavar="NOTE...", shell_complete=candidates.files_and_notes
)
@click.option("--path", metavar="PATH", help="Where in the vault a note from standard input would be.")
@click.option("--all", "all_", is_flag=True, help="Show everything, however much of a kind there is.")
@click.option("--json", "json_", is_flag=True, help="Print one JSON object a line and note.")
@vault_option
@shared_options
@pass_invocation
def inspect(invocation: Invocation, notes: tuple[str, ...], path: str | None, all_: bool, json_: bool) -> int:
    """Show what is understood of a note.

    Title, properties, outline, links and where they lead, tags, tasks, passages, problems.
    Needs no daemon and no model. NOTE is a file, or in a vault a path from its root, a name or an alias.
    A - reads the note from standard input.

    \b
    vaultseek inspect "Boiler.md" daily/2024-05-01.md
    vaultseek inspect --vault ~/Notes Boiler
    vaultseek inspect --json Boiler.md | jq .links
    cat draft.md | vaultseek inspect - --path ideas/draft.md
    """
    if path is not None and "-" not in notes:
        raise UsageError("--path names a note from standard input; give - as the note")
    if notes.count("-") > 1:
        raise UsageError("standard input can be read once only; give - once")
    code = FOUND
    pages: list[str] = []
    for note in notes:
        try:
            root, found = _standard_input(invocation, path) if note == "-" else _file(invocation, note)
        except VaultseekError as error:
            complain(str(error))
            if json_:
                as_json(failure(error.code, str(error)))
            code = max(code, error.exit_code)
            continue
        if json_:
            as_json(found)
        else:
            pages.append(_page(found, root, invocation, whole=all_))
    if pages:
        invocation.show("\n\n".join(pages))
    return code


def _file(invocation: Invocation, note: str) -> tuple[Path | None, JSON]:
    path = _place(invocation, note)
    if path.is_dir():
        raise UsageError(f"{note}: is a folder, expected a note")
    root = vault_of(invocation, path.parent)
    if invocation.vault is not None and root is not None and not _is_inside(path, root):
        raise BadPath(f"{path} is not inside the vault {root}; leave --vault out to inspect it by itself")
    return root, inspector(root or path.parent).inspect_file(path)


def _place(invocation: Invocation, note: str) -> Path:
    """The file that is meant: as it is given, else in the vault, by its path or its name."""
    if os.path.lexists(note):
        return Path(os.path.abspath(note))  # noqa: PTH100 - a link is for the inspector to judge
    root = vault_of(invocation, Path(current_folder()))
    if root is None:
        raise NotFound(f"{note}: no such file; --vault DIR also looks for it in a vault, by path or name")
    found = inspector(root).find(note)
    if not found:
        raise NotFound(
            f"{note}: no such file, and no note of the vault {root} is called so; look at the spelling"
        )
    if len(found) > 1:
        names = ", ".join(str(path.relative_to(root)) for path in found[: limits.CANDIDATES_NAMED])
        raise UsageError(f"{note} could be {len(found)} notes; say which: {names}")
    return found[0]


def _standard_input(invocation: Invocation, path: str | None) -> tuple[Path | None, JSON]:
    root = vault_of(invocation, Path(current_folder()))
    name = _in_vault(path or "stdin.md", root)
    data = sys.stdin.buffer.read(limits.NOTE_READ_BYTES + 1)
    return root, inspector(root).inspect_text(data, name)


def _in_vault(path: str, root: Path | None) -> str:
    """``path`` from the vault's root. Raises BadPath if it leads out of the vault."""
    inside = os.path.normpath(path)
    if root is not None and os.path.isabs(inside) and _is_inside(Path(inside), root):  # noqa: PTH117
        inside = os.path.relpath(inside, root)
    if os.path.isabs(inside) or inside in ("..", ".") or inside.startswith(f"..{os.sep}"):  # noqa: PTH117
        raise BadPath(
            f"--path {path} leads out of the vault; give a path from its root, such as ideas/draft.md"
        )
    return inside


def _is_inside(path: Path, root: Path) -> bool:
    return path.is_relative_to(root) or (path.parent.resolve() / path.name).is_relative_to(root.resolve())


@lru_cache(maxsize=8)
def inspector(root: Path | None) -> Inspector:
    """The inspector of a vault; it has to list the notes to know where links lead."""
    from vaultseek.notes.inspect import Inspector

    return Inspector(root)


def vault_of(invocation: Invocation, folder: Path) -> Path | None:
    """The vault of ``folder``: the one named, the folder upwards with .obsidian, or a configured one."""
    if invocation.vault is not None:
        return _named(invocation)
    marked = next((above for above in (folder, *folder.parents) if (above / _MARK).is_dir()), None)
    return marked or _configured(invocation, folder)


def _named(invocation: Invocation) -> Path:
    name = invocation.vault or ""
    given = Path(name).expanduser()
    if given.is_dir():
        return Path(os.path.abspath(given))  # noqa: PTH100
    for vault in _known(invocation):
        if vault.name.casefold() == name.casefold():
            return vault.path
    if given.exists():
        raise UsageError(f"--vault {name} is a file, expected a folder of notes or the name of a vault")
    raise UsageError(
        f"--vault {name}: neither a folder nor the name of a vault in config.toml or added; give its folder"
    )


def _configured(invocation: Invocation, folder: Path) -> Path | None:
    from vaultseek import paths
    from vaultseek.errors import ConfigError
    from vaultseek.settings.registry import registry_file

    file = invocation.config or paths.config_file()
    if not (file.exists() or registry_file().exists() or "VAULTSEEK_VAULTS" in os.environ):
        return None
    try:
        vaults = _known(invocation)
    except ConfigError as error:
        # Not needed to read a note; only where its links lead may depend on it.
        complain(f"{error}; taking the note's own folder for the vault")
        return None
    real = folder.resolve()
    inside = [vault.path for vault in vaults if real.is_relative_to(vault.path)]
    return max(inside, key=lambda root: len(root.parts), default=None)


def _known(invocation: Invocation) -> Sequence[VaultSettings]:
    """The vaults of the configuration and those that were added by command."""
    from vaultseek.settings.load import load
    from vaultseek.settings.registry import read_registry

    return (*load(invocation.config).vaults, *read_registry().vaults)


def _page(found: JSON, root: Path | None, invocation: Invocation, *, whole: bool) -> str:
    from vaultseek.cli.notepage import page

    most = None if whole else INSPECTED_ITEMS
    text = page(found, invocation.out, most=most, vault=None if root is None else str(root))
    if root is None and found["links"]:
        text += "\n\nno vault was found, so links lead to the note's folder at most; --vault DIR names one"
    return text
