"""Options of ``vaultseek serve``."""

import click

ROLE = click.Option(
    ["--role"],
    type=click.Choice(["index", "search", "all"]),
    default="all",
    show_default=True,
    help="Only index (others search the engine), only search (others index into it), or both.",
)
