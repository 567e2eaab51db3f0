"""Options of ``vaultseek serve``."""

import click

ROLE = click.Option(
    ["--role"],
    type=click.Choice(["index", "search", "all"]),
    default="all",
    show_default=True,
    help="Index only, search only what other daemons index, or both.",
)
