"""The commands, each in a module that is imported when the command is used."""

import sys
from contextlib import nullcontext
from functools import partial
from importlib import import_module

import click

from vaultseek import __version__
from vaultseek.doors.cli.options import shared_options

_GROUPS = {
    "Search and read": (
        "search",
        "find",
        "context",
        "read",
        "open",
        "related",
        "why",
        "history",
        "tags",
        "properties",
        "table",
    ),
    "Links": ("links", "neighbors", "unlinked", "broken-links", "orphans", "graph", "duplicates"),
    "Vaults and their index": ("vault", "index", "status", "compact", "inspect"),
    "Browser, editors and agents": ("ui", "lsp", "mcp", "skill", "complete", "completion"),
    "Set up and measure": ("config", "models", "doctor", "evaluate", "start", "stop", "service", "uninstall"),
    "For administrators": ("serve", "team", "backend"),
}
"""The commands in the order of the help."""
_COMMANDS = tuple(name for names in _GROUPS.values() for name in names)
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
"""The modules of the commands that are not in a module of their name."""
_EXIT_CODES = (
    "Exit codes: 0 success, 1 no match, 2 wrong usage or configuration, 3 daemon or vault unavailable."
)


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f"vaultseek.doors.cli.commands.{_MODULES.get(cmd_name, cmd_name)}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        longest = max(map(len, _COMMANDS))
        room = formatter.width - formatter.current_indent - 6 - longest
        for title, names in _GROUPS.items():
            commands = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.section(title):
                formatter.write_dl(
                    [
                        (name.ljust(longest), command.get_short_help_str(room))
                        for name, command in commands
                        if command
                    ]
                )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name in _COMMANDS or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        # click suggests similar names of loaded commands only, and none is loaded here.
        from difflib import get_close_matches

        similar = " or ".join(repr(command) for command in get_close_matches(name, _COMMANDS))
        hint = f" Did you mean {similar}?" if similar else ""
        raise click.UsageError(f"No such command {name!r}.{hint}", ctx)


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

    # Where none runs, a service manager would start one for whoever connects.
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

    A daemon watches the vaults and answers. Commands that need it start it. Without a command, search while
    you type.

    \b
    vaultseek search "how do I descale the boiler"
    vaultseek index --wait
    vaultseek status
    """
