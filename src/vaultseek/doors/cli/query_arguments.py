"""Queries on the command line: excluded words that look like options."""

from __future__ import annotations

import click

from vaultseek.doors.cli.search_arguments import is_excluded_word

_ESCAPE = "\0"  # cannot occur in an argument of a process


class QueryCommand(click.Command):
    """Command that takes ``-word`` as a part of the query, not as an unknown option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse with every excluded word escaped; ``unescaped`` gives the words back."""
        previous = ("", *args)
        escaped = [
            _ESCAPE + arg if is_excluded_word(arg, after=option) else arg
            for option, arg in zip(previous, args, strict=False)
        ]
        return super().parse_args(ctx, escaped)


def unescaped(text: str) -> str:
    """Return an argument of a ``QueryCommand`` as the user typed it."""
    return text.removeprefix(_ESCAPE)
