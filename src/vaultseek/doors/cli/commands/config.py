"""``vaultseek config``: write, check and show the configuration."""

from __future__ import annotations

import os
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vaultseek.base import paths
from vaultseek.base.model import JSON
from vaultseek.doors.cli.exit_codes import SUCCESS, USAGE
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.options import json_option, local_options, shared_options
from vaultseek.doors.cli.output import print_error, print_json, print_result
from vaultseek.doors.cli.terminal import clean
from vaultseek.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vaultseek.settings.resolve import SettingProblem

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.group()
@shared_options
def config() -> None:
    """Write, check and show the configuration.

    \b
    vaultseek config init --vault ~/Notes
    vaultseek config check
    """


@config.command()
@click.option("--vault", "folder", type=_FOLDER, metavar="DIR", help="Add this folder of notes to the file.")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@shared_options
def init(file: Path | None, folder: Path | None) -> None:
    """Write a configuration file with every key commented out.

    Never overwrites a file. FILE is the file to write instead of the default one.

    \b
    vaultseek config init
    vaultseek config init --vault ~/Notes
    """
    from vaultseek.settings.reference import example
    from vaultseek.settings.toml import create

    file = Path(os.path.abspath(file or paths.config_file()))
    root = Path(os.path.realpath(folder)) if folder else None
    if root is not None and Path(os.path.realpath(Path.home())).is_relative_to(root):
        raise UsageError(f"{root} contains your home directory; set --vault to the folder of your notes")
    create(file, example(root))
    print(f"wrote {clean(file)}")


@config.command()
@json_option()
@local_options
def check(invocation: Invocation) -> int:
    """Check the configuration.

    Shows every invalid setting in the file and in the environment, with its line, its value and the allowed
    values. Exit code 2 if any setting is invalid.

    \b
    vaultseek config check
    vaultseek config check --config ~/dotfiles/vaultseek.toml
    """
    from vaultseek.core.search.request import search_problems
    from vaultseek.settings.load import examine
    from vaultseek.settings.resolve import Origin, access_problems

    file = _file(invocation)
    try:
        settings, wrong = examine(invocation.config)
        origin = Origin(file)
        of_searches = [
            origin.problem(("searches", name), message)
            for name, message in search_problems(settings.searches)
        ]
        problems = _problems((*wrong, *access_problems(settings, origin), *of_searches), file)
    except ConfigError as error:
        problems = [{"where": str(file), "line": None, "key": None, "message": str(error)}]
    if invocation.json:
        print_json({"file": str(file), "exists": file.exists(), "ok": not problems, "problems": problems})
    elif problems:
        for problem in problems:
            print_error(problem["message"])
    elif file.exists():
        print(f"{clean(file)}: no problems")
    else:
        print(f"no file at {clean(file)}, so the defaults apply; write one with `vaultseek config init`")
    return USAGE if problems else SUCCESS


@config.command()
@json_option()
@local_options
def show(invocation: Invocation) -> int:
    """Show the value of every setting and where it comes from.

    Values come from the defaults, the file or this shell's environment.

    \b
    vaultseek config show
    vaultseek config show --json | jq '.settings["search.limit"]'
    """
    from vaultseek.settings.describe import keys
    from vaultseek.settings.load import load, sources
    from vaultseek.settings.model import Settings
    from vaultseek.settings.toml import format_value
    from vaultseek.settings.watch import read_registry

    file, settings = _file(invocation), load(invocation.config)
    source = sources(invocation.config)
    vaults = [(vault, source(("vaults",))) for vault in settings.vaults]
    vaults += [(vault, "vaultseek vault add") for vault in read_registry().vaults]
    values = settings.model_dump(mode="json")
    entries: JSON = {}
    for key, _ in keys(Settings):
        if key != "vaults":
            parts = tuple(key.split("."))
            entries[key] = {"value": reduce(getitem, parts, values), "source": source(parts)}
    listed = [{**vault.model_dump(mode="json"), "source": origin} for vault, origin in vaults]
    answer = {"file": str(file) if file.exists() else None, "vaults": listed, "settings": entries}
    heading = f"file: {clean(file)}" + ("" if file.exists() else " (does not exist, so the defaults apply)")
    rows = [[f"vault {clean(vault.name)}", clean(vault.path), clean(origin)] for vault, origin in vaults]
    rows += [
        [key, clean(format_value(entry["value"])), clean(entry["source"])] for key, entry in entries.items()
    ]
    out = invocation.out
    return print_result(answer, invocation, *out.wrapped(heading), *out.tabled_or_listed(rows))


@config.command()
@local_options
def path(invocation: Invocation) -> None:
    """Print the path of the configuration file.

    \b
    $EDITOR "$(vaultseek config path)"
    """
    print(_file(invocation))


def _file(invocation: Invocation) -> Path:
    return invocation.config or paths.config_file()


def _problems(wrong: Sequence[SettingProblem], file: Path) -> list[JSON]:
    from vaultseek.settings.describe import dotted_key
    from vaultseek.settings.toml import lines_of, read_text

    in_file = [one.location for one in wrong if one.source == str(file)]
    lines = lines_of(read_text(file, required=False) or "", in_file) if in_file else {}
    problems = []
    for one in wrong:
        line = lines.get(one.location) if one.source == str(file) else None
        key = dotted_key(one.location) if one.location else None
        message = f"{file}: line {line}: {key}: {one.message}" if line else str(one)
        problems.append({"where": one.source, "line": line, "key": key, "message": message})
    return sorted(problems, key=lambda problem: (problem["line"] or 0, problem["message"]))
