"""``vaultseek inspect``: show how a note is parsed, without the daemon, the index or a model."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vaultseek.base import limits
from vaultseek.base.model import JSON
from vaultseek.doors.cli.completion_values import complete_file_or_note
from vaultseek.doors.cli.exit_codes import SUCCESS
from vaultseek.doors.cli.invocation import Invocation, current_folder
from vaultseek.doors.cli.local_vault import vault_of
from vaultseek.doors.cli.options import completed_by, json_option, local_options, vault_option
from vaultseek.doors.cli.output import failure, print_error, print_json, with_command
from vaultseek.errors import BadPath, NotFound, UsageError, VaultseekError

if TYPE_CHECKING:
    from vaultseek.core.notes.inspect import Inspector

INSPECTED_ITEMS = 30
"""Maximum number of items of each kind (headings, links, tasks and so on) that are shown without
``--all``."""


@click.command()
@click.argument(
    "notes", nargs=-1, required=True, metavar="NOTE...", shell_complete=completed_by(complete_file_or_note)
)
@click.option("--path", metavar="PATH", help="Path that a note from standard input would have in the vault.")
@click.option("--all", "all_", is_flag=True, help="Show all lists in full.")
@json_option("Print one JSON object per note, one per line.")
@vault_option
@local_options
def inspect(invocation: Invocation, notes: tuple[str, ...], path: str | None, all_: bool) -> int:
    """Show how vaultseek reads a note.

    Shows its title, properties, outline, links and their targets, tags, tasks, passages and problems. Needs
    no daemon and no model. NOTE is a file, or a path, name or alias in the vault. Use - to read the note from
    standard input.

    \b
    vaultseek inspect "Boiler.md" daily/2024-05-01.md
    vaultseek inspect --vault ~/Notes Boiler
    vaultseek inspect --json Boiler.md | jq .links
    cat draft.md | vaultseek inspect - --path ideas/draft.md
    """
    if path is not None and "-" not in notes:
        raise UsageError("--path is for a note from standard input; use - as the note")
    if notes.count("-") > 1:
        raise UsageError("standard input can be read only once; use - once")
    code = SUCCESS
    pages: list[str] = []
    for note in notes:
        try:
            root, parsed = _standard_input(invocation, path) if note == "-" else _file(invocation, note)
        except VaultseekError as error:
            print_error(error)
            if invocation.json:
                print_json(failure(error.code, with_command(error, error.advice)))
            code = max(code, error.exit_code)
            continue
        if invocation.json:
            print_json(parsed)
        else:
            pages.append(_page(parsed, root, invocation, whole=all_))
    if pages:
        invocation.show("\n\n".join(pages))
    return code


def _file(invocation: Invocation, note: str) -> tuple[Path | None, JSON]:
    path = _find_file(invocation, note)
    if path.is_dir():
        raise UsageError(f"{note} is a folder; use the path of a note")
    root = vault_of(invocation, path.parent)
    if invocation.vault is not None and root is not None and not _is_inside(path, root):
        raise BadPath(f"{path} is not in the vault {root}; leave out --vault to inspect the file on its own")
    return root, _inspector(root or path.parent).inspect_file(path)


def _find_file(invocation: Invocation, note: str) -> Path:
    """Return the file that ``note`` refers to: a path relative to the current folder, or a path, name or
    alias in the vault."""
    if os.path.lexists(note):
        return Path(os.path.abspath(note))  # the inspector handles symbolic links
    root = vault_of(invocation, Path(current_folder()))
    if root is None:
        raise NotFound(f"{note}: no such file; to look it up in a vault by path or name, use --vault DIR")
    files = _inspector(root).find(note)
    if not files:
        similar = _inspector(root).similar(note)
        advice = f"did you mean {' or '.join(similar)}?" if similar else "check the spelling"
        raise NotFound(f"{note}: no such file, and no such note in the vault {root}; {advice}")
    if len(files) > 1:
        names = ", ".join(str(path.relative_to(root)) for path in files[: limits.CANDIDATES_NAMED])
        raise UsageError(f"{note} matches {len(files)} notes; use the path of one: {names}")
    return files[0]


def _standard_input(invocation: Invocation, path: str | None) -> tuple[Path | None, JSON]:
    root = vault_of(invocation, Path(current_folder()))
    name = _path_in_vault(path or "stdin.md", root)
    data = sys.stdin.buffer.read(limits.NOTE_READ_BYTES + 1)
    return root, _inspector(root).inspect_text(data, name)


def _path_in_vault(path: str, root: Path | None) -> str:
    """Return ``path`` relative to the vault's root. Raises BadPath if the path is outside the vault."""
    inside = os.path.normpath(path)
    if root is not None and os.path.isabs(inside) and _is_inside(Path(inside), root):
        inside = os.path.relpath(inside, root)
    if os.path.isabs(inside) or inside in ("..", ".") or inside.startswith(f"..{os.sep}"):
        raise BadPath(f"--path {path} is outside the vault; use a path from its root, such as ideas/draft.md")
    return inside


def _is_inside(path: Path, root: Path) -> bool:
    return path.is_relative_to(root) or (path.parent.resolve() / path.name).is_relative_to(root.resolve())


@lru_cache(maxsize=8)
def _inspector(root: Path | None) -> Inspector:
    """Return the inspector of a vault; it is cached because it lists all notes to resolve links."""
    from vaultseek.core.notes.inspect import Inspector

    return Inspector(root)


def _page(note: JSON, root: Path | None, invocation: Invocation, *, whole: bool) -> str:
    from vaultseek.doors.cli.note_page import page

    most = None if whole else INSPECTED_ITEMS
    text = page(note, invocation.out, most=most, vault=None if root is None else str(root))
    if root is None and note["links"]:
        text += (
            "\n\nno vault found, so links are resolved in the note's folder only; use --vault DIR to set one"
        )
    return text
