"""The commands, each in a module that is imported when the command is used."""

import sys
from contextlib import nullcontext
from functools import partial

import click

from vaultseek import __version__, plugins
from vaultseek.doors.cli.options import shared_options

_FIRST = (
    *("find", "search", "read", "open", "links", "graph", "tags", "table"),
    *("status", "index", "vault", "config"),
)
"""Commands listed first in the help, in order; they fit on one screen."""
_MORE = (
    *("context", "related", "why", "history", "agents", "properties"),
    *("neighbors", "unlinked", "broken-links", "orphans", "duplicates", "stale"),
    *("ui", "lsp", "mcp", "skill", "complete", "completion"),
    *("compact", "inspect", "models", "doctor", "evaluate"),
    *("start", "stop", "serve", "service", "uninstall"),
)
_ADDED = plugins.names("commands")
"""Commands added by other packages, which also document them."""
_COMMANDS = (*_FIRST, *_MORE, *_ADDED)
_PAGED = frozenset(
    {
        *("search", "context", "why", "read", "links", "tags", "properties", "table", "status", "inspect"),
        *("related", "neighbors", "unlinked", "broken-links", "orphans", "duplicates", "stale"),
        *("history", "agents"),
        *("graph", "graph around", "graph clusters", "graph hubs", "graph path", "graph suggest"),
        "service logs",
    }
)
"""Commands whose output may be shown in a pager."""
_UNCOLOURED = frozenset({"lsp", "mcp", "complete", "completion", "skill"})
"""Commands whose output is meant for other programs."""
_MODULES = {
    **dict.fromkeys(("related", "neighbors", "unlinked", "broken-links", "orphans", "duplicates"), "links"),
    **dict.fromkeys(("serve", "start", "stop", "status"), "daemon"),
    **dict.fromkeys(("mcp", "lsp"), "servers"),
    "properties": "tags",
    "compact": "index",
    "completion": "complete",
    **dict.fromkeys(("context", "why"), "search"),
    "open": "read",
}
"""Names of modules for commands whose module is not named after the command."""
_EXIT_CODES = (
    "Exit codes: 0 success, 1 no match, 2 wrong usage or configuration, 3 daemon or vault unavailable."
)


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        usual = f"{__name__}.{_MODULES.get(cmd_name, cmd_name)}:{cmd_name.replace('-', '_')}"
        command: click.Command = plugins.imported(_ADDED.get(cmd_name, usual))
        _hide_what_does_not_apply(command, cmd_name)
        return command

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands before the options; the first group of commands fits on one screen."""
        longest = max(map(len, _COMMANDS))
        room = formatter.width - formatter.current_indent - 6 - longest
        for title, names in (("Commands", _FIRST), ("More", _MORE)):
            commands = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.section(title):
                formatter.write_dl(
                    [
                        (name.ljust(longest), command.get_short_help_str(room))
                        for name, command in commands
                        if command
                    ]
                )
        click.Command.format_options(self, ctx, formatter)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name in _COMMANDS or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        # click suggests similar names only from loaded commands, and no command is loaded here.
        from difflib import get_close_matches

        similar = " or ".join(repr(command) for command in get_close_matches(name, _COMMANDS))
        hint = f" Did you mean {similar}?" if similar else ""
        raise click.UsageError(f"No such command {name!r}.{hint}", ctx)


def _hide_what_does_not_apply(command: click.Command, name: str) -> None:
    """Leave out of a command's help the shared options that do nothing; the command still accepts them."""
    hidden = {"--pager"} if name not in _PAGED else set()
    hidden |= {"--no-color"} if name in _UNCOLOURED else set()
    for param in command.params:
        if isinstance(param, click.Option) and hidden & {*param.opts}:
            param.hidden = True
    for each, subcommand in getattr(command, "commands", {}).items():
        _hide_what_does_not_apply(subcommand, f"{name} {each}")


def _print_versions(context: click.Context, _: click.Parameter, value: bool) -> None:
    if not value or context.resilient_parsing:
        return
    from vaultseek.tools.doctor.system import versions

    print(f"vaultseek {__version__}")
    for name, version in versions().items():
        print(f"{name} {version or 'not installed'}")
    if other := _other_daemon():
        print(other, file=sys.stderr)
    context.exit()


def _other_daemon() -> str:
    from vaultseek.doors.cli.connect import connect_to_running, daemon_pid
    from vaultseek.doors.cli.status_page import other_version
    from vaultseek.errors import VaultseekError

    # If no daemon is running, do not connect: a service manager would start one for any connection.
    if daemon_pid() is None:
        return ""
    try:
        with connect_to_running() or nullcontext() as client:
            return other_version(client.server["server"]["version"]) if client else ""
    except VaultseekError:
        return ""


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=_EXIT_CODES,
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_versions,
    help="Show the versions of vaultseek, Python and the engines, and exit.",
)
@partial(shared_options, environment="VAULTSEEK_CONFIG")
def vaultseek() -> None:
    """Search folders of Markdown notes by word, by meaning and by link.

    Without a command, search while you type. `vaultseek COMMAND -h` explains a command.
    """
