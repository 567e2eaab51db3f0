"""Options and arguments shared by commands, and the conversion of the option table for click."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

from vaultseek.base import limits
from vaultseek.doors.cli.arguments import MODES, VAULT, Option, is_excluded_word
from vaultseek.doors.cli.completion_values import BY_METAVAR, Items, complete_note
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.errors import ConfigError, UsageError

Command = TypeVar("Command", bound=Callable[..., Any])

_pass_invocation: Callable[[Any], Any] = click.make_pass_decorator(Invocation, ensure=True)
_ESCAPE = "\0"  # cannot occur in an argument of a process


class QueryCommand(click.Command):
    """A command that treats ``-word`` as part of the query instead of as an unknown option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments with excluded words escaped; ``unescaped`` removes the escape."""
        previous = ("", *args)
        numbers = [
            name for each in self.params if isinstance(each.type, click.IntRange) for name in each.opts
        ]
        escaped = [
            _ESCAPE + arg if is_excluded_word(arg, after=option) and option not in numbers else arg
            for option, arg in zip(previous, args, strict=False)
        ]
        return super().parse_args(ctx, escaped)


def unescaped(text: str) -> str:
    """Return an argument of a ``QueryCommand`` as the user typed it."""
    return text.removeprefix(_ESCAPE)


def completed_by(
    complete: Callable[[Invocation, str], Items],
) -> Callable[[click.Context, click.Parameter, str], Any]:
    """Return a completion function in the form that click expects."""
    return lambda context, _, word: complete(context.ensure_object(Invocation), word)


note_argument = click.argument("note", shell_complete=completed_by(complete_note))


def table_options(options: Iterable[Option]) -> Callable[[Command], Command]:
    """Return a decorator that adds options from a table to a command, which gets their values as keyword
    arguments."""

    def add(command: Command) -> Command:
        for option in reversed([*options]):
            command = _by_click(option)(command)
        return command

    return add


def _by_click(option: Option, **more: Any) -> Callable[[Command], Command]:
    if option.repeated:
        more = {"callback": lambda _, __, values: [*map(unescaped, values)], **more}
    kind = click.Choice(option.choices) if option.choices else click.IntRange(1, option.most)
    return click.option(
        *option.names,
        type=kind if option.choices or option.most else None,
        metavar=option.metavar or None,
        is_flag=option.is_flag or None,
        multiple=option.repeated,
        # The daemon determines the default, because its settings may differ.
        help=f"{option.help[:-1]}, by default {option.default}." if option.default else option.help,
        shell_complete=completed_by(BY_METAVAR[option.metavar]) if option.metavar in BY_METAVAR else None,
        **more,
    )


def limit_option(help: str, most: int = limits.RESULTS, *, default: int) -> Callable[[Command], Command]:
    """Return the option ``-n`` (``--limit``), whose value is at most ``most``."""
    return _by_click(Option("--limit", "N", help, most=most, default=default))


def mode_option(help: str) -> Callable[[Command], Command]:
    """Return the option ``--mode``, which selects the kind of search."""
    return _by_click(Option("--mode", help=help, choices=MODES, default=MODES[0]))


def shared_options(command: Command, *, environment: str | None = None) -> Command:
    """Add the options ``--config``, ``--no-color`` and ``--pager``, which every command has.

    ``environment`` is the name of an environment variable that can replace ``--config``.
    """
    config = _set(
        "config", "--config", envvar=environment, metavar="FILE", help="Use this configuration file."
    )
    no_color = _clear("color", "--no-color", "Print without colour; NO_COLOR does the same.")
    pager = _set(
        "pager",
        "--pager/--no-pager",
        default=None,
        help="Show the output with $PAGER; by default, only if longer than the screen.",
    )
    return config(no_color(pager(command)))


def is_confirmed(question: str) -> bool:
    """Ask a yes/no question on the terminal. Raises UsageError if nobody can answer it."""
    try:
        return click.confirm(question)
    except click.Abort as end:
        if isinstance(end.__context__, KeyboardInterrupt):
            raise
        print()  # ends the line of the question
        raise UsageError("no answer was given; answer y in a terminal, or add --yes") from None


def local_options(command: Command) -> Command:
    """Add the shared options, and pass the resulting invocation to the command."""
    passed: Command = _pass_invocation(command)
    return shared_options(passed)


def daemon_options(command: Command) -> Command:
    """Add the options for commands that call the daemon: ``--vault``, ``--no-start``, ``--agent`` and the
    shared options."""
    no_start = _clear("autostart", "--no-start", "Do not start the daemon if it is not running.")
    return vault_option(no_start(agent_option(local_options(command))))


def agent_option(command: Command) -> Command:
    """Add the option ``--agent``."""
    return _flag("agent", "--agent", "Leave out notes that the configuration hides from agents.")(command)


def list_options(command: Command) -> Command:
    """Add ``--json``, ``--paths`` and the options for commands that call the daemon."""
    paths = _flag("paths", "--paths", "Print only the paths of the notes, one per line.")
    return json_option()(paths(daemon_options(command)))


def json_option(help: str = "Print one JSON object.") -> Callable[[Command], Command]:
    """Return the option ``--json``."""
    return _flag("json", "--json", help)


def vault_option(command: Command) -> Command:
    """Add the option ``--vault``."""
    return _by_click(VAULT, expose_value=False, callback=_setter("vaults"))(command)


def _set(name: str, option: str, **more: Any) -> Callable[[Command], Command]:
    """Return an option whose value is stored in a field of the invocation."""
    return click.option(option, expose_value=False, callback=_setter(name), **more)


def _flag(name: str, option: str, help: str) -> Callable[[Command], Command]:
    """Return a flag that sets a field of the invocation to True."""
    # Without a default, a flag set before a subcommand's name is not cleared by its absence after the name.
    return _set(name, option, is_flag=True, default=None, help=help)


def _clear(name: str, option: str, help: str) -> Callable[[Command], Command]:
    """Return a flag that sets a field of the invocation to False."""
    return _set(name, option, is_flag=True, flag_value=False, default=None, help=help)


def _setter(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def callback(context: click.Context, _: click.Parameter, value: Any) -> None:
        if name == "vaults":
            value = [*map(unescaped, value)] or None
        if value is not None:
            value = unescaped(value) if isinstance(value, str) else value
            setattr(context.ensure_object(Invocation), name, _config(value) if name == "config" else value)

    return callback


def _config(value: str) -> Path:
    file = Path(os.path.abspath(value))  # absolute, but symbolic links are kept
    if not file.exists():
        raise ConfigError(f"{file}: no such file; set --config to a TOML file")
    return file
