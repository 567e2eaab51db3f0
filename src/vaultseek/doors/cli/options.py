"""The options and arguments that commands share."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from vaultseek.base import limits
from vaultseek.doors.cli.completion_values import complete_note, complete_vault
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.query_arguments import unescaped
from vaultseek.doors.cli.search_arguments import MODES
from vaultseek.errors import ConfigError

Command = TypeVar("Command", bound=Callable[..., Any])

pass_invocation = click.make_pass_decorator(Invocation, ensure=True)

json_option = click.option("--json", "json_", is_flag=True, help="Print one JSON object.")
paths_option = click.option("--paths", is_flag=True, help="Print only the paths of the notes, one per line.")
note_argument = click.argument("note", shell_complete=complete_note)


def limit_option(help: str) -> Callable[[Command], Command]:
    """Return ``-n``, which limits the number of results."""
    return click.option("-n", "--limit", type=click.IntRange(1, limits.RESULTS), metavar="N", help=help)


def mode_option(help: str) -> Callable[[Command], Command]:
    """Return ``--mode``, which selects the lanes of a search."""
    return click.option("--mode", type=click.Choice(MODES), help=help)


def shared_options(command: Command, *, environment: str | None = None) -> Command:
    """Add ``--config``, ``--no-color`` and ``--pager``, which every command has.

    ``environment`` names a variable that stands in for ``--config``.
    """
    config = click.option(
        "--config",
        envvar=environment,
        metavar="FILE",
        expose_value=False,
        callback=_set_config,
        help="Use this configuration file.",
    )
    no_color = click.option(
        "--no-color",
        is_flag=True,
        expose_value=False,
        callback=_clear("color"),
        help="Print without colour; NO_COLOR does the same.",
    )
    pager = click.option(
        "--pager/--no-pager",
        default=None,
        expose_value=False,
        callback=_set("pager"),
        help="Show the output with $PAGER. By default only if it is longer than the screen.",
    )
    return config(no_color(pager(command)))


def daemon_options(command: Command) -> Command:
    """Add ``--vault``, ``--no-start`` and the shared options, for commands that call the daemon."""
    no_start = click.option(
        "--no-start",
        is_flag=True,
        expose_value=False,
        callback=_clear("autostart"),
        help="Do not start the daemon if it is not running.",
    )
    return vault_option(no_start(shared_options(command)))


def list_options(command: Command) -> Command:
    """Add ``--json``, ``--paths`` and the options of commands that call the daemon."""
    return json_option(paths_option(daemon_options(command)))


def vault_option(command: Command) -> Command:
    """Add ``--vault``."""
    option = click.option(
        "--vault",
        metavar="DIR|NAME",
        shell_complete=complete_vault,
        expose_value=False,
        callback=_set("vault"),
        help="Vault, by folder or name. By default the one that contains the current folder.",
    )
    return option(command)


def _set_config(context: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is None:
        return
    from pathlib import Path

    file = Path(os.path.abspath(value))  # absolute, links kept
    if not file.exists():
        raise ConfigError(f"{file}: no such file; set --config to a TOML file")
    context.ensure_object(Invocation).config = file


def _set(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    """Return an option's callback that sets an attribute of the invocation."""

    def callback(context: click.Context, _: click.Parameter, value: Any) -> None:
        if value is not None:
            argument = unescaped(value) if isinstance(value, str) else value
            setattr(context.ensure_object(Invocation), name, argument)

    return callback


def _clear(name: str) -> Callable[[click.Context, click.Parameter, bool], None]:
    """Return a flag's callback that turns an attribute of the invocation off."""

    def callback(context: click.Context, _: click.Parameter, value: bool) -> None:
        if value:
            setattr(context.ensure_object(Invocation), name, False)

    return callback
