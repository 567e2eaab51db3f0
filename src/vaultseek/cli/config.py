"""``vaultseek config``: the configuration file, and what is in force."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vaultseek import paths
from vaultseek.cli import FOUND, WRONG_USE, complain
from vaultseek.cli.asking import HELP
from vaultseek.cli.invocation import JSON, Invocation, as_json, pass_invocation, shared_options
from vaultseek.cli.terminal import clean
from vaultseek.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from vaultseek.settings.origin import SettingProblem

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.group(context_settings=HELP)
@shared_options
def config() -> None:
    """Write, check and show the configuration.

    \b
    vaultseek config init --vault ~/Notes
    vaultseek config check
    """


@config.command(context_settings=HELP)
@click.option("--vault", "folder", type=_FOLDER, metavar="DIR", help="Name this folder of notes in it.")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@shared_options
def init(file: Path | None, folder: Path | None) -> int:
    """Write a configuration file with every key as a comment.

    An existing file is never written over. FILE is where to write it, instead of the usual place.

    \b
    vaultseek config init
    vaultseek config init --vault ~/Notes
    """
    from vaultseek.settings.edit import create
    from vaultseek.settings.reference import example

    place = Path(os.path.abspath(file or paths.config_file()))  # noqa: PTH100
    root = Path(os.path.realpath(folder)) if folder else None
    if root is not None and Path(os.path.realpath(Path.home())).is_relative_to(root):
        raise UsageError(f"{root} is the home directory or above it; name the folder of notes")
    create(place, example(root))
    print(f"written: {clean(place)}")
    return FOUND


@config.command(context_settings=HELP)
@click.option("--json", "json_", is_flag=True, help="Print one JSON object.")
@shared_options
@pass_invocation
def check(invocation: Invocation, json_: bool) -> int:
    """Say what is wrong with the configuration.

    Every wrong key of the file and of the environment, with its line, its value and what is allowed. Exit
    code 2 if there is any.

    \b
    vaultseek config check
    vaultseek config check --config ~/dotfiles/vaultseek.toml
    """
    from vaultseek.settings.load import examine

    file = _file(invocation)
    try:
        problems = _problems(examine(invocation.config)[1], file)
    except ConfigError as error:
        problems = [{"where": str(file), "line": None, "key": None, "message": str(error)}]
    if json_:
        as_json({"file": str(file), "exists": file.exists(), "ok": not problems, "problems": problems})
    else:
        for problem in problems:
            complain(problem["message"])
        if not problems:
            print(_sound(file))
    return WRONG_USE if problems else FOUND


@config.command(context_settings=HELP)
@click.option("--json", "json_", is_flag=True, help="Print one JSON object.")
@shared_options
@pass_invocation
def show(invocation: Invocation, json_: bool) -> int:
    """Show every setting that is in force, and where it comes from.

    That is the default, the file, or a variable of this shell's environment.

    \b
    vaultseek config show
    vaultseek config show --json | jq '.settings["search.limit"]'
    """
    from vaultseek.settings.load import load, sources
    from vaultseek.settings.registry import read_registry

    settings = load(invocation.config)
    source = sources(invocation.config)
    vaults = [(vault, source(("vaults",))) for vault in settings.vaults]
    vaults += [(vault, "vaultseek vault add") for vault in read_registry().vaults]
    told = _in_force(settings.model_dump(mode="json"), source)
    if json_:
        shown = [{**vault.model_dump(mode="json"), "source": origin} for vault, origin in vaults]
        as_json({"file": _existing(_file(invocation)), "vaults": shown, "settings": told})
        return FOUND
    print("\n".join(invocation.out.wrapped(_heading(_file(invocation)))))
    from vaultseek.settings.toml import format_value

    rows = [[f"vault {clean(vault.name)}", clean(vault.path), clean(origin)] for vault, origin in vaults]
    rows += [
        [key, clean(format_value(entry["value"])), clean(entry["source"])] for key, entry in told.items()
    ]
    print("\n".join(invocation.out.tabled_or_listed(rows)))
    return FOUND


@config.command(context_settings=HELP)
@shared_options
@pass_invocation
def path(invocation: Invocation) -> int:
    """Print where the configuration file is, or would be.

    \b
    $EDITOR "$(vaultseek config path)"
    """
    print(_file(invocation))
    return FOUND


def _file(invocation: Invocation) -> Path:
    return invocation.config or paths.config_file()


def _existing(file: Path) -> str | None:
    return str(file) if file.exists() else None


def _problems(wrong: tuple[SettingProblem, ...], file: Path) -> list[JSON]:
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


def _sound(file: Path) -> str:
    if not file.exists():
        return f"no file at {clean(file)}: the defaults hold; `vaultseek config init` writes one"
    return f"{clean(file)}: nothing is wrong"


def _heading(file: Path) -> str:
    return f"file: {clean(file)}" + ("" if file.exists() else " (not there: the defaults hold)")


def _in_force(values: JSON, source: Any) -> JSON:
    from vaultseek.settings.describe import keys
    from vaultseek.settings.model import Settings

    told: JSON = {}
    for key, _ in keys(Settings):
        if key == "vaults":
            continue
        value: Any = values
        for part in key.split("."):
            value = value[part]
        told[key] = {"value": value, "source": source(tuple(key.split(".")))}
    return told
